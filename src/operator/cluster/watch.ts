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
import { installationResource } from "../../api/resources.ts";
import type { IPPool } from "../../api/v3.ts";
import { MIGRATION } from "../../datastore/api-group.ts";
import { apiGroups } from "../../datastore/flavours.ts";
import type { OnTaskFailure } from "../../kube/background.ts";
import { isKubeError, type KubeClient, type ResourceType } from "../../kube/types.ts";
import { blockedBy, groupGone, notInstalled } from "./blocked.ts";
import { nodeFacts, slimNode } from "./facts.ts";
import { definitionOf, type Generation, type GroupChoice, GroupWatch } from "./group-watch.ts";
import { CRD_TYPE, createServedKinds, type ServedKinds, type WatchedKind } from "./served-kinds.ts";

export interface ClusterWatchOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly idleTimeoutMs: number;
  readonly retryMs: number;
  /** Asked until it succeeds, and again when the group in use is gone or a migration has changed. */
  readonly chooseGroup: () => Promise<GroupChoice>;
  /** Called for the first group, and for each that follows it. */
  readonly onChosen: (choice: GroupChoice) => void;
  /** Reads a pool as stored in the chosen group; undefined where it cannot be read. */
  readonly readPool: (generation: Generation, stored: KubeObject) => IPPool | undefined;
  /** Anything that may change what the reconciler decides. */
  readonly onChange: () => void;
  /** The set of served kinds may have changed. */
  readonly onServed: () => void;
  /** See ServedKindsOptions. */
  readonly onTaskFailure: OnTaskFailure;
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

export function watchCluster(options: ClusterWatchOptions): ClusterWatch {
  return new Watch(options);
}

class Watch implements ClusterWatch {
  readonly #options: ClusterWatchOptions;
  readonly #installations: WatchedKind<Installation & KubeObject>;
  readonly #nodes: WatchedKind<KubeObject>;
  readonly #calicoOperator: WatchedKind<KubeObject>;
  readonly #nodeFacts = new Map<string, string>();
  readonly kinds: ServedKinds;
  #group: GroupWatch | undefined;
  /** What is changed over to once it has been read. */
  #next: GroupWatch | undefined;
  #choosing: Promise<void> | undefined;
  #mustChoose = true;
  #choiceError: unknown;
  #toldBlocked = "";
  choice: GroupChoice | undefined;

