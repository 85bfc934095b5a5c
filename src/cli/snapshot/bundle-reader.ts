/** Puts a bundle's lines together to a snapshot again. An object that cannot be read is a finding, as in a cluster. */
import type { z } from "zod";
import type { Malformed, Snapshot } from "../../judgement/snapshot.ts";
import { parseJson } from "../../kube/json.ts";
import { LARGEST_OBJECT, sizeText } from "../../kube/limits.ts";
import { ALWAYS, firstLine, LISTS, type ListPart, lastLine, READERS } from "./bundle-parts.ts";

/** A file that is no bundle, or not a whole one. */
export class BundleError extends Error {
  override readonly name = "BundleError";
}

/** More are not the faults of a cluster. */
const MOST_MALFORMED = 10_000;

export class BundleReader {
  readonly #path: string;
  readonly #lists = new Map<ListPart, unknown[]>();
  readonly #malformed: Malformed[] = [];
  #header: z.infer<typeof firstLine> | undefined;
  #line = 0;
  #objects = 0;
  #whole = false;

  constructor(path: string) {
    this.#path = path;
  }

  take(line: string): void {
    this.#line++;
    const value = this.#parsed(line);
    if (this.#header === undefined) this.#begin(value);
    else if (this.#whole) throw this.#wrong("stands after the end of the bundle");
    else if (Array.isArray(value)) this.#object(value);
    else this.#end(value);
  }

  /** The error of the line that comes next, which is not read to its end. */
  tooLong(): BundleError {
    this.#line++;
    const limit = `${sizeText(LARGEST_OBJECT)}, the limit for one object`;
    return this.#wrong(`is longer than ${limit}: it is no bundle of ipamctl, or damaged`);
  }

  /** @throws BundleError where the end is missing */
  finish(): Snapshot {
    if (this.#header === undefined) throw new BundleError(`${this.#path} is empty: it is no bundle of ipamctl`);
    if (!this.#whole) throw new BundleError(`${this.#path} ends after line ${this.#line}: copy or take it again`);
    const { bundle: _ours, lists: _parts, malformed, ...values } = this.#header;
    const lists = Object.fromEntries(this.#lists) as unknown as Pick<Snapshot, ListPart>;
    return { ...values, ...lists, malformed: [...malformed, ...this.#malformed] };
  }

  #begin(value: unknown): void {
    const header = firstLine.safeParse(value);
    if (!header.success) throw this.#wrong("does not say that this is a bundle of ipamctl");
    this.#header = header.data;
    for (const part of [...ALWAYS, ...header.data.lists]) this.#lists.set(part, []);
  }

  #object([part, value]: readonly unknown[]): void {
    const list = this.#lists.get(part as ListPart);
    if (list === undefined) throw this.#wrong(`is of no part of a bundle; those are ${LISTS.join(", ")}`);
    this.#objects++;
    try {
      list.push(READERS[part as ListPart](value));
    } catch (error) {
      const { kind = String(part), metadata } = (value ?? {}) as { kind?: string; metadata?: { name?: string } };
      const why = error instanceof RangeError ? "it is nested too deeply" : (error as Error).message;
      const reason = `line ${this.#line} of the bundle: ${why}`;
      if (this.#malformed.length >= MOST_MALFORMED)
        throw this.#wrong(`and ${MOST_MALFORMED.toLocaleString("en-US")} objects before it cannot be read`);
      this.#malformed.push({ kind, name: String(metadata?.name ?? ""), reason });
    }
  }

  #end(value: unknown): void {
    const end = lastLine.safeParse(value);
    if (!end.success || end.data.objects !== this.#objects)
      throw this.#wrong("is not an object of a bundle, nor its end");
    this.#whole = true;
  }

  #parsed(line: string): unknown {
    try {
      return parseJson(line);
    } catch {
      throw this.#wrong("is not JSON");
    }
  }

  #wrong(what: string): BundleError {
    return new BundleError(`${this.#path}, line ${this.#line}: ${what}`);
  }
}
