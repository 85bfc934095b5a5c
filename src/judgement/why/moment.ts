/** What `check` finds is what counts for `why`: the two cannot disagree. */
import { canonicalCidr } from "../../net/cidr.ts";
import { judge } from "../judge.ts";
import type { Snapshot } from "../snapshot.ts";
import type { Moment } from "./causes.ts";

export function momentOf(snapshot: Snapshot, now: Date): Moment {
  const findings = judge(snapshot, { now });
  const leaks = Map.groupBy(
    findings.filter(({ code }) => code === "LeakedAddress"),
    ({ object }) => object.name,
  );
  const gone = findings.filter(({ code }) => code === "AffinityOfGoneNode");
  const ranges = new Set(gone.map(({ object }) => object.name));
  const rows = snapshot.affinities.filter(({ metadata }) => ranges.has(metadata.name));
  const blocks = new Map(snapshot.blocks.map(({ spec, metadata }) => [canonicalCidr(spec.cidr), metadata.name]));
  const repairable = findings.filter(({ object, command }) => {
    return object.kind === "IPAMBlock" && command.startsWith("ipamctl repair ");
  });
  return {
    now,
    repairs: new Map(repairable.toReversed().map(({ object, command }) => [object.name, command])), // the worst wins
    leaks: new Map(Array.from(leaks, ([block, found]) => [block, found.flatMap(({ address }) => address ?? [])])),
    ofGoneNodes: new Set(rows.flatMap(({ spec }) => blocks.get(canonicalCidr(spec.cidr)) ?? [])),
  };
}
