/** One racer's tools, and what it knows of itself from its journal. */
import type { Datastore } from "../../src/datastore/datastore.ts";
import type { Flavour } from "../../src/datastore/flavours.ts";
import type { Ipam } from "../../src/ipam/client.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { pool } from "../support/ipam-data.ts";
import { callsIn, type Entry, holdingsOf, note, readEntries, valuesOf } from "./journal.ts";

export const HOSTS = ["host-a", "host-b", "host-c", "host-d"] as const;

export interface RacerOptions {
  readonly flavour: Flavour;
  /** Its number, from 0. */
  readonly racer: number;
  readonly host: string;
  /** Its own, and of the process in whose place it came. */
  readonly journal: string;
  /** Reads from watch-fed caches. */
  readonly cached: boolean;
}

/** Sixteen blocks of sixteen addresses, and sixteen of four: the second are fought for. */
export const POOLS = [
  { name: "four", cidr: "10.0.0.0/24", blockSize: 28 },
  { name: "six", cidr: "fd00::/122", blockSize: 126 },
] as const;

const NODE = { group: "", version: "v1", plural: "nodes", kind: "Node" } as const;

export async function createNodes(client: KubeClient): Promise<void> {
  for (const name of HOSTS) await client.create(NODE, { apiVersion: "v1", kind: "Node", metadata: { name } });
}

export async function createPools(datastore: Datastore): Promise<void> {
  for (const { name, cidr, blockSize } of POOLS) await datastore.create<"IPPool">(pool(name, cidr, { blockSize }));
}

export class Racing {
  readonly options: RacerOptions;
  readonly ipam: Ipam;
  readonly store: Datastore;
  /** Addresses by handle. */
  readonly held: Map<string, readonly string[]>;
  /** Handles of calls that a kill cut off. */
  readonly cutOff: Set<string>;
  readonly values: Map<string, string>;
  /** Calls made, with those of the processes before. */
  readonly made: number;
  #number: number;

  constructor(options: RacerOptions, ipam: Ipam, store: Datastore) {
    const before = readEntries(options.journal);
    const { held, uncertain } = holdingsOf(before);
    this.options = options;
    this.ipam = ipam;
    this.store = store;
    this.held = new Map(held);
    this.cutOff = new Set(uncertain);
    this.values = new Map(valuesOf(before));
    this.made = callsIn(before);
    this.#number = before.length;
  }

  /** A text of its own each time, over all racers. */
  newName(kind: "pod" | "vm"): string {
    return `racer-${this.options.racer}-${kind}-${this.#number++}`;
  }

  note(what: Entry["what"], subject: string, more?: Partial<Entry>): void {
    note(this.options.journal, what, subject, more);
  }

  /** Changes something that no other racer changes, written down before and after. */
  async change(subject: string, value: string, call: () => Promise<unknown>): Promise<void> {
    this.values.delete(subject);
    this.note("changing", subject, { value });
    await call();
    this.note("changed", subject, { value });
    this.values.set(subject, value);
  }
}

export const isVm = (handle: string): boolean => handle.includes("-vm-");
/** Names who a VM's addresses are for, among the things that change. */
export const ownerSubject = (handle: string): string => `owner of ${handle}`;
export const below = (bound: number): number => Math.floor(Math.random() * bound);
export const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
/** `10.0.0.7`, or `fd00::7`. */
export const addressIn = (six: boolean, ordinal: number): string =>
  six ? `fd00::${ordinal ? ordinal.toString(16) : ""}` : `10.0.0.${ordinal}`;
