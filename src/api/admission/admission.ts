/**
 * What an API server would refuse, decided without one: by the schemas and rules that the CRDs are generated from, in the
 * server's words. As there, what is stored and stays as it is need not keep today's rules.
 */
import { faults, nodeOf, unreadable, type Write } from "./checks.ts";
import type { Problem } from "./problem.ts";
import { brokenRules } from "./rules.ts";

/** Every reason to refuse a write. What cannot be read comes first and alone, as from a server. */
export function refusals(write: Write): Problem[] {
  const unread = unreadable(write);
  return unread.length > 0 ? unread : objections(write);
}

/** The same for an object that can be read; a field that this version does not know is none. */
export function objections(write: Write): Problem[] {
  const found = faults(write);
  return found.some(({ blocks }) => blocks) ? found : [...found, ...brokenRules(nodeOf(write))];
}
