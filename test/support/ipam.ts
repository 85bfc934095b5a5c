/** What the tests of the library share: a cluster as a value, over the store of store.ts, whose every object is frozen. */
import { type IPAMBlock, type IpamKind, type V3, V3_API_VERSION } from "../../src/api/v3.ts";
import { type Datastore, DatastoreError, type DatastoreErrorCode } from "../../src/datastore/datastore.ts";
import { createIpam, type Ipam, type IpamOptions } from "../../src/ipam/client.ts";
import { checkedCalls } from "../../src/library/datastores.ts";
import type { ListedObjects } from "../invariants/check.ts";
import { atHand } from "./at-hand.ts";
import { openStore } from "./store.ts";

/** Freezes a value through and through: code that changes what it was given then fails. */
export function deepFrozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) deepFrozen(inner); // also of what is frozen itself: that says nothing of the inside
  return Object.freeze(value);
}

/** The same store, of which everything that is read comes frozen. */
export function frozen(store: Datastore): Datastore {
  return {
    description: store.description,
    ...atHand(store),
    ...(store.blocksOf && { blocksOf: (owner, options) => deepFrozen(store.blocksOf!(owner, options)) }),
    get: async (kind, name, options) => deepFrozen(await store.get(kind, name, options)),
    list: async (kind, options) => deepFrozen(await store.list(kind, options)),
    create: async (object, options) => deepFrozen(await store.create(object, options)),
    update: async (object, options) => deepFrozen(await store.update(object, options)),
    delete: (object, options) => store.delete(object, options),
    updateStatus: async (object, options) => deepFrozen(await store.updateStatus(object, options)),
    watch: (kind, options) => store.watch(kind, options),
    close: () => store.close(),
  };
}

export type Operation = "get" | "list" | "create" | "update" | "delete";

/** One call of the store: `update IPAMBlock/10-0-0-0-26`. */
export interface StoreCall {
  readonly operation: Operation;
  readonly kind: string;
  readonly name: string;
  /** What is written or deleted. */
  readonly object?: unknown;
}

/** Looks at a call before it is made: may wait, write by itself, or throw in its place. */
export type Meddler = (call: StoreCall, store: Datastore) => unknown;

export interface WorldOptions extends Partial<Omit<IpamOptions, "datastore" | "clock" | "nodes">> {
  /** CIDR and block size per pool, or the rest of its spec. */
  readonly pools?: readonly (readonly [cidr: string, blockSize: number, more?: object])[];
  /** Labels per node; undefined: every host exists and has none. */
  readonly nodes?: Record<string, Record<string, string>>;
}

/** A cluster: store, library, clock, and what went through the store. */
export interface World extends AsyncDisposable {
  readonly store: Datastore;
  ipam: Ipam;
  readonly calls: StoreCall[];
  readonly warnings: string[];
  /** Labels per node; tests change them. */
  readonly nodes: Record<string, Record<string, string>>;
  now: Date;
  meddler: Meddler | undefined;
  /** The store as the library sees it: frozen, and under the meddler's eyes. */
  readonly watched: Datastore;
  /** Everything there is, for the invariants. */
  stored(): Promise<ListedObjects>;
  /** Another process with other options on the same store. */
  openIpam(options?: Partial<IpamOptions>): Ipam;
  put<K extends IpamKind>(kind: K, name: string, spec: object, more?: object): Promise<V3<K>>;
  all<K extends IpamKind>(kind: K): Promise<readonly V3<K>[]>;
  block(cidr: string): Promise<IPAMBlock>;
  /** `create BlockAffinity`, `update IPAMBlock`, ... since the last call. */
  writes(): string[];
  /** Lets time pass. */
  pass(seconds: number): void;
}

/** Name of the pool at an index: `pool0`, `pool1`, ... */
export const poolName = (index: number) => `pool${index}`;

