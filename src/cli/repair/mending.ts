/** What every mend works with, and the ways in which they change things. */

import type { Datastore } from "../../datastore/datastore.ts";
import { createIpam, type Ipam } from "../../ipam/client.ts";
import type { TwoLooks } from "../../judgement/collection.ts";
import type { Finding } from "../../judgement/finding.ts";
import type { Session } from "../session.ts";
import type { Item } from "../writing/plan.ts";
import type { Workplace } from "../writing/workplace.ts";
import { type Copy, copied } from "./copy.ts";

export interface Mending {
  /** What was found in two looks. */
  readonly looks: TwoLooks;
  /** The store; what is written to it is kept in the copy. */
  readonly datastore: Datastore;
  readonly ipam: Ipam;
  /** Owners as they are right before a write. */
  readonly ownersNow: Workplace["ownersNow"];
  readonly now: () => Date;
  /** Told of objects that cannot be read. */
  readonly warn: (text: string) => void;
}

/**
 * Mends what findings of one code say of one object, wholly, after looking once more.
 * @returns why it was left alone, where it was; what it came to, where that was not known before
 */
export type Mender = (
  mending: Mending,
  findings: readonly [Finding, ...Finding[]],
) => Promise<string | Partial<Item> | undefined>;

export function mendingOn(session: Session, looks: TwoLooks, workplace: Workplace, copy: Copy): Mending {
  const datastore = copied(workplace.datastore, copy);
  const ipam = createIpam({ datastore, clock: session.now, windowsHost: false, warn: session.say });
  return { looks, datastore, ipam, ownersNow: workplace.ownersNow, now: session.now, warn: session.say };
}

type Named = { readonly metadata: { readonly name: string } };
const byName = new WeakMap<readonly Named[], ReadonlyMap<string, Named>>();

/** The object of a name, out of a list that may be long and is asked again and again. */
export function named<T extends Named>(list: readonly T[], name: string): T {
  const known = byName.get(list) ?? new Map(list.map((object) => [object.metadata.name, object]));
  byName.set(list, known);
  return known.get(name) as T;
}

export const CHANGED = "was changed between the two looks";
export const NOT_SO_ANY_MORE = "is not so any more";