  constructor(options: ClusterWatchOptions) {
    this.#options = options;
    const { client, log, signal, idleTimeoutMs, retryMs, onChange, onTaskFailure } = options;
    this.kinds = createServedKinds({
      client,
      log,
      signal,
      idleTimeoutMs,
      retryMs,
      onTaskFailure,
      onState: () => this.#stateChanged(),
      incomplete: () => this.#mustChoose || this.#assumed().length > 0,
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
    this.kinds.watch({ type: MIGRATION, needed: false, onChange: () => this.#chooseAgain() });
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
    if (this.#blocked() !== undefined) return true;
    return this.#group?.settled === true && this.#allKinds().every(({ settled }) => settled);
  }

  servedGenerations(): readonly Generation[] {
    return (["v1", "v3"] as const).filter(
      (generation) => this.#isDefined(generation) || (this.choice?.generation === generation && !this.#group?.isGone),
    );
  }

  surroundings(): Surroundings {
    const { choice } = this;
    return {
      datastore: {
        apiGroup: choice === undefined ? UNDECIDED : groupVersion(choice.generation),
        chosenBy: choice?.chosenBy ?? "Not chosen yet",
      },
      servedFields: this.#group?.servedFields,
      servedAttributes: this.#group?.servedAttributes,
      nodes: this.#facts(),
      pools: this.#group?.pools() ?? [],
      datastoreLocked: this.#group?.locked ?? false,
      foreignIpam: foreignIpam(this.#calicoOperator.list()),
      blocked: this.#blocked(),
    };
  }

  #allKinds(): readonly WatchedKind<KubeObject>[] {
    const always = [this.#installations, this.#nodes, this.#calicoOperator] as const;
    return [...always, ...(this.#group?.kinds ?? []), ...(this.#next?.kinds ?? [])];
  }

  #blocked(): Blocked | undefined {
    if (this.kinds.error !== undefined) return blockedBy(this.kinds.error, CRD_TYPE);
    if (this.#installations.served === false) return notInstalled(this.#installations.type);
    if (this.choice === undefined && this.#choiceError !== undefined) return blockedBy(this.#choiceError, undefined);
    const moved = this.#moved();
    if (moved) return moved;
    for (const kind of this.#allKinds()) {
      if (kind.needed && kind.served === false) return notInstalled(kind.type);
      // What was read before stays true enough through a short outage; without permission it may be stale for ever.
      const stale = kind.error !== undefined && (!kind.settled || isKubeError(kind.error, "Forbidden"));
      if (stale) return blockedBy(kind.error, kind.type);
    }
    return undefined;
  }

  /** Never advises to install the group in use again where the other one is there: its data has moved. */
  #moved(): Blocked | undefined {
    const { choice } = this;
    const [configuration] = this.#group?.kinds ?? [];
    if (choice === undefined || configuration?.served !== false) return undefined;
    const other = choice.generation === "v1" ? "v3" : "v1";
    return this.#isDefined(other) ? groupGone(configuration.type, groupVersion(other), choice) : undefined;
  }

  #isDefined(generation: Generation): boolean {
    return this.kinds.definition(definitionOf(generation)) !== undefined;
  }

  #stateChanged(): void {
    if (this.#next?.settled) this.#use(this.#next);
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

  /** What is served was asked again: perhaps the API group can be chosen now, or must be chosen again. */
  async #refreshed(): Promise<void> {
    this.#options.onServed();
    for (const group of this.#assumed()) {
      await group.readFields();
      this.#stateChanged();
    }
    if (this.#group?.isGone) this.#mustChoose = true;
    if (!this.#mustChoose) return;
    this.#choosing ??= this.#choose().finally(() => {
      this.#choosing = undefined;
    });
    await this.#choosing;
  }

  /** Groups of which a definition could not be read. */
  #assumed(): GroupWatch[] {
    return [this.#group, this.#next].filter((group) => group?.fieldsAssumed === true) as GroupWatch[];
  }

  #chooseAgain(): void {
    this.#mustChoose = true;
    this.kinds.ask();
  }

  /** Once more when something has changed meanwhile; a failure is tried again with the next look at what is served. */
  async #choose(): Promise<void> {
    do {
      this.#mustChoose = false;
      this.#choiceError = undefined;
      try {
        await this.#follow(await this.#options.chooseGroup());
      } catch (error) {
        this.#choiceError = error;
      }
      this.#stateChanged();
    } while (this.#mustChoose && this.#choiceError === undefined && !this.#options.signal.aborted);
    if (this.#choiceError !== undefined) this.#mustChoose = true;
  }

  /** While a group is in use, another takes its place only when it is gone or a migration to the other has finished. */
  async #follow(choice: GroupChoice): Promise<void> {
    const { generation, by, chosenBy } = choice;
    const group = this.#next ?? this.#group;
    if (group?.choice.generation === generation) {
      if (group === this.#group) this.choice = choice;
      return;
    }
    if (group && !(group.isGone || by === "migration")) return;
    const next = new GroupWatch(choice, { ...this.#options, kinds: this.kinds });
    if (this.#group === undefined) this.choice = choice;
    else this.#options.log.info(`Changing over to ${groupVersion(generation)} (${chosenBy})`);
    await next.readFields();
    this.#next?.stop();
    this.#next = next;
  }

  #use(group: GroupWatch): void {
    this.#next = undefined;
    this.#group?.stop();
    this.#group = group;
    this.choice = group.choice;
    this.#options.log.info(`Using ${groupVersion(group.choice.generation)} (${group.choice.chosenBy})`);
    this.#options.onChosen(group.choice);
    this.#options.onServed();
  }

  async #definitionChanged(name: string): Promise<void> {
    const groups = [this.#group, this.#next].filter((group) => group?.hasFieldsIn(name));
    await Promise.all(groups.map((group) => group?.readFields()));
    if (groups.length > 0) return this.#stateChanged();
    if (name !== definitionOf("v1") && name !== definitionOf("v3")) return;
    if (this.choice === undefined) return this.kinds.refresh();
    // The choice stays; the roles cover every group that is served.
    this.#options.onServed();
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

  #facts(): NodeFacts[] {
    return this.#nodes.list().map(nodeFacts);
  }
}

const groupVersion = (generation: Generation): string => apiGroups[generation];
