/**
 * Any JavaScript value in any place of any call: it ends in an answer, or in an error of the library or of the store. What
 * is refused as an argument has asked the store nothing; what is refused later has written nothing.
 */
import { inspect } from "node:util";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isDatastoreError } from "../../src/datastore/datastore.ts";
import { isIpamError } from "../../src/ipam/errors.ts";
import type { World } from "../support/ipam.ts";
import { call, type Invocation, type Method } from "./calls.ts";
import { FULL, type Path, placesIn, replaced, run, shop } from "./full-calls.ts";

const throwing = () => {
  throw new TypeError("not for you");
};
/** Values that cannot be read, printed, copied or written, each in its own way; made for each run, since calls could change them. */
const UNREADABLE: Readonly<Record<string, () => unknown>> = {
  "a getter that throws": () => Object.defineProperty({}, "handle", { get: throwing, enumerable: true }),
  "an element that throws": () => Object.defineProperty(["10.0.0.1"], 0, { get: throwing, enumerable: true }),
  "a revoked proxy": () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  "a proxy without keys": () => new Proxy({}, { ownKeys: throwing }),
  "no way to print it": () => ({ [inspect.custom]: throwing, toString: throwing, toJSON: throwing }),
  "itself inside": () => {
    const value: Record<string, unknown> = {};
    value["self"] = value;
    return value;
  },
  "very deep": () => Array.from({ length: 20_000 }).reduce<unknown>((inner) => [inner], []),
  "no prototype": () => Object.create(null),
  "a long list with holes": () => new Array(100_000),
};

/** Made by the test: fast-check would read them. */
const unreadable = fc.constantFrom(...Object.values(UNREADABLE));
const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, maxDepth: 2 });
const telling = fc.constantFrom<unknown>(
  "10.0.0.1",
  "10.0.0.0/30",
  "fd00::/126",
  "",
  "h",
  "host-a",
  0,
  1,
  99,
  -0,
  2 ** 31,
);
const readable = fc.oneof(anything, telling, fc.string({ unit: "binary" })).map((value) => () => value);
const value = fc.oneof({ weight: 3, arbitrary: readable }, { weight: 1, arbitrary: unreadable });

/** What is replaced, by its number among the places of the call, and by what. */
const changes = fc.array(fc.tuple(fc.nat(), value), { minLength: 1, maxLength: 2 });

/** What is replaced has no places any more. */
const isInside = (path: Path, other: Path) =>
  other.length < path.length && other.every((step, index) => step === path[index]);

async function complaint(w: World, invocation: Invocation): Promise<string | undefined> {
  const ended = await run(w, invocation).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (ended === undefined) return undefined;
  const { error } = ended;
  if (isDatastoreError(error)) return undefined;
  if (!isIpamError(error)) return `${invocation.method} ended with ${(error as Error | undefined)?.stack}`;
  const words = `${invocation.method} ended with ${error.code}: ${error.message}`;
  if (error.code === "InvalidArgument" && w.calls.length > 0) return `${words} after ${w.calls.length} requests`;
  const writes = w.writes();
  return error.class === "validation" && writes.length > 0 ? `${words} after ${writes}` : undefined;
}

describe.each(Object.keys(FULL) as Method[])("%s", (method) => {
  test("ends in an answer or an error of ours, whatever it is given", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(changes, async (changes) => {
        await using w = await shop();
        const full: unknown = await FULL[method](w);
        const places = [...placesIn(full)];
        const at = new Map(changes.map(([number, make]) => [places[number % places.length]!, make]));
        const outermost = [...at].filter(([path]) => ![...at.keys()].some((other) => isInside(path, other)));
        const args = outermost.reduce((args, [path, make]) => replaced(args, path, make()), full);
        expect(await complaint(w, call(method, ...(args as never)))).toBeUndefined();
      }),
      { numRuns: 150, endOnFailure: true },
    );
  });

  test.each(Object.keys(UNREADABLE))("refuses or ignores %s in each place", { timeout: 120_000 }, async (name) => {
    await using clean = await shop();
    for (const path of placesIn(await FULL[method](clean))) {
      await using w = await shop();
      const args = replaced(await FULL[method](w), path, UNREADABLE[name]!());
      expect(await complaint(w, call(method, ...(args as never)))).toBeUndefined();
    }
  });
});
