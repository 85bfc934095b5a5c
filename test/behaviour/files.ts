/** Which of the library's tests have no business on an API server; all others of src/ipam run there too. */

const PURE = ["block", "block-order", "pools", "reserved", "retry"];

/** Objects that API servers refuse: of a configuration test/conformance asks the same there. */
const SHAPES = ["config", "unreadable"];

/** Hundreds of refusals that are injected, many tests at once. */
const INJECTED = ["lost-races"];

export const EMBEDDED_ONLY: readonly string[] = [...PURE, ...SHAPES, ...INJECTED].map(
  (name) => `src/ipam/${name}.test.ts`,
);
