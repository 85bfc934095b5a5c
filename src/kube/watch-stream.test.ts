import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KubeError } from "./types.ts";
import { splitLines, watchEvent } from "./watch-stream.ts";

async function* chunksOf(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const cut of [...cuts, bytes.length].sort((a, b) => a - b)) {
    yield bytes.subarray(from, cut);
    from = cut;
  }
}

async function linesOf(text: string, cuts: readonly number[] = []): Promise<string[]> {
  const bytes = new TextEncoder().encode(text);
  const lines: string[] = [];
  for await (const line of splitLines(
    chunksOf(
      bytes,
      cuts.map((cut) => cut % (bytes.length + 1)),
    ),
    { action: "watch ippools", server: "https://10.0.0.1:6443" },
  )) {
    lines.push(line);
  }
  return lines;
}

describe("splitLines", () => {
  const line = fc
    .string({ unit: "grapheme", minLength: 1 })
    .filter((text) => text.trim() !== "" && !text.includes("\n"));

  it("gives the same lines wherever the chunks end, also inside a character", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.array(fc.nat()), async (lines, cuts) => {
        expect(await linesOf(lines.map((text) => `${text}\n`).join(""), cuts)).toEqual(lines);
      }),
    );
  });

  it("joins a character cut in two", async () => {
    expect(await linesOf('{"name":"größe"}\n', [11])).toEqual(['{"name":"größe"}']);
  });

  it("F8: an end in the middle of a line is an error, not a dropped line", async () => {
    await expect(linesOf('{"type":"ADDED"}\n{"type":"MOD')).rejects.toMatchObject({
      code: "Unavailable",
      message: "cannot watch ippools: the connection was cut in the middle of a change",
    });
  });
});

describe("watchEvent", () => {
  const read = (value: unknown) => watchEvent(JSON.stringify(value), "watch ippools");

  it("reads changes and bookmarks", () => {
    const object = { apiVersion: "v1", kind: "X", metadata: { name: "a", resourceVersion: "7" } };
    expect(read({ type: "ADDED", object })).toEqual({ type: "ADDED", object });
    expect(read({ type: "BOOKMARK", object })).toEqual({ type: "BOOKMARK", resourceVersion: "7" });
  });

  it("keeps long integers", () => {
    const event = watchEvent('{"type":"ADDED","object":{"spec":{"seq":1767323045678900000}}}', "watch");
    expect(event).toMatchObject({ object: { spec: { seq: 1767323045678900000n } } });
  });

  it.each([
    [{ kind: "Status", code: 410, reason: "Expired", message: "too old resource version" }, "Expired"],
    [{ kind: "Status", code: 500, reason: "InternalError", message: "etcd is gone" }, "ServerError"],
    [{ kind: "Status", code: 403, message: "no" }, "Forbidden"],
    [{ kind: "Status", message: "no code" }, "ServerError"],
  ])("F8: ERROR event %j is %s", (object, code) => {
    expect(() => read({ type: "ERROR", object })).toThrow(KubeError);
    expect(() => read({ type: "ERROR", object })).toThrow(expect.objectContaining({ code }));
  });

  it.each(["{", '"x"', "null", '{"type":"ADDED"}', '{"type":"NEW","object":{}}', '{"type":"ADDED","object":null}'])(
    "F8: %s ends the watch, and is not quoted",
    (line) => {
      expect(() => watchEvent(line, "watch secrets")).toThrow(
        "cannot watch secrets: the API server sent something that is not a watch event",
      );
    },
  );
});
