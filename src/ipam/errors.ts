/**
 * The errors of the library: one class with a `code`, in the three classes of Calico's design. Callers branch on
 * `code`, never on text. Transient errors stay inside the retry loops; what leaves is validation or
 * stop-and-re-evaluate.
 */
export type IpamErrorCode = "IPAMConfigConflict" | "StrictAffinity" | "MaxRetries";

export class IpamError extends Error {
  override readonly name: string = "IpamError";
  readonly code: IpamErrorCode;
  /** Explanations beyond the message, a sentence each. */
  readonly details: readonly string[];

  constructor(code: IpamErrorCode, message: string, options: { details?: readonly string[]; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? [];
  }
}
