/** A caller leaves autoAssign at each of its requests: `partialResult` has exactly what is allocated, and allOrNothing leaves nothing. */
import { describe, expect, it } from "vitest";
import { partialResult } from "../../src/ipam/assignments.ts";
import type { AutoAssignArgs } from "../../src/ipam/auto-assign-args.ts";
import { type World, world } from "../support/ipam.ts";
import { AbortingProcess, type Leaving } from "./aborting.ts";

const ask = { num4: 3, num6: 2, intendedUse: "Workload" } as const;
const FORMS: Record<string, AutoAssignArgs> = {
  "with a handle": { ...ask, handleID: "h" },
  "without a handle": ask,
  "with a limit": { ...ask, handleID: "h", maxAllocToHandlePerIPVersion: 3 },
};

/** Two blocks of each family are needed. */
const opened = () =>
  world({
    pools: [
      ["10.0.0.0/29", 31],
      ["fd00::/125", 127],
    ],
  });

async function allocated(w: World): Promise<number> {
  const blocks = await w.all("IPAMBlock");
  return blocks.flatMap(({ spec }) => spec.allocations.filter((index) => index !== null)).length;
}

/** How many addresses the call says are the caller's, and how many are allocated. */
async function leave(args: AutoAssignArgs, leaving?: Leaving) {
  await using w = await opened();
  const process = new AbortingProcess(leaving);
  const ipam = w.openIpam({ datastore: process.datastore(w.store) });
  const error = await ipam.autoAssign(args, { signal: process.signal }).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  const { v4, v6 } = partialResult(error) ?? { v4: null, v6: null };
  const kept = (v4?.ips.length ?? 0) + (v6?.ips.length ?? 0);
  return { requests: process.requests, error, kept, allocated: await allocated(w) };
}

describe.each(Object.entries(FORMS))("%s, left at each request", (_form, args) => {
  const choices = "maxAllocToHandlePerIPVersion" in args ? [false] : [false, true]; // the two are refused together
  it.each(choices)("allOrNothing: %s", { timeout: 60_000 }, async (allOrNothing) => {
    const { requests } = await leave({ ...args, allOrNothing });
    expect(requests).toBeGreaterThan(10);
    for (let request = 0; request < requests; request++) {
      for (const when of ["before", "after"] as const) {
        const { error, kept, allocated: stored } = await leave({ ...args, allOrNothing }, { request, when });
        if (error === undefined) continue; // left after the last look at the signal
        const where = `${when} request ${request}`;
        expect({ where, stored }).toEqual({ where, stored: allOrNothing ? 0 : kept });
        if (allOrNothing) expect({ where, kept }).toEqual({ where, kept: 0 });
      }
    }
  });
});
