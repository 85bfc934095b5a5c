/** What somebody may have meant: the known word that is fewest letters away. */

const MOST_LETTERS = 3;

/** Undefined where none is near. Upper and lower case are the same; the beginning of a word is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const begun = known.find((candidate) => word.length >= 3 && candidate.toLowerCase().startsWith(word.toLowerCase()));
  if (begun !== undefined) return begun;
  const distances = known.map((candidate) => distance(word.toLowerCase(), candidate.toLowerCase()));
  const least = Math.min(...distances);
  return least <= Math.min(MOST_LETTERS, word.length / 2) ? known[distances.indexOf(least)] : undefined;
}

/** Letters to insert, remove or replace (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (letter === b[j] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
