/** Text from elsewhere, as it may be shown on a terminal: what would move the cursor or turn the text is spelt out. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    const known: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
    return known[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
