/** The order in which people read: names by the numbers in them, ranges and addresses by their value. */
import { parseAddress } from "./address.ts";
import type { Cidr } from "./cidr.ts";

/** `node-2` before `node-10`. Digits are compared as numbers, all else by code unit: the same in every locale. */
export function byNumbers(a: string, b: string): number {
  return compared(keyOf(a), keyOf(b)) || compared(a, b);
}

/** Long lists: what a text is compared by is worked out once. */
export function sortedByNumbers<T>(items: readonly T[], textOf: (item: T) => string): T[] {
  const keyed = items.map((item) => ({ item, text: textOf(item), key: keyOf(textOf(item)) }));
  return keyed.sort((a, b) => compared(a.key, b.key) || compared(a.text, b.text)).map(({ item }) => item);
}

/** Addresses by family and value; what is no address comes after them, by its numbers. */
export function byAddress(a: string, b: string): number {
  const [one, other] = [parseAddress(a), parseAddress(b)];
  if (one === undefined || other === undefined) {
    return Number(one === undefined) - Number(other === undefined) || byNumbers(a, b);
  }
  return one.version - other.version || compared(one.value, other.value);
}

/** Ranges by family and first address, the wider one first. */
export function byRange(a: Cidr, b: Cidr): number {
  return a.version - b.version || compared(a.base, b.base) || a.prefix - b.prefix;
}

/** A longer number is a larger one: with its length before it, a number compares as text. */
function keyOf(text: string): string {
  return text.replace(/\d+/g, (digits) => {
    const number = digits.replace(/^0+/, "");
    return `0${String.fromCharCode(number.length)}${number}`;
  });
}

function compared<T extends string | bigint>(a: T, b: T): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
