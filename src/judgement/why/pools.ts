/** Which pools the next address may come from; where there is none, why. */
import { isIpamError } from "../../ipam/errors.ts";
import { choosePools } from "../../ipam/pool-choice.ts";
import { isCalled, isEnabled, type Pool } from "../../ipam/pools.ts";
import { selectorProblem, selectsNamespace, selectsNode } from "../../ipam/selection.ts";
import type { IpVersion } from "../../net/address.ts";
import type { Inventory } from "../inventory.ts";
import { editCommand, enableCommand } from "../mend.ts";
import { quoted } from "../shell.ts";
import { type Asking, requestedPools } from "./asking.ts";
import type { Cause, CauseCode } from "./codes.ts";

export interface Chosen {
  readonly usable: readonly Pool[];
  /** Set where none is usable. */
  readonly refusal?: Pick<Cause, "code" | "message" | "command">;
}

interface Labelled {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
}

/** The library itself chooses; where it finds none, its words say why of each pool, and the code which kind of why. */
export function chosenPools(inventory: Inventory, asking: Asking, version: IpVersion): Chosen {
  const { pools } = inventory;
  const { node, namespace } = labelled(inventory, asking);
  const requested = requestedPools(inventory, asking, version);
  const query = { version, requested, host: asking.host, node, namespace, use: "Workload" };
  try {
    return { usable: choosePools(pools, query).usable };
  } catch (error) {
    if (!isIpamError(error)) throw error;
    const code = refusalCode(inventory, asking, version);
    const message = [error.message, ...(error.details ?? [])].join("; ");
    return { usable: [], refusal: { code, message, command: commandFor(code, inventory, asking, version) } };
  }
}

/** Labels of what the snapshot does not know are none, as to the library. */
export function labelled({ snapshot }: Inventory, { host, namespace }: Asking) {
  const node = snapshot.nodes?.find(({ name }) => name === host);
  const space = snapshot.namespaces?.find(({ name }) => name === namespace);
  const of = (labels: Readonly<Record<string, string>> = {}): Labelled => ({ metadata: { labels } });
  return { node: of(node?.labels), namespace: of(space?.labels) };
}

/** The first sieve that leaves no pool. Pools that are not for pods say nothing about why a pod gets none. */
function refusalCode(inventory: Inventory, asking: Asking, version: IpVersion): CauseCode {
  const { node, namespace } = labelled(inventory, asking);
  const family = inventory.pools.filter(({ cidr }) => cidr.version === version);
  const forPods = family.filter(({ allowedUses }) => allowedUses.includes("Workload"));
  const enabled = forPods.filter(isEnabled);
  if (family.length === 0) return "NoPool";
  const requested = requestedPools(inventory, asking, version);
  if (requested.length > 0)
    return isMissing(requested, family.filter(isEnabled)) ? "AskedPoolMissing" : "UseNotAllowed";
  if (forPods.length === 0) return "UseNotAllowed";
  if (enabled.length === 0) return "PoolsClosed";
  const automatic = enabled.filter(({ source }) => (source.spec.assignmentMode ?? "Automatic") === "Automatic");
  if (automatic.length === 0) return "OnlyManualPools";
  try {
    const ofNode = automatic.filter(({ source }) => selectsNode(source, node));
    if (ofNode.length === 0) return "NodeNotSelected";
    return ofNode.some(({ source }) => selectsNamespace(source, namespace)) ? "PoolsClosed" : "NamespaceNotSelected";
  } catch (error) {
    if (isIpamError(error, "MalformedObject")) return "UnreadableSelector";
    throw error;
  }
}

const isMissing = (requested: readonly string[], enabled: readonly Pool[]) =>
  requested.some((text) => !enabled.some((pool) => isCalled(pool, text)));

function commandFor(code: CauseCode, inventory: Inventory, asking: Asking, version: IpVersion): string {
  const { pools, snapshot } = inventory;
  const { host, namespace } = asking;
  const isBroken = (pool: Pool) => pool.cidr.version === version && selectorProblem(pool.source) !== undefined;
  const unreadable = code === "UnreadableSelector" ? pools.find(isBroken) : undefined;
  if (unreadable) return editCommand({ kind: "IPPool", name: unreadable.name }, snapshot);
  const disabled =
    code === "PoolsClosed" || code === "AskedPoolMissing" ? disabledPool(inventory, asking, version) : undefined;
  if (disabled) return enableCommand(disabled, snapshot);
  if (code === "NodeNotSelected") return `kubectl get node ${quoted(host)} --show-labels`;
  if (code === "NamespaceNotSelected" && namespace) return `kubectl get namespace ${quoted(namespace)} --show-labels`;
  return "ipamctl show -o wide";
}

/** Of the pools that were asked for, or of all, the first that only has to be enabled. */
function disabledPool(inventory: Inventory, asking: Asking, version: IpVersion): Pool | undefined {
  const asked = requestedPools(inventory, asking, version);
  return inventory.pools.find((pool) => {
    const { source, cidr, allowedUses } = pool;
    const enabled = { ...pool, source: { ...source, spec: { ...source.spec, disabled: false } } };
    const isWanted = asked.length === 0 || asked.some((text) => isCalled(pool, text));
    const isForPods = cidr.version === version && allowedUses.includes("Workload");
    return isWanted && isForPods && source.spec.disabled === true && isEnabled(enabled);
  });
}
