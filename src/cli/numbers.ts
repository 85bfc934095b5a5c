/** Counts of addresses in words for people: exact, whatever their size. */

/** A share in whole percent; neither 0 % nor 100 % unless it is exactly that. A share and the rest come to 100 %. */
export function percent(part: bigint, whole: bigint): string {
  if (whole === 0n || part === 0n) return "0%";
  if (part === whole) return "100%";
  const rounded = halfToEven(part * 100n, whole);
  if (rounded === 0n) return "<1%";
  return rounded === 100n ? ">99%" : `${rounded}%`;
}

/** The same for programs: 1 stands for less than 1, and 99 for more than 99. */
export function wholePercent(part: bigint, whole: bigint): number {
  return Number(percent(part, whole).replace(/[<>%]/g, ""));
}

/** `59 (92%)`. */
export function countOf(part: bigint, whole: bigint): string {
  return `${part} (${percent(part, whole)})`;
}

/** From here on a terminal shows how large a number is, where its digits do not fit. */
const MANY = 10n ** 12n;

/** `281474976710656`, where there is no room for its digits: `2.8e14`. */
export function briefCount(count: bigint): string {
  if (count < MANY) return String(count);
  const digits = String(count);
  return `${digits[0]}.${digits[1]}e${digits.length - 1}`;
}

/** `2.8e14 (92%)`. */
export function briefCountOf(part: bigint, whole: bigint): string {
  return `${briefCount(part)} (${percent(part, whole)})`;
}

function halfToEven(dividend: bigint, divisor: bigint): bigint {
  const [quotient, twice] = [dividend / divisor, (dividend % divisor) * 2n];
  if (twice !== divisor) return twice > divisor ? quotient + 1n : quotient;
  return quotient % 2n === 0n ? quotient : quotient + 1n;
}
