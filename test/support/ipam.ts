/** What the tests of the library share. Not part of the package. */

/** Freezes a value through and through: code that changes what it was given then fails. */
export function deepFrozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFrozen(inner);
  return Object.freeze(value);
}
