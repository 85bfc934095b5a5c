/** A store whose writes of blocks and affinities kill this process at random, as a claim is made of such writes. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Datastore, Kind } from "../../../src/datastore/datastore.ts";
import { pick } from "../racing.ts";

const WRITES: readonly PropertyKey[] = ["create", "update", "delete"];
const CLAIMED: readonly Kind[] = ["IPAMBlock", "BlockAffinity"];
/** Until the request is on its way, or may even be answered. */
const UNDER_WAY_MS = 4;

type Call = (...args: unknown[]) => unknown;

/** `deadliness` says how likely the next write is to be the last. */
export function mortal(store: Datastore, deadliness: () => number): Datastore {
  return new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(target, key, target) as unknown;
      if (typeof value !== "function") return value;
      const call: Call = value.bind(target);
      return WRITES.includes(key) ? deadly(call, deadliness) : call;
    },
  });
}

function deadly(write: Call, deadliness: () => number): Call {
  return async (...args) => {
    const [{ kind }] = args as [{ kind: Kind }];
    if (!CLAIMED.includes(kind) || Math.random() >= deadliness()) return write(...args);
    const when = pick(["before", "during", "after"]);
    const written = when === "before" ? undefined : (write(...args) as Promise<unknown>);
    if (when === "during") await sleep(Math.random() * UNDER_WAY_MS);
    if (when === "after") await written;
    process.kill(process.pid, "SIGKILL");
    return new Promise(() => {});
  };
}
