import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { KubeObject } from "../api/meta.ts";
import { createReflector, type ReflectorOptions } from "./reflector.ts";
import type { Store } from "./store.ts";
import {
  type KubeClient,
  KubeError,
  type KubeList,
  type KubeListOptions,
  type KubeWatchEvent,
  type KubeWatchOptions,
} from "./types.ts";

const type = { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap" };
const object = (name: string, resourceVersion: string): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, resourceVersion },
});
const event = (name: string, resourceVersion: string): KubeWatchEvent<KubeObject> => ({
  type: "MODIFIED",
  object: object(name, resourceVersion),
});

type List = () => Promise<KubeList<KubeObject>>;
type Watch = (options: KubeWatchOptions) => AsyncIterable<KubeWatchEvent<KubeObject>>;

/**
 * Plays one script entry per call, the last one for ever; notes when each call came. A look at one object before a watch
 * goes on finds what is held, or what `glances` says.
 */
function scripted(lists: List[], watches: Watch[], glances: List[] = []) {
  const calls: { what: string; at: number }[] = [];
  const script = { held: undefined as Store<KubeObject> | undefined };
  const next = <T>(script: T[]): T => (script.length > 1 ? script.shift()! : script[0]!);
  const note = (what: string) => calls.push({ what, at: Date.now() });
  const client = {
    list: (_: unknown, { metadataOnly, fieldSelector = "" }: KubeListOptions) => {
      if (metadataOnly) {
        const held = script.held?.get(fieldSelector.replace("metadata.name=", ""));
        return (glances.shift() ?? listed("1000", ...(held ? [held] : [])))();
      }
      note("list");
      return next(lists)();
    },
    watch: (_: unknown, options: KubeWatchOptions) => {
      note(`watch from ${options.resourceVersion}`);
      return next(watches)(options);
    },
  } as unknown as KubeClient;
  return Object.assign(script, { client, calls, whats: () => calls.map(({ what }) => what) });
}

const listed =
  (resourceVersion: string, ...items: KubeObject[]): List =>
  async () => ({ resourceVersion, items });
const forever = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
const quiet: Watch = async function* ({ signal }) {
  await forever(signal);
  yield* [];
};
/** Says `events`, stands for a while, and ends politely or by `error`. */
const watching = (events: KubeWatchEvent<KubeObject>[], standsMs: number, error?: KubeError): Watch =>
  async function* () {
    yield* events;
    if (standsMs > 0) await new Promise((resolve) => setTimeout(resolve, standsMs));
    if (error) throw error;
  };

const stop = new Set<AbortController>();
function started(script: ReturnType<typeof scripted>, more: Partial<ReflectorOptions<KubeObject>> = {}) {
  const controller = new AbortController();
  stop.add(controller);
  const changes: string[] = [];
  const onChange = (key: string, change: string) => changes.push(`${key} ${change}`);
  const backoff = { baseMs: 800, maxMs: 30_000, random: () => 1 };
  const log = pino({ level: "silent" });
  const reflector = createReflector<KubeObject>({ client: script.client, type, log, backoff, onChange, ...more });
  script.held = reflector.store;
  const ended = reflector.start(controller.signal);
  return { reflector, changes, controller, ended };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  for (const controller of stop) controller.abort();
  vi.useRealTimers();
});
const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

test("lists, watches from the list's revision, and goes on from the last event after a cut", async () => {
  const cut = new KubeError("Unavailable", "reset");
  const script = scripted([listed("5", object("a", "3"))], [watching([event("a", "6")], 5000, cut), quiet]);
  const { reflector, changes } = started(script);
  await reflector.synced();
  await pass(6000);
  expect(script.whats()).toEqual(["list", "watch from 5", "watch from 6"]);
  expect(changes).toEqual(["a added", "a updated"]);
  expect(reflector.store.get("a")?.metadata.resourceVersion).toBe("6");
});

test("F2: a watch may be silent for longer than the server's bookmark minute", async () => {
  const watch = vi.fn(quiet);
  started(scripted([listed("5")], [watch]));
  await pass(0);
  expect(watch).toHaveBeenCalledWith(expect.objectContaining({ idleTimeoutMs: 90_000 }));
});