export async function world(options: WorldOptions = {}): Promise<World> {
  const { pools = [], nodes, ...rest } = options;
  const store = frozen(await openStore());
  const state: World = {
    store,
    calls: [],
    warnings: [],
    nodes: nodes ?? {},
    now: new Date("2026-01-02T03:04:05.678Z"),
    meddler: undefined,
    ipam: undefined as unknown as Ipam,
    watched: undefined as unknown as Datastore,
    stored: async () => ({
      blocks: await state.all("IPAMBlock"),
      affinities: await state.all("BlockAffinity"),
      handles: await state.all("IPAMHandle"),
      configurations: await state.all("IPAMConfiguration"),
      pools: await state.all("IPPool"),
      reservations: await state.all("IPReservation"),
      nodes: Object.entries(state.nodes).map(([name, labels]) => ({ name, labels })),
    }),
    openIpam: (more = {}) =>
      createIpam({
        datastore: checkedCalls(watched(store, state)), // as callers have it: what the library asks must pass the check
        clock: () => state.now,
        warn: (message) => state.warnings.push(message),
        hostname: "host-a",
        windowsHost: false,
        ...(nodes && {
          nodes: async (name: string) =>
            state.nodes[name] && deepFrozen({ metadata: { labels: { ...state.nodes[name] } } }),
        }),
        ...rest,
        ...more,
      }),
    put: async (kind, name, spec, more = {}) => {
      const object = { apiVersion: V3_API_VERSION, kind, metadata: { name }, spec, ...more };
      return (await store.create(object as never)) as never;
    },
    all: async (kind) => (await store.list(kind)).items as never,
    block: (cidr) => store.get("IPAMBlock", cidr.replaceAll(/[.:/]/g, "-")),
    writes: () => {
      const made = state.calls.splice(0).filter(({ operation }) => operation !== "get" && operation !== "list");
      return made.map(({ operation, kind }) => `${operation} ${kind}`);
    },
    pass: (seconds) => {
      state.now = new Date(state.now.getTime() + seconds * 1000);
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
  for (const [index, [cidr, blockSize, more]] of pools.entries()) {
    await state.put("IPPool", poolName(index), { cidr, blockSize, ...more });
  }
  return Object.assign(state, { ipam: state.openIpam(), watched: watched(store, state) });
}

function watched(store: Datastore, state: World): Datastore {
  const before = async (operation: Operation, kind: string, name: string, object?: unknown) => {
    const call = { operation, kind, name, ...(object !== undefined && { object }) };
    await state.meddler?.(call, store);
    state.calls.push(call);
  };
  return {
    description: store.description,
    ...atHand(store),
    ...(store.listNames && {
      listNames: async (kind, options) => {
        await before("list", kind, "");
        return store.listNames!(kind, options);
      },
    }),
    get: async (kind, name, options) => {
      await before("get", kind, name);
      return store.get(kind, name, options);
    },
    list: async (kind, options) => {
      await before("list", kind, "");
      return store.list(kind, options);
    },
    create: async (object, options) => {
      await before("create", object.kind, object.metadata.name, object);
      return store.create(object, options);
    },
    update: async (object, options) => {
      await before("update", object.kind, object.metadata.name, object);
      return store.update(object, options);
    },
    delete: async (object, options) => {
      await before("delete", object.kind, object.metadata.name, object);
      await store.delete(object, options);
    },
    updateStatus: store.updateStatus.bind(store),
    watch: store.watch.bind(store),
    close: () => store.close(),
  };
}

/** An error of the store, in place of a call. */
export function storeError(code: DatastoreErrorCode, { kind, name }: Pick<StoreCall, "kind" | "name">): DatastoreError {
  return new DatastoreError(code, kind, name, `${code} injected for ${kind} "${name}"`);
}

/** Fails the next `times` calls of one operation on one kind. */
export function failing(
  operation: Operation,
  kind: IpamKind,
  code: DatastoreErrorCode,
  times = Number.POSITIVE_INFINITY,
): Meddler {
  let left = times;
  return (call) => {
    if (call.operation === operation && call.kind === kind && left-- > 0) throw storeError(code, call);
  };
}

/** Number of addresses in an assignment. */
export const count = (assignments: { readonly ips: readonly string[] } | null) => assignments?.ips.length ?? 0;

/** The error a promise ends with. */
export async function errorOf(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  const result = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (result === undefined) throw new Error("expected an error, and there was none");
  return result as Error;
}

/** What a Windows host keeps back at both ends of its blocks. */
export function windowsReserve(startOfBlock: number, endOfBlock: number, handle = "windows-reserved-ipam-handle") {
  return { startOfBlock, endOfBlock, handle, note: "windows host rsvd" };
}
