/** What no API server says, but a proxy, a captive portal or a broken server may: answers with status 200 that are not one. */
import type { Answer } from "./answers.ts";
import type { LoggedRequest } from "./requests.ts";
import type { Fault } from "./script.ts";

type Json = Readonly<Record<string, unknown>>;

const JSON_TYPE = { "content-type": "application/json" };
const HTML = "<html>\n<title>Sign in</title>\u001b[2J</html>\n";
const json = (body: string): Answer => ({ status: 200, headers: JSON_TYPE, body });
const html: Answer = { status: 200, headers: { "content-type": "text/html" }, body: HTML };

const anotherKind = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "x", resourceVersion: "1", uid: "u" } };
const listOf = (items: readonly unknown[]) =>
  JSON.stringify({ kind: "ConfigMapList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items });
const manyItems = listOf(Array.from({ length: 100_000 }, () => anotherKind));
const success = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" };

const answered = (answer: Answer): Fault => ({ kind: "answer", answer });
/** The server's own answer, with `change` done to it. */
const altered = (change: (answer: Answer) => Answer): Fault => ({ kind: "alter", alter: change });
const alteredJson = (change: (value: Json) => unknown): Fault =>
  altered((answer) =>
    answer.status < 300 ? { ...answer, body: JSON.stringify(change(JSON.parse(answer.body))) } : answer,
  );
const half = (text: string) => text.slice(0, Math.ceil(text.length / 2));

/** Every text a number, as some servers print names of digits. */
function withNumbers(value: unknown): unknown {
  if (typeof value === "string") return 7;
  if (Array.isArray(value)) return value.map(withNumbers);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withNumbers(part)]));
}

/** Answers to any request. */
const TO_ANY: Readonly<Record<string, Fault>> = {
  "a page": answered(html),
  "a page called JSON": answered(json(HTML)),
  nothing: answered(json("")),
  "{}": answered(json("{}")),
  null: answered(json("null")),
  "a list of JSON": answered(json("[]")),
  "a text": answered(json('"yes"')),
  "half of the JSON": altered((answer) => ({ ...answer, body: half(answer.body) })),
  "half of the body": altered((answer) => ({ ...answer, body: half(answer.body), isCut: true })),
};

/** Answers to what is to be answered by an object, or a list of them. */
const TO_READERS: Readonly<Record<string, Fault>> = {
  "a Status": answered(json(JSON.stringify(success))),
  "another kind": answered(json(JSON.stringify(anotherKind))),
  "a list of another kind": answered(json(listOf([anotherKind]))),
  "100,000 objects of another kind": answered(json(manyItems)),
  "numbers for texts": alteredJson((value) => ({ ...value, metadata: withNumbers(value["metadata"] ?? {}) })),
  "null for metadata": alteredJson((value) => ({ ...value, metadata: null })),
};

/** Answers to the question for a list. */
const TO_LISTS: Readonly<Record<string, Fault>> = {
  "items that are no list": alteredJson((value) => ({ ...value, items: {} })),
  "null among the items": alteredJson((value) => ({ ...value, items: [null] })),
  "items without metadata": alteredJson((value) => ({ ...value, items: [{}] })),
  "items of another kind": alteredJson((value) => ({ ...value, items: [anotherKind] })),
};

const line = (value: unknown) => answered(json(`${JSON.stringify(value)}\n`));

/** Answers to a watch. */
const TO_WATCHES: Readonly<Record<string, Fault>> = {
  "a page": answered(html),
  "no JSON": answered(json(HTML)),
  "null in a line": line(null),
  "{} in a line": line({}),
  "a change of nothing": line({ type: "ADDED" }),
  "a change of null": line({ type: "MODIFIED", object: null }),
  "an object without metadata": line({ type: "ADDED", object: {} }),
  "an object with numbers": line({
    type: "ADDED",
    object: { ...anotherKind, metadata: { name: 7, resourceVersion: 7 } },
  }),
  "an object of another kind": line({ type: "ADDED", object: anotherKind }),
  "a deletion of nothing": line({ type: "DELETED", object: { metadata: {} } }),
  "an unknown type": line({ type: "RENAMED", object: anotherKind }),
  "a bookmark without a revision": line({ type: "BOOKMARK", object: { ...anotherKind, metadata: {} } }),
  "an error without a Status": line({ type: "ERROR", object: [] }),
  "half a line": answered({ ...json('{"type":"ADD'), isCut: true }),
};

function answersTo({ watch, method, path, query }: LoggedRequest): Readonly<Record<string, Fault>> {
  if (watch) return TO_WATCHES;
  if (method === "DELETE") return TO_ANY;
  const isList = method === "GET" && query.has("limit");
  const isDiscovery = /^\/apis?\/[^/]+(\/[^/]+)?$/.test(path) && method === "GET" && !isList;
  return { ...TO_ANY, ...(!isDiscovery && TO_READERS), ...(isList && TO_LISTS) };
}

/** Small and the same everywhere: mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

function verbOf({ method, watch, query }: LoggedRequest): string {
  if (watch) return "WATCH";
  return query.has("limit") ? "LIST" : method;
}

/** What a request is for, whichever object of a kind that is. */
const keyOf = (request: LoggedRequest) =>
  `${verbOf(request)} ${request.path.replace(/^(\/apis\/[^/]+\/[^/]+(?:\/namespaces\/[^/]+)?\/[^/]+\/)[^/]+/, "$1NAME")}`;

export interface WrongAnswers {
  /** For the proxy's `meet`. */
  choose(request: LoggedRequest): Fault | undefined;
  /** What was answered wrongly, and how, in the order of the answers. */
  readonly given: readonly { readonly key: string; readonly path: string; readonly how: string }[];
  /** Wrong answers that are still to come to what was asked for so far. */
  readonly left: readonly { readonly key: string; readonly how: string }[];
}

const hashOf = (text: string) => [...text].reduce((hash, unit) => (Math.imul(hash, 31) + unit.charCodeAt(0)) | 0, 7);

/** Answers each request wrongly in each way in turn, then truly; the turns come from the seed and what is asked for. */
export function wrongAnswers(seed: number): WrongAnswers {
  const turns = new Map<string, [how: string, fault: Fault][]>();
  const given: { key: string; path: string; how: string }[] = [];
  const shuffled = (key: string, faults: Readonly<Record<string, Fault>>) => {
    const random = randomFrom(seed ^ hashOf(key));
    const placed = Object.entries(faults).map((entry) => ({ entry, at: random() }));
    return placed.sort((a, b) => a.at - b.at).map(({ entry }) => entry);
  };
  return {
    given,
    get left() {
      return [...turns].flatMap(([key, ahead]) => ahead.map(([how]) => ({ key, how })));
    },
    choose(request) {
      const key = keyOf(request);
      const ahead = turns.get(key) ?? shuffled(key, answersTo(request));
      turns.set(key, ahead);
      const [how, fault] = ahead.shift() ?? [];
      if (how !== undefined) given.push({ key, path: request.path, how });
      return fault;
    },
  };
}
