/** Which of the library's tests have no business on an API server; all others of src/ipam run there too. */

const PURE = ["block", "block-order", "pools", "reserved", "retry"];

/** Objects that API servers refuse: of a configuration test/conformance asks the same there. */
const SHAPES = ["config", "unreadable"];

export const EMBEDDED_ONLY: readonly string[] = [...PURE, ...SHAPES].map((name) => `src/ipam/${name}.test.ts`);
