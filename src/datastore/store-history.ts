/**
 * How far a store is known to have come. One that answers with an older revision than it had reached when it was asked was
 * restored from a backup: what was read of it before is then the past of a store that no longer is.
 */
import { isOlder } from "../kube/glance.ts";

/** Takes the revision of an answer to a question that was asked then. */
export type Asked = (revision: string | undefined) => void;

export class StoreHistory {
  readonly #onWentBack: (held: string, found: string) => void;
  #newest = "0";
  #present = new AbortController();
  #heardAt = 0;

  constructor(onWentBack: (held: string, found: string) => void) {
    this.#onWentBack = onWentBack;
  }

  /** Newest revision that the store is known to have reached. */
  get newest(): string {
    return this.#newest;
  }

  /** Aborts when the store is found to have gone back; another one follows. */
  get present(): AbortSignal {
    return this.#present.signal;
  }

  /** Milliseconds since the store said how far it has come. */
  get silentMs(): number {
    return performance.now() - this.#heardAt;
  }

  /** What a watch delivers: at least as new as what it delivered before. */
  heard(revision: string | undefined): void {
    this.#heardAt = performance.now();
    if (revision !== undefined && isOlder(this.#newest, revision)) this.#newest = revision;
  }

  /** Call when a question is sent, and the result with its answer: late answers are measured by what was known early. */
  asked(newest = this.#newest): Asked {
    const { present } = this;
    return (revision) => {
      if (present.aborted) return;
      if (isOlder(revision, newest)) this.#goBack(newest, revision!);
      else this.heard(revision);
    };
  }

  #goBack(held: string, found: string): void {
    const past = this.#present;
    this.#present = new AbortController();
    this.#newest = found;
    this.#onWentBack(held, found);
    past.abort();
  }
}
