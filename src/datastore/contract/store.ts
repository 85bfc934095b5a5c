/** What the parts of the contract suite work on, and the words they share. */
import { expect } from "vitest";
import type { Datastore, DatastoreErrorCode, Kind, Stored } from "../datastore.ts";
import { samples } from "./objects.ts";

/** What a backend's test file opens for each test: an empty store. */
export interface OpenStore {
  readonly datastore: Datastore;
  close(): Promise<void>;
  /** Stores a handle of this name with `MALFORMED` as its spec, behind the datastore's back. */
  putMalformed(name: string): Promise<void>;
}

/** The store of the test that runs. */
export type Current = Pick<OpenStore, "datastore" | "putMalformed">;

export const withSpec = <K extends Kind>(object: Stored<K>, change: object): Stored<K> => ({
  ...object,
  spec: { ...object.spec, ...change },
});

/** Matches a DatastoreError of this code. */
export const code = (code: DatastoreErrorCode) => expect.objectContaining({ name: "DatastoreError", code });

export const names = (items: readonly Stored<Kind>[]) => items.map(({ metadata }) => metadata.name);

export const createSample = <K extends Kind>({ datastore }: Current, kind: K): Promise<Stored<K>> =>
  datastore.create(samples[kind].object as Stored<K>);

export const markable = ["IPAMBlock", "BlockAffinity", "IPAMHandle"] as const;
