/** Names in commands that people copy: some, as a pod's annotation, are whatever their author wanted a shell to run. */

/** As a shell takes it for one word. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
