/**
 * Keeps what the reconcilers must know of a cluster, from watches. What is missing or refused becomes a sentence in
 * `blocked`; it goes away by itself once the cause does.
 */
import type { Logger } from "pino";
import {
  type Blocked,
  type NodeFacts,
  type Surroundings,
  UNDECIDED,
} from "../../../reconcilers/installation/surroundings.ts";
import { calicoInstallationResource, foreignIpam } from "../../api/calico-installation.ts";
import type { Installation } from "../../api/installation.ts";
import type { KubeObject } from "../../api/meta.ts";
import { installationResource, resources } from "../../api/resources.ts";
import type { IPPool } from "../../api/v3.ts";
import { isKubeError, type KubeClient, type ResourceType } from "../../kube/types.ts";
import { blockedBy, notInstalled } from "./blocked.ts";
import { datastoreLocked, nodeFacts, servedAttributes, servedFields, slimNode } from "./facts.ts";
import { CRD_TYPE, createServedKinds, type ServedKinds, type WatchedKind } from "./served-kinds.ts";

export type Generation = "v1" | "v3";

/** The API group that holds the data, and why that one. */
export interface GroupChoice {
  readonly generation: Generation;
  readonly chosenBy: string;
}

export interface ClusterWatchOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly idleTimeoutMs: number;
  readonly retryMs: number;
  /** Called until it succeeds once; the choice is then kept. */
  readonly chooseGroup: () => Promise<GroupChoice>;
  readonly onChosen: (choice: GroupChoice) => void;
  /** Reads a pool as stored in the chosen group; undefined where it cannot be read. */
  readonly readPool: (generation: Generation, stored: KubeObject) => IPPool | undefined;
  /** Anything that may change what the reconciler decides. */
  readonly onChange: () => void;
  /** The set of served kinds may have changed. */
  readonly onServed: () => void;
}

export interface ClusterWatch {
  surroundings(): Surroundings;
  installation(name: string): Installation | undefined;
  /** All that is needed has been read once, or it is known why not: before that nothing should be decided. */
  readonly settled: boolean;
  /** The Installations have been listed. */
  readonly synced: boolean;
  /** There may be Installations, but they have not been listed yet. */
  readonly unread: boolean;
  readonly choice: GroupChoice | undefined;
  readonly kinds: ServedKinds;
  /** Generations whose configuration kind is served. */
  servedGenerations(): readonly Generation[];
}

const NODES: ResourceType = { group: "", version: "v1", plural: "nodes", kind: "Node" };
const CLUSTER_INFORMATION = { plural: "clusterinformations", kind: "ClusterInformation" };

export function watchCluster(options: ClusterWatchOptions): ClusterWatch {
  return new Watch(options);
}

/** Kinds that store what a setting needs: their definitions say which fields are kept. */
type SchemaKind = "IPAMConfiguration" | "IPAMBlock";

/** Kinds of the chosen API group. */
interface GroupKinds {
  readonly configuration: WatchedKind<KubeObject>;
  readonly pools: WatchedKind<KubeObject>;
  readonly information: WatchedKind<KubeObject>;
}

class Watch implements ClusterWatch {
  readonly #options: ClusterWatchOptions;
  readonly #installations: WatchedKind<Installation & KubeObject>;
  readonly #nodes: WatchedKind<KubeObject>;
  readonly #calicoOperator: WatchedKind<KubeObject>;
  readonly #nodeFacts = new Map<string, string>();
  readonly kinds: ServedKinds;
  #group: GroupKinds | undefined;
  #choosing: Promise<void> | undefined;
  #choiceError: unknown;
  #servedFields: ReadonlySet<string> | undefined;
  #servedAttributes: ReadonlySet<string> | undefined;
  #fieldsKnown = false;
  #toldBlocked = "";
  choice: GroupChoice | undefined;

