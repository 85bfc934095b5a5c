/** Counts of addresses in words for people: exact, whatever their size. */

/** A share in whole percent; neither 0 % nor 100 % unless it is exactly that. */
export function percent(part: bigint, whole: bigint): string {
  if (whole === 0n || part === 0n) return "0%";
  if (part === whole) return "100%";
  const tenths = Number((part * 1000n) / whole);
  if (tenths < 5) return "<1%";
  return tenths >= 995 && part < whole ? ">99%" : `${halfToEven(part * 100n, whole)}%`;
}

/** `59 (92%)`. */
export function countOf(part: bigint, whole: bigint): string {
  return `${part} (${percent(part, whole)})`;
}

function halfToEven(dividend: bigint, divisor: bigint): bigint {
  const [quotient, twice] = [dividend / divisor, (dividend % divisor) * 2n];
  if (twice !== divisor) return twice > divisor ? quotient + 1n : quotient;
  return quotient % 2n === 0n ? quotient : quotient + 1n;
}
