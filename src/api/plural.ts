/** A count with its noun: `1 address`, `2 addresses`, `0 pools`. */
export function plural(count: number | bigint, noun: string): string {
  const ending = noun.endsWith("s") ? "es" : "s";
  return `${count} ${noun}${BigInt(count) === 1n ? "" : ending}`;
}