  constructor(options: ClusterWatchOptions) {
    this.#options = options;
    const { client, log, signal, idleTimeoutMs, retryMs, onChange } = options;
    this.kinds = createServedKinds({
      client,
      log,
      signal,
      idleTimeoutMs,
      retryMs,
      onState: () => this.#stateChanged(),
      incomplete: () => this.choice === undefined,
      onRefresh: () => this.#refreshed(),
      onDefinition: (name) => this.#definitionChanged(name),
    });
    this.#installations = this.kinds.watch({ type: installationResource, needed: true, onChange });
    this.#nodes = this.kinds.watch({
      type: NODES,
      needed: true,
      transform: slimNode,
      onChange: (name) => this.#nodeChanged(name),
    });
    this.#calicoOperator = this.kinds.watch({ type: calicoInstallationResource, needed: false, onChange });
  }

  installation(name: string): Installation | undefined {
    return this.#installations.get(name);
  }

  get synced(): boolean {
    return this.#installations.served === true && this.#installations.settled;
  }

  get unread(): boolean {
    return this.#installations.served !== false && !this.synced;
  }

  get settled(): boolean {
    return this.#blocked() !== undefined || (this.#allKinds().every(({ settled }) => settled) && this.#fieldsKnown);
  }

  servedGenerations(): readonly Generation[] {
    return (["v1", "v3"] as const).filter((generation) => {
      const { plural, group } = resources.IPAMConfiguration[generation];
      return this.kinds.definition(`${plural}.${group}`) !== undefined || this.choice?.generation === generation;
    });
  }

  surroundings(): Surroundings {
    const { choice } = this;
    return {
      datastore: {
        apiGroup: choice === undefined ? UNDECIDED : groupVersion(choice.generation),
        chosenBy: choice?.chosenBy ?? "Not chosen yet",
      },
      servedFields: this.#servedFields,
      servedAttributes: this.#servedAttributes,
      nodes: this.#facts(),
      pools: this.#pools(),
      datastoreLocked: datastoreLocked(this.#group?.information.get("default")),
      foreignIpam: foreignIpam(this.#calicoOperator.list()),
      blocked: this.#blocked(),
    };
  }

  #allKinds(): readonly WatchedKind<KubeObject>[] {
    const always = [this.#installations, this.#nodes, this.#calicoOperator] as const;
    return this.#group === undefined ? always : [...always, ...Object.values(this.#group)];
  }

  #blocked(): Blocked | undefined {
    if (this.kinds.error !== undefined) return blockedBy(this.kinds.error, CRD_TYPE);
    if (this.#installations.served === false) return notInstalled(this.#installations.type);
    if (this.choice === undefined && this.#choiceError !== undefined) return blockedBy(this.#choiceError, undefined);
    for (const kind of this.#allKinds()) {
      if (kind.needed && kind.served === false) return notInstalled(kind.type);
      // What was read before stays true enough through a short outage; without permission it may be stale for ever.
      const stale = kind.error !== undefined && (!kind.settled || isKubeError(kind.error, "Forbidden"));
      if (stale) return blockedBy(kind.error, kind.type);
    }
    return undefined;
  }

  #stateChanged(): void {
    this.#tellBlocked();
    this.#options.onChange();
  }

  #tellBlocked(): void {
    const blocked = this.#blocked();
    const message = blocked?.message ?? "";
    if (message === this.#toldBlocked) return;
    if (blocked !== undefined) this.#options.log.warn({ reason: blocked.reason }, message);
    // While something is still being read it may be the next that is missing.
    else if (this.settled) this.#options.log.info("All that is watched can be read now");
    else return;
    this.#toldBlocked = message;
  }

  /** What is served was asked again: perhaps the API group can be chosen now. */
  async #refreshed(): Promise<void> {
    this.#options.onServed();
    if (this.choice !== undefined) return;
    this.#choosing ??= this.#choose().finally(() => {
      this.#choosing = undefined;
    });
    await this.#choosing;
  }

  async #choose(): Promise<void> {
    try {
      this.choice = await this.#options.chooseGroup();
    } catch (error) {
      this.#choiceError = error;
      return this.#stateChanged();
    }
    this.#choiceError = undefined;
    const { generation, chosenBy } = this.choice;
    this.#options.log.info(`Using ${groupVersion(generation)} (${chosenBy})`);
    this.#group = this.#watchGroup(generation);
    await this.#readServedFields();
    this.#options.onChosen(this.choice);
    this.#stateChanged();
  }

  #watchGroup(generation: Generation): GroupKinds {
    const { onChange } = this.#options;
    const { group, version } = resources.IPAMConfiguration[generation];
    return {
      configuration: this.kinds.watch({ type: resources.IPAMConfiguration[generation], needed: true, onChange }),
      pools: this.kinds.watch({ type: resources.IPPool[generation], needed: false, onChange }),
      information: this.kinds.watch({ type: { group, version, ...CLUSTER_INFORMATION }, needed: false, onChange }),
    };
  }

  async #definitionChanged(name: string): Promise<void> {
    const { choice } = this;
    if (choice && name === definitionOf(choice.generation, "IPAMBlock")) return this.#schemaChanged();
    if (name !== definitionOf("v1") && name !== definitionOf("v3")) return;
    if (this.choice === undefined) return this.kinds.refresh();
    // The choice stays; the roles cover every group that is served.
    if (name !== definitionOf(this.choice.generation)) return this.#options.onServed();
    await this.#schemaChanged();
  }

  async #schemaChanged(): Promise<void> {
    await this.#readServedFields();
    this.#options.onChange();
  }

  async #readServedFields(): Promise<void> {
    const { generation } = this.choice!;
    const [configuration, block] = await Promise.all([
      this.#readDefinition("IPAMConfiguration", generation),
      this.#readDefinition("IPAMBlock", generation),
    ]);
    if (this.#options.signal.aborted) return;
    const { version } = resources.IPAMConfiguration[generation];
    this.#servedFields = configuration && servedFields(configuration, version);
    this.#servedAttributes = block && servedAttributes(block, version);
    this.#fieldsKnown = true;
  }

  /** An API that an aggregated server serves has no definition: all fields are then assumed. */
  async #readDefinition(kind: SchemaKind, generation: Generation): Promise<KubeObject | undefined> {
    const { client, signal, log } = this.#options;
    const name = definitionOf(generation, kind);
    try {
      if (this.kinds.definition(name) === undefined) return undefined;
      return await client.get<KubeObject>(CRD_TYPE, name, { signal });
    } catch (error) {
      if (signal.aborted) return undefined;
      log.warn({ error }, `Cannot read the definition ${name}; all fields are taken to be served`);
      return undefined;
    }
  }

  /** Kubelets write their Node every few minutes; only a changed fact is worth a look. */
  #nodeChanged(name: string): void {
    const node = this.#nodes.get(name);
    const facts = node === undefined ? undefined : JSON.stringify(nodeFacts(node));
    if (this.#nodeFacts.get(name) === facts) return;
    if (facts === undefined) this.#nodeFacts.delete(name);
    else this.#nodeFacts.set(name, facts);
    this.#options.onChange();
  }

  #pools(): IPPool[] {
    const { choice } = this;
    if (choice === undefined) return [];
    const stored = this.#group?.pools.list() ?? [];
    return stored.flatMap((pool) => this.#options.readPool(choice.generation, pool) ?? []);
  }

  #facts(): NodeFacts[] {
    return this.#nodes.list().map(nodeFacts);
  }
}

function groupVersion(generation: Generation): string {
  const { group, version } = resources.IPAMConfiguration[generation];
  return `${group}/${version}`;
}
function definitionOf(generation: Generation, kind: SchemaKind = "IPAMConfiguration"): string {
  const { plural, group } = resources[kind][generation];
  return `${plural}.${group}`;
}
