/** Follows what one API group holds, and which fields its definitions keep. */
import type { Logger } from "pino";
import type { KubeObject } from "../../api/meta.ts";
import { resources } from "../../api/resources.ts";
import type { IPPool } from "../../api/v3.ts";
import type { ApiGroupChoice } from "../../datastore/api-group.ts";
import { isKubeError, type KubeClient } from "../../kube/types.ts";
import { datastoreLocked, servedAttributes, servedFields } from "./facts.ts";
import { CRD_TYPE, type ServedKinds, type WatchedKind } from "./served-kinds.ts";

export type Generation = "v1" | "v3";

/** The API group that holds the data, and why that one. */
export interface GroupChoice {
  readonly generation: Generation;
  readonly by: ApiGroupChoice["by"];
  readonly chosenBy: string;
}

/** Kinds that store what a setting needs: their definitions say which fields are kept. */
const SCHEMA_KINDS = ["IPAMConfiguration", "IPAMBlock"] as const;
type SchemaKind = (typeof SCHEMA_KINDS)[number];

export interface GroupWatchOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly kinds: ServedKinds;
  readonly readPool: (generation: Generation, stored: KubeObject) => IPPool | undefined;
  readonly onChange: () => void;
}

const CLUSTER_INFORMATION = { plural: "clusterinformations", kind: "ClusterInformation" };

export class GroupWatch {
  readonly choice: GroupChoice;
  /** The configuration first: without it nothing can be done. */
  readonly kinds: readonly WatchedKind<KubeObject>[];
  readonly #options: GroupWatchOptions;
  readonly #pools: WatchedKind<KubeObject>;
  readonly #information: WatchedKind<KubeObject>;
  #fieldsKnown = false;
  #fieldsAssumed = false;
  #servedFields: ReadonlySet<string> | undefined;
  #servedAttributes: ReadonlySet<string> | undefined;

  constructor(choice: GroupChoice, options: GroupWatchOptions) {
    this.choice = choice;
    this.#options = options;
    const { kinds, onChange } = options;
    const { [choice.generation]: configuration } = resources.IPAMConfiguration;
    const { group, version } = configuration;
    const watched = kinds.watch<KubeObject>({ type: configuration, needed: true, onChange });
    this.#pools = kinds.watch({ type: resources.IPPool[choice.generation], needed: false, onChange });
    this.#information = kinds.watch({ type: { group, version, ...CLUSTER_INFORMATION }, needed: false, onChange });
    this.kinds = [watched, this.#pools, this.#information];
  }

  /** All has been read once, or is known not to be served. */
  get settled(): boolean {
    return this.#fieldsKnown && this.kinds.every(({ settled }) => settled);
  }

  /** Not served any more, and not for a moment only: its definition is gone too. */
  get isGone(): boolean {
    const [configuration] = this.kinds;
    return (
      configuration?.served === false &&
      this.#options.kinds.definition(definitionOf(this.choice.generation)) === undefined
    );
  }

  /** A definition could not be read: read the fields again. */
  get fieldsAssumed(): boolean {
    return this.#fieldsAssumed;
  }

  get servedFields(): ReadonlySet<string> | undefined {
    return this.#servedFields;
  }

  get servedAttributes(): ReadonlySet<string> | undefined {
    return this.#servedAttributes;
  }

  get locked(): boolean {
    return datastoreLocked(this.#information.get("default"));
  }

  pools(): IPPool[] {
    const { readPool } = this.#options;
    return this.#pools.list().flatMap((pool) => readPool(this.choice.generation, pool) ?? []);
  }

  /** Whether {@link readFields} reads a definition. */
  hasFieldsIn(definition: string): boolean {
    return SCHEMA_KINDS.some((kind) => definitionOf(this.choice.generation, kind) === definition);
  }

  async readFields(): Promise<void> {
    this.#fieldsAssumed = false;
    const [configuration, block] = await Promise.all(SCHEMA_KINDS.map((kind) => this.#readDefinition(kind)));
    if (this.#options.signal.aborted) return;
    const { version } = resources.IPAMConfiguration[this.choice.generation];
    this.#servedFields = configuration && servedFields(configuration, version);
    this.#servedAttributes = block && servedAttributes(block, version);
    this.#fieldsKnown = true;
  }

  stop(): void {
    for (const kind of this.kinds) this.#options.kinds.unwatch(kind);
  }

  /** An API that an aggregated server serves has no definition: all fields are then assumed. */
  async #readDefinition(kind: SchemaKind): Promise<KubeObject | undefined> {
    const { client, signal, log, kinds } = this.#options;
    const name = definitionOf(this.choice.generation, kind);
    try {
      if (kinds.definition(name) === undefined) return undefined;
      return await client.get<KubeObject>(CRD_TYPE, name, { signal });
    } catch (error) {
      if (signal.aborted || isKubeError(error, "NotFound")) return undefined; // deleted since it was watched
      this.#fieldsAssumed ||= !isKubeError(error, "Forbidden");
      log.warn({ error }, `Cannot read the definition ${name}; all fields are taken to be served`);
      return undefined;
    }
  }
}

/** The name of the definition of a kind in a group. */
export function definitionOf(generation: Generation, kind: SchemaKind = "IPAMConfiguration"): string {
  const { plural, group } = resources[kind][generation];
  return `${plural}.${group}`;
}
