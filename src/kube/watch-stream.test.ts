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

const POOLS = { group: "projectcalico.org", version: "v3", plural: "ippools", kind: "IPPool" };
const PATH = "/apis/projectcalico.org/v3/ippools";
const QUESTION = {
  action: "watch ippools",
  method: "GET",
  path: `${PATH}?watch=true`,
  server: "https://10.0.0.1:6443",
} as const;

describe("watchEvent", () => {
  const readLine = (line: string) => watchEvent(line, QUESTION, POOLS);
  const read = (value: unknown) => readLine(JSON.stringify(value));
  const object = { kind: "IPPool", metadata: { name: "a", resourceVersion: "7" } };

  it("reads changes and bookmarks", () => {
    expect(read({ type: "ADDED", object })).toEqual({ type: "ADDED", object });
    expect(read({ type: "BOOKMARK", object })).toEqual({ type: "BOOKMARK", resourceVersion: "7" });
  });

  it("keeps long integers", () => {
    const spec = '"spec":{"seq":1767323045678900000}';
    const event = readLine(`{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"7"},${spec}}}`);
    expect(event).toMatchObject({ object: { spec: { seq: 1767323045678900000n } } });
  });

  it.each([
    [{ kind: "Status", code: 410, reason: "Expired", message: "too old resource version" }, "Expired"],
    [{ kind: "Status", code: 500, reason: "InternalError", message: "etcd is gone" }, "ServerError"],
    [{ kind: "Status", code: 403, message: "no" }, "Forbidden"],
    [{ kind: "Status", message: "no code" }, "ServerError"],
  ])("F8: ERROR event %j is %s", (status, code) => {
    expect(() => read({ type: "ERROR", object: status })).toThrow(KubeError);
    expect(() => read({ type: "ERROR", object: status })).toThrow(expect.objectContaining({ code }));
  });

  const NO_EVENT = "has a line that is not a watch event";
  const inObject = (problem: string) => `has a watch event whose object ${problem}`;
  it.each([
    ["{", "is not JSON"],
    ['"x"', NO_EVENT],
    ["null", NO_EVENT],
    ["[]", NO_EVENT],
    ['{"type":"ADDED"}', inObject("is not an object")],
    ['{"type":"NEW","object":{}}', NO_EVENT],
    ['{"type":"ADDED","object":null}', inObject("is not an object")],
    ['{"type":"ADDED","object":{}}', inObject("has no metadata")],
    ['{"type":"MODIFIED","object":{"metadata":{"name":7}}}', inObject("has no metadata.name")],
    [
      '{"type":"DELETED","object":{"metadata":{"name":"a"}}}',
      inObject("has no metadata.resourceVersion that is a number"),
    ],
    ['{"type":"ADDED","object":{"kind":"Secret"}}', inObject("is not of kind IPPool")],
    ['{"type":"BOOKMARK","object":{"metadata":{}}}', inObject("has no metadata.resourceVersion that is a number")],
    ['{"type":"BOOKMARK"}', inObject("has no metadata.resourceVersion that is a number")],
    ['{"type":"ERROR","object":{"code":410}}', "has an ERROR event without a Status"],
    ['{"type":"ERROR","object":{"kind":"Status","message":7}}', "has an ERROR event without a Status"],
  ])("F8: %s ends the watch in an error that names it", (line, problem) => {
    const from = "cannot watch ippools: the answer from https://10.0.0.1:6443";
    const start = `${from} ${problem}: GET ${PATH} gave `;
    expect(() => readLine(line)).toThrow(
      expect.objectContaining({ code: "ServerError", message: expect.stringContaining(start) }),
    );
  });

  it("quotes no more of a line than its first bytes", () => {
    const line = JSON.stringify({ type: "ADDED", object: { kind: "Secret", data: { password: "x".repeat(60) } } });
    expect(() => readLine(line)).toThrow(/"password"…$/);
  });
});
