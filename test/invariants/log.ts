/** A recorded history: what callers asked and were told, and every version of every object in the order of the writes. */
import { cutHandle } from "../../src/api/names.ts";
import type { IPAMBlock, IPAMBlockSpec, IPAMConfigurationSpec, IpamKind, V3 } from "../../src/api/v3.ts";
import { parseAddress } from "../../src/net/address.ts";
import { type Cidr, cidrOf, overlaps, parseCidr } from "../../src/net/cidr.ts";

/** A call as far as the invariants ask about it, in the words of the library's interface. */
export interface Call {
  readonly method: string;
  readonly hostname?: string;
  readonly intendedUse?: string;
  readonly handleID?: string;
  readonly attrs?: Readonly<Record<string, string>>;
  /** Pools asked for; absent or empty: all that are enabled. */
  readonly pools?: readonly string[];
  readonly maxAllocToHandlePerIPVersion?: number;
  /** Options of releaseIPs. */
  readonly releases?: readonly { readonly address: string; readonly sequenceNumber?: bigint }[];
  /** The cooldown a collection was told to use, where that is not the stored one. */
  readonly ipCooldownSeconds?: number;
}

/** What the caller was told. A call that died has none. */
export interface Outcome {
  readonly ok: boolean;
  /** Addresses handed out, with the prefix length they were returned with, where the call returns one. */
  readonly ips?: readonly string[];
  /** Addresses that releaseIPs found free already. */
  readonly unallocated?: readonly string[];
}

export type LogEntry =
  | { readonly type: "begin"; readonly operation: number; readonly call: Call }
  | { readonly type: "end"; readonly operation: number; readonly outcome: Outcome }
  | VersionEntry;

/** One write: the object as stored by it, undefined where it was removed. */
export interface VersionEntry {
  readonly type: "version";
  readonly at: Date;
  readonly kind: IpamKind;
  readonly name: string;
  readonly object?: V3<IpamKind>;
  /** The call that wrote, where that is known. */
  readonly operation?: number;
}

export interface Operation extends Call {
  readonly name: string;
  /** Positions in the log; a call that died ends nowhere. */
  readonly begin: number;
  readonly end: number;
  readonly outcome: Outcome | undefined;
}

export interface Write<K extends IpamKind = IpamKind> {
  readonly position: number;
  readonly at: Date;
  readonly kind: K;
  readonly name: string;
  readonly before: V3<K> | undefined;
  readonly after: V3<K> | undefined;
  /** The last object of this name, also one that was removed before this write. */
  readonly predecessor: V3<K> | undefined;
  readonly operation: Operation | undefined;
}

/** The log, read once: calls with their extent, and writes with what they replaced. */
export class History {
  readonly operations: readonly Operation[];
  readonly writes: readonly Write[];
  readonly #byKind: ReadonlyMap<IpamKind, readonly Write[]>;
  readonly #blocks: readonly { readonly name: string; readonly range: Cidr }[];

