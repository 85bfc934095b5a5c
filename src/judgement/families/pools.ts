/** Pools and reservations as they are written. */

import { objections, refusals } from "../../api/admission/admission.ts";
import { unreadable } from "../../api/admission/checks.ts";
import { parseSelector } from "../../api/selector.ts";
import type { IPPool } from "../../api/v3.ts";
import type { Pool } from "../../ipam/pools.ts";
import { parseAddress } from "../../net/address.ts";
import { parseCidr } from "../../net/cidr.ts";
import { specialIn } from "../../net/special-ranges.ts";
import { family, nameOf, type Report } from "../finding.ts";
import { edit } from "../mend.ts";
import type { Snapshot } from "../snapshot.ts";

type Code = keyof typeof codes;

const codes = {
  InvalidPool: {
    severity: "warning",
    title: "A pool breaks a rule of its kind",
    means:
      "It was stored by a version that did not check. Addresses may not be given out from it, or not where they are " +
      "wanted; a selector that cannot be read stops allocation on every node.",
    mend: edit,
  },
  UnusablePool: {
    severity: "warning",
    title: "A pool has addresses that no pod can have",
    means:
      "Loopback, multicast, reserved and unspecified addresses are refused by Kubernetes or by the kernel of the node. A pod " +
      "that is given one does not start, or cannot be reached.",
    mend: edit,
  },
  OverlappingPools: {
    severity: "critical",
    title: "Two pools have an address in common",
    means:
      "Calico accepts one of them: the one that was allocatable first, then the older one, then the first by name. Nothing " +
      "is allocated from the other.",
    mend: edit,
  },
  RefusedObject: {
    severity: "warning",
    title: "The embedded store holds an object that it would refuse today",
    means:
      "An older version or another program stored it. What is understood of it is in force, the rest has no effect. An edit " +
      "of the field at fault has to correct it.",
    mend: edit,
  },
  InvalidReservation: {
    severity: "warning",
    title: "A reservation names something that is neither an address nor a range",
    means: "The entry reserves nothing; the others of the object hold.",
    mend: edit,
  },
} as const;

export const pools = family<Code>({
  title: "Pools and reservations",
  codes,
  look({ snapshot, pools: parsed }, report) {
    if (snapshot.datastore === "embedded") refused(snapshot, report);
    for (const pool of snapshot.pools) invalid(pool, report);
    for (const pool of parsed) unusable(pool, report);
    for (const { source, overlappedBy } of parsed) {
      if (overlappedBy === undefined) continue;
      const { name, source: winner } = overlappedBy;
      const overlap = `${source.spec.cidr} overlaps pool "${name}" (${winner.spec.cidr}), which was accepted before it`;
      report("OverlappingPools", nameOf(source), `${overlap}: nothing is allocated from it`);
    }
    for (const reservation of snapshot.reservations) {
      for (const entry of reservation.spec.reservedCIDRs ?? []) {
        const text = entry.trim();
        if (isReserved(text)) continue;
        report("InvalidReservation", nameOf(reservation), `"${entry}" is neither an address nor a range`);
      }
    }
  },
});

const isReserved = (text: string) => text === "" || parseAddress(text) !== undefined || parseCidr(text) !== undefined;

/** What no other finding is about. On a cluster a field that is unknown here may be known to the API server. */
function refused({ pools, reservations, configurations }: Snapshot, report: Report<Code>): void {
  for (const object of [...pools, ...configurations]) {
    for (const { words } of unreadable({ kind: object.kind, object })) report("RefusedObject", nameOf(object), words);
  }
  for (const object of reservations) {
    const entries = object.spec.reservedCIDRs ?? [];
    for (const { words, path } of refusals({ kind: object.kind, object })) {
      if (isReserved(entries[Number(path.at(-1))]?.trim() ?? "")) report("RefusedObject", nameOf(object), words);
    }
  }
}

function unusable({ cidr, source }: Pool, report: Report<Code>): void {
  const special = specialIn(cidr);
  if (source.spec.disabled || special.length === 0) return;
  const message = `${source.spec.cidr} has addresses that no pod can have: ${special.join(", ")}. Disable it, and use another pool`;
  report("UnusablePool", nameOf(source), message);
}

function invalid(pool: IPPool, report: Report<Code>): void {
  for (const { words } of objections({ kind: "IPPool", object: pool })) report("InvalidPool", nameOf(pool), words);
  for (const field of ["nodeSelector", "namespaceSelector"] as const) {
    const problem = selectorProblem(pool.spec[field]);
    if (problem !== undefined) report("InvalidPool", nameOf(pool), `${field}: ${problem}`);
  }
}

function selectorProblem(text = ""): string | undefined {
  try {
    parseSelector(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
