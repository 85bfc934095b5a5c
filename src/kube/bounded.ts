/** Bytes that come from outside to text and lines: never more than a limit is held, and the work is linear in the size. */
import { createReadStream } from "node:fs";
import { sizeText } from "./limits.ts";

/** Undefined where `chunks` hold more than `limit` bytes; then no more is read of them. */
export async function textWithin(chunks: AsyncIterable<Uint8Array>, limit: number): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > limit) return undefined;
    parts.push(chunk);
  }
  return textOf(parts);
}

/** The content of a file. @throws Error with code EFBIG where it is larger; as `open` */
export async function fileWithin(path: string, limit: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of createReadStream(path) as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > limit) throw Object.assign(new Error(`larger than ${sizeText(limit)}`), { code: "EFBIG" });
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** A line that is longer than it may be. */
export class LineTooLong extends Error {
  override readonly name = "LineTooLong";
}

const LINE_FEED = 10;

/** Takes chunks apart at line feeds; a chunk may end anywhere, also inside a character. */
export class LineSplitter {
  readonly #limit: number;
  #rest: Uint8Array[] = [];
  #size = 0;

  /** @param limit bytes of one line */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The lines that end in this chunk. @throws LineTooLong as soon as one is known to be */
  *push(chunk: Uint8Array): Generator<string> {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      this.#keep(chunk.subarray(from, end));
      yield this.end();
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  /** What came after the last line feed. */
  end(): string {
    const line = textOf(this.#rest);
    this.#rest = [];
    this.#size = 0;
    return line;
  }

  #keep(part: Uint8Array): void {
    this.#size += part.length;
    if (this.#size > this.#limit) throw new LineTooLong(`a line is longer than ${this.#limit} bytes`);
    if (part.length > 0) this.#rest.push(part);
  }
}

/** Also of a line feed's neighbours: no character of UTF-8 holds its byte. */
function textOf(parts: readonly Uint8Array[]): string {
  return new TextDecoder().decode(parts.length === 1 ? parts[0] : Buffer.concat(parts));
}