  constructor(log: readonly LogEntry[]) {
    const operations = operationsOf(log);
    this.operations = [...operations.values()];
    this.writes = writesOf(log, operations);
    this.#byKind = Map.groupBy(this.writes, ({ kind }) => kind);
    const cidrs = new Map(
      this.writesOf("IPAMBlock").map(({ name, predecessor, after }) => [name, after ?? predecessor]),
    );
    this.#blocks = [...cidrs].flatMap(([name, block]) => {
      const range = parseCidr(block?.spec.cidr ?? "");
      return range ? [{ name, range }] : [];
    });
  }

  writesOf<K extends IpamKind>(kind: K): readonly Write<K>[] {
    return (this.#byKind.get(kind) ?? []) as unknown as readonly Write<K>[];
  }

  /** Everything of a kind that is stored, and not marked as deleted, once the entry at `position` was made. */
  stored<K extends IpamKind>(kind: K, position: number): V3<K>[] {
    const objects = new Map<string, V3<K> | undefined>();
    for (const write of this.writesOf(kind)) if (write.position <= position) objects.set(write.name, write.after);
    return [...objects.values()].filter((object) => object !== undefined && !isMarked(object)) as V3<K>[];
  }

  /** The configuration stored at `from`, and every one written from there to `to`; one that is not stored says nothing. */
  configurations(from: number, to: number): IPAMConfigurationSpec[] {
    const writes = this.writesOf("IPAMConfiguration").filter(({ position }) => position > from && position < to);
    return [this.stored("IPAMConfiguration", from)[0], ...writes.map(({ after }) => after)].map(
      (object) => object?.spec ?? {},
    );
  }

  /** The block an address lay in when a call began, and every version of it until the call ended. */
  blockDuring(address: string, { begin, end }: Operation): { atBegin: IPAMBlock | undefined; written: IPAMBlock[] } {
    const block = this.#blocks.find(({ range }) => overlaps(range, hostRange(address)));
    const writes = this.writesOf("IPAMBlock").filter(({ name }) => name === block?.name);
    const during = writes.filter(({ position }) => position > begin && position < end).map(({ after }) => after);
    return {
      atBegin: writes.findLast(({ position }) => position < begin)?.after,
      written: during.filter((state) => state !== undefined),
    };
  }
}

function operationsOf(log: readonly LogEntry[]): Map<number, Operation> {
  const operations = new Map<number, Operation>();
  for (const [position, entry] of log.entries()) {
    if (entry.type === "begin") {
      const name = `operation ${entry.operation} (${entry.call.method})`;
      const extent = { begin: position, end: Number.POSITIVE_INFINITY, outcome: undefined };
      operations.set(entry.operation, { ...entry.call, name, ...extent });
    } else if (entry.type === "end") {
      const operation = operations.get(entry.operation);
      if (operation === undefined) throw new Error(`the log ends operation ${entry.operation}, which never began`);
      operations.set(entry.operation, { ...operation, end: position, outcome: entry.outcome });
    }
  }
  return operations;
}

function writesOf(log: readonly LogEntry[], operations: ReadonlyMap<number, Operation>): Write[] {
  const current = new Map<string, V3<IpamKind> | undefined>();
  const last = new Map<string, V3<IpamKind>>();
  return [...log.entries()].flatMap(([position, entry]) => {
    if (entry.type !== "version") return [];
    const { at, kind, name, object: after } = entry;
    const key = `${kind}/${name}`;
    const operation = operations.get(entry.operation ?? Number.NaN);
    const write = { position, at, kind, name, after, operation, before: current.get(key), predecessor: last.get(key) };
    current.set(key, after);
    if (after) last.set(key, after);
    return [write];
  });
}

export const isMarked = (object: V3<IpamKind>): boolean => (object.spec as { deleted?: boolean }).deleted === true;

/** One address, with or without a prefix length, as a range. */
export function hostRange(text: string): Cidr {
  const address = parseAddress(text.split("/", 1)[0]!);
  if (address === undefined) throw new Error(`the log has the address "${text}", which is none`);
  return cidrOf(address, address.version === 4 ? 32 : 128);
}

/** Place of an address in a block. */
export function ordinalOf(spec: IPAMBlockSpec, address: string): number {
  return Number(hostRange(address).base - parseCidr(spec.cidr)!.base);
}

/** The attribute entry an ordinal points to. */
export function entryAt(spec: IPAMBlockSpec | undefined, ordinal: number) {
  const index = spec?.allocations[ordinal];
  return index == null ? undefined : spec?.attributes[index];
}

/** Whether an ordinal is allocated and not cooling down. */
export function isHeld(spec: IPAMBlockSpec | undefined, ordinal: number): boolean {
  const entry = entryAt(spec, ordinal);
  return entry !== undefined && entry.releasedAt === undefined;
}

/** Handle ids as they are compared: without what follows a carriage return; none is the empty text. */
export const handleText = (handleID: string | undefined): string => cutHandle(handleID ?? "");

export const ordinalsOf = (spec: IPAMBlockSpec): number[] => [...spec.allocations.keys()];
