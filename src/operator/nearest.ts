/** Misspelt words: which known one was likely meant. */

/** The known word that a misspelt one is likely to mean: two letters wrong, or a third of a long one's. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const alike = known.filter((name) => Math.abs(name.length - word.length) <= mostWrong(name));
  const scored = alike.map((name) => ({ name, wrong: distance(word.toLowerCase(), name.toLowerCase()) }));
  const [best] = scored.sort((a, b) => a.wrong - b.wrong);
  return best !== undefined && best.wrong <= mostWrong(best.name) ? best.name : undefined;
}

const mostWrong = (name: string) => Math.max(2, name.length / 3);

/** Letters to put in, take out or exchange to make one word the other (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++)
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (letter === b[j] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
