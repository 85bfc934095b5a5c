/** How much of an answer is read: a broken proxy, or whoever answers in a server's place, may send without end. */

const MIB = 2 ** 20;

/**
 * One object as JSON, and any answer but a list. An API server takes requests of 3 MiB; etcd stores 1.5 MiB of each
 * object by default, and 10 MB where `--max-request-bytes` is as large as etcd advises at most.
 */
export const LARGEST_OBJECT = 16 * MIB;

/** One page of a list. A larger one is asked for in smaller pages. */
export const LARGEST_PAGE = 64 * MIB;

/** The body of a refusal: one Status. */
export const LARGEST_REFUSAL = MIB;

/** A token, a certificate, a key, and what a credential plugin prints. */
export const LARGEST_CREDENTIAL = MIB;

/** A size for people: `16 MiB`. */
export function sizeText(bytes: number): string {
  return bytes % MIB === 0 ? `${bytes / MIB} MiB` : `${Math.ceil(bytes / 1024)} KiB`;
}
