/** What must be true of the store when a race is over, whatever happened in it. */
import { expect } from "vitest";
import type { Datastore } from "../../src/datastore/datastore.ts";
import type { Ipam } from "../../src/ipam/client.ts";
import { isIpamError } from "../../src/ipam/errors.ts";
import { check, type Finding } from "../invariants/check.ts";
import { holdingsOf, type Journal, valuesOf } from "./journal.ts";
import { HOSTS, isVm, ownerSubject } from "./racing.ts";
import { allocationsIn, storedObjects, valuesIn } from "./stored.ts";
import { borrowedWhileStrict, cutOffHandles, handedOutTwice, takenWhileReserved } from "./verdicts.ts";

/** What is raced on, seen without faults. */
export interface Ground {
  readonly datastore: Datastore;
  readonly ipam: Ipam;
}

/** Judges a race by its journals and by what is stored, and ends it: afterwards nothing is allocated any more. */
export async function judge(ground: Ground, journals: readonly Journal[]): Promise<void> {
  expect(handedOutTwice(journals)).toEqual([]);
  expect(takenWhileReserved(journals)).toEqual([]);
  expect(borrowedWhileStrict(journals)).toEqual([]);
  await isSoundNow(ground);
  await nothingIsLost(ground, journals);
  const cutOff = cutOffHandles(journals);
  await comesToRest(ground, cutOff);
  await allIsGivenBack(ground, cutOff);
}

/** What holds at every instant holds. */
export async function isSoundNow({ datastore }: Pick<Ground, "datastore">): Promise<void> {
  expect(check(await storedObjects(datastore), { mode: "always", now: new Date() })).toEqual([]);
}

/** Every racer's last word on what it has, and on what it changed, is what is stored. */
async function nothingIsLost({ datastore }: Ground, journals: readonly Journal[]): Promise<void> {
  const objects = await storedObjects(datastore);
  const stored = allocationsIn(objects);
  const ends = journals.map(({ entries }) => holdingsOf(entries));
  const holders = ends.flatMap(({ held }) => [...held].flatMap(([handle, ips]) => ips.map((ip) => [ip, handle])));
  const held = new Map(holders as [string, string][]);
  const uncertain = new Set(ends.flatMap((end) => [...end.uncertain]));
  expect([...held].filter(([ip, handle]) => stored.get(ip)?.handle !== handle)).toEqual([]);
  const surplus = [...stored].filter(([ip, { handle = "" }]) => !held.has(ip) && !uncertain.has(handle));
  expect(surplus).toEqual([]);

  const said = new Map(journals.flatMap(({ entries }) => [...valuesOf(entries)]));
  const pods = [...held].filter(([, handle]) => isVm(handle) && said.has(ownerSubject(handle)));
  expect(pods.filter(([ip, handle]) => stored.get(ip)?.pod !== said.get(ownerSubject(handle)))).toEqual([]);
  const values = valuesIn(objects);
  const others = [...said].filter(([subject]) => !subject.startsWith("owner of "));
  expect(others.filter(([subject, value]) => (values.get(subject) ?? "") !== value)).toEqual([]);
}

/** One ordinary call of each host, and all is whole; only counts of handles whose call was cut off may be too high. */
async function comesToRest({ datastore, ipam }: Ground, cutOff: ReadonlySet<string>): Promise<void> {
  for (const hostname of HOSTS) {
    await ipam.autoAssign({ hostname, handleID: `last-${hostname}`, num4: 1, num6: 1, intendedUse: "Workload" });
  }
  const utilization = await ipam.getUtilization();
  const left = check({ ...(await storedObjects(datastore)), utilization }, { mode: "atRest", now: new Date() });
  const isExcused = ({ invariant, object }: Finding) =>
    (invariant === 30 || invariant === 32) && cutOff.has(object.replace("IPAMHandle ", ""));
  expect(left.filter((finding) => !isExcused(finding))).toEqual([]);
}

/** Everything is given back, and nothing stays but the counts of handles whose call was cut off. */
async function allIsGivenBack({ datastore, ipam }: Ground, cutOff: ReadonlySet<string>): Promise<void> {
  const handles = [...allocationsIn(await storedObjects(datastore)).values()].map(({ handle }) => handle!);
  for (const handle of new Set([...cutOff, ...handles])) {
    await ipam.releaseByHandle(handle).catch((error: unknown) => {
      if (!isIpamError(error, "NotFound")) throw error;
    });
  }
  await ipam.setIPAMConfig({ ipCooldownSeconds: 0 });
  const config = await ipam.getIPAMConfig();
  for (const block of (await datastore.list("IPAMBlock")).items) await ipam.garbageCollectColdIPs(config, block);
  for (const host of HOSTS) await ipam.releaseHostAffinities({ affinityType: "host", host }, true);
  const { blocks, affinities, handles: left } = await storedObjects(datastore);
  expect([blocks, affinities]).toEqual([[], []]);
  expect(left.map(({ spec }) => spec.handleID).filter((handle) => !cutOff.has(handle))).toEqual([]);
}