test("a bookmark moves the revision on and is no change", async () => {
  const script = scripted([listed("5")], [watching([{ type: "BOOKMARK", resourceVersion: "90" }], 5000), quiet]);
  const { changes } = started(script);
  await pass(6000);
  expect(script.whats()).toEqual(["list", "watch from 5", "watch from 90"]);
  expect(changes).toEqual([]);
});

test.each([
  ["410", new KubeError("Expired", "too old")],
  ["another ERROR event", new KubeError("ServerError", "etcd is away")],
  ["a line that cannot be read", new SyntaxError("not JSON") as unknown as KubeError],
])("lists anew after %s and finds what was deleted meanwhile", async (_, error) => {
  const lists = [listed("5", object("a", "3"), object("b", "4")), listed("9", object("a", "3"))];
  const script = scripted(lists, [watching([], 5000, error), quiet]);
  const { changes } = started(script);
  await pass(6000);
  expect(script.whats()).toEqual(["list", "watch from 5", "list", "watch from 9"]);
  expect(changes).toEqual(["a added", "b added", "b deleted"]);
});

test.each([
  ["politely at once (WCH-02)", undefined],
  ["with 410 for ever (WCH-04)", new KubeError("Expired", "too old")],
  ["refused for ever", new KubeError("Unavailable", "ECONNREFUSED")],
])("a watch that ends %s is backed off to 30 s, never a hot loop", async (_, error) => {
  const script = scripted([listed("5")], [watching([], 0, error)]);
  started(script);
  await pass(120_000);
  const watches = script.calls.filter(({ what }) => what.startsWith("watch")).map(({ at }) => at);
  const gaps = watches.slice(1).map((at, index) => at - watches[index]!);
  expect(gaps.slice(0, 8)).toEqual([800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
});

test("a watch that stood is followed at once and starts the backoff anew", async () => {
  const script = scripted(
    [listed("5")],
    [watching([], 0), watching([], 0), watching([], 2000), watching([], 0), quiet],
  );
  started(script);
  await pass(20_000);
  const at = script.calls.slice(1).map((call) => call.at);
  expect(at.slice(1).map((each, index) => each - at[index]!)).toEqual([800, 1600, 2000, 800]);
});

test.each([
  ["too large", new KubeError("TooLarge", "a change of more than 16 MiB")],
  ["unreadable", new KubeError("ServerError", "not a watch event")],
])(
  "a change that is %s again and again is listed with growing pauses, also where the watch stood before",
  async (_, error) => {
    const script = scripted([listed("5")], [watching([], 2000, error)]);
    const { reflector } = started(script);
    await pass(60_000);
    const lists = script.calls.filter(({ what }) => what === "list").map(({ at }) => at);
    const gaps = lists.slice(1).map((at, index) => at - lists[index]!);
    expect(gaps.slice(0, 5)).toEqual([2800, 3600, 5200, 8400, 14_800]);
    expect(reflector.state.synced).toBe(true);
  },
);

test("what cannot be listed is shown in the state and tried again until it can", async () => {
  const forbidden = new KubeError("Forbidden", "may not list");
  const refused: List = () => Promise.reject(forbidden);
  const states: unknown[] = [];
  const script = scripted([refused, refused, listed("5", object("a", "1"))], [quiet]);
  const { reflector } = started(script, {
    onState: ({ synced, lastError }) => states.push([synced, lastError?.code]),
  });
  await pass(0);
  expect(reflector.state).toMatchObject({ synced: false, lastError: forbidden, lastActivity: 0 });
  await pass(10_000);
  await reflector.synced();
  expect(reflector.state).toMatchObject({ synced: true, lastError: undefined });
  expect(states).toEqual([
    [false, "Forbidden"],
    [true, "Forbidden"],
    [true, undefined],
  ]);
});

test("F7: a handler that throws loses its own call only", async () => {
  const script = scripted([listed("5", object("a", "3"))], [watching([event("a", "6"), event("b", "7")], 5000), quiet]);
  const onChange = vi.fn(() => {
    throw new Error("boom in handler");
  });
  const { reflector } = started(script, { onChange });
  await pass(6000);
  expect(onChange).toHaveBeenCalledTimes(3);
  expect(script.whats().at(-1)).toBe("watch from 7");
  expect(reflector.state.lastError).toBeUndefined();
});

test("F5, F6: stopped while a list is on its way, its result is dropped and nothing follows", async () => {
  const answer = Promise.withResolvers<KubeList<KubeObject>>();
  const script = scripted([() => answer.promise], [quiet]);
  const onState = vi.fn();
  const { reflector, changes, controller, ended } = started(script, { onState });
  const synced = reflector.synced();
  controller.abort();
  answer.resolve({ resourceVersion: "5", items: [object("a", "1")] });
  await ended;
  await expect(synced).rejects.toThrow("configmaps");
  await pass(60_000);
  expect([changes, reflector.store.list(), script.whats(), onState.mock.calls]).toEqual([[], [], ["list"], []]);
});

test("F5: stopped during backoff, it ends at once and asks for nothing more", async () => {
  const script = scripted([listed("5")], [watching([], 0, new KubeError("Unavailable", "refused"))]);
  const { controller, ended } = started(script);
  await pass(900);
  const before = script.calls.length;
  controller.abort();
  await ended;
  await pass(60_000);
  expect(script.calls.length).toBe(before);
});

test("F5: stopped while watching, an event that still comes is not told", async () => {
  const late: Watch = async function* ({ signal }) {
    await forever(signal);
    yield event("late", "9");
  };
  const { changes, controller, ended } = started(scripted([listed("5")], [late]));
  await pass(100);
  controller.abort();
  await ended;
  expect(changes).toEqual([]);
});

test("F10: a second start is refused", async () => {
  const { reflector } = started(scripted([listed("5")], [quiet]));
  expect(() => reflector.start(new AbortController().signal)).toThrow("was started before");
});

test("keeps what transform makes of each object", async () => {
  const script = scripted([listed("5", object("a", "3"))], [watching([event("b", "6")], 50_000)]);
  const transform = (each: KubeObject) => ({ ...each, metadata: { ...each.metadata, labels: { seen: "yes" } } });
  const { reflector } = started(script, { transform });
  await pass(100);
  expect(reflector.store.list().map(({ metadata }) => metadata.labels)).toEqual([{ seen: "yes" }, { seen: "yes" }]);
});

const cut = new KubeError("Unavailable", "reset");

test.each([
  ["the store's revision went back", listed("4")],
  ["the object that changed last is an older one", listed("90", object("a", "2"))],
  ["the object that changed last is another one", listed("90", object("a", "80"))],
  ["the object that changed last is gone", listed("90")],
])("a watch does not go on where %s: all is listed again", async (_, seen) => {
  const lists = [listed("5", object("a", "3")), listed("95", object("b", "94"))];
  const script = scripted(lists, [watching([event("a", "6")], 5000, cut), quiet], [seen]);
  const { changes } = started(script);
  await pass(6000);
  expect(script.whats()).toEqual(["list", "watch from 5", "list", "watch from 95"]);
  expect(changes).toEqual(["a added", "a updated", "b added", "a deleted"]);
});

test("what has the same revision in a store that went back counts as changed", async () => {
  const lists = [listed("5", object("a", "3"))];
  const script = scripted(lists, [watching([], 5000, cut), quiet], [listed("4", object("a", "3"))]);
  const { changes } = started(script);
  await pass(6000);
  expect(script.whats()).toEqual(["list", "watch from 5", "list", "watch from 5"]);
  expect(changes).toEqual(["a added", "a updated"]);
});

test("relist reads again at once: out of a watch that stands, and out of a pause", async () => {
  const refused = async () => Promise.reject(cut);
  const script = scripted([listed("5", object("a", "3")), refused, listed("2", object("a", "1"))], [quiet]);
  const { reflector, changes } = started(script);
  await pass(10);
  reflector.relist();
  await pass(10);
  expect(script.whats()).toEqual(["list", "watch from 5", "list"]);
  reflector.relist();
  await pass(10);
  expect(script.whats()).toEqual(["list", "watch from 5", "list", "list", "watch from 2"]);
  expect(changes).toEqual(["a added", "a updated"]);
});
