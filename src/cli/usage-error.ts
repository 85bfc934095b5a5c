/** Why a command line cannot be used: one line for standard error, and exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
