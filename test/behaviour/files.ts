/** Which of the library's tests have no business on an API server; all others of src/ipam run there too. */

const PURE = ["block", "block-order", "pools", "reserved", "retry"];

/** Rows that only the embedded store takes; on API servers test/conformance and test/crds ask the same. */
const SHAPES = ["config"];

/** Thousands of calls each: on API servers the races and the faults stand for them. */
const MANY = ["crashes", "histories"];

export const EMBEDDED_ONLY: readonly string[] = [...PURE, ...SHAPES, ...MANY].map((name) => `src/ipam/${name}.test.ts`);
