/** Pools and reservations as they are written. */

import { poolProblems } from "../../api/pool-problems.ts";
import { parseSelector } from "../../api/selector.ts";
import type { IPPool } from "../../api/v3.ts";
import { parseAddress } from "../../net/address.ts";
import { parseCidr } from "../../net/cidr.ts";
import { family, nameOf, type Report } from "../finding.ts";
import { edit } from "../mend.ts";

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
  OverlappingPools: {
    severity: "critical",
    title: "Two pools have an address in common",
    means:
      "Calico accepts one of them: the one that was allocatable first, then the older one, then the first by name. Nothing " +
      "is allocated from the other.",
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
    for (const pool of snapshot.pools) invalid(pool, report);
    for (const { source, overlappedBy } of parsed) {
      if (overlappedBy === undefined) continue;
      const { name, source: winner } = overlappedBy;
      const overlap = `${source.spec.cidr} overlaps pool "${name}" (${winner.spec.cidr}), which was accepted before it`;
      report("OverlappingPools", nameOf(source), `${overlap}: nothing is allocated from it`);
    }
    for (const reservation of snapshot.reservations) {
      for (const entry of reservation.spec.reservedCIDRs ?? []) {
        const text = entry.trim();
        if (text === "" || parseAddress(text) || parseCidr(text)) continue;
        report("InvalidReservation", nameOf(reservation), `"${entry}" is neither an address nor a range`);
      }
    }
  },
});

function invalid(pool: IPPool, report: Report<Code>): void {
  for (const { message } of poolProblems(pool.spec)) report("InvalidPool", nameOf(pool), message);
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
