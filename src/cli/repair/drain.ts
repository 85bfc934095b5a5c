/**
 * Blocks that are removed in steps, because pods may run in them: one that overlaps another, has a size that is not its
 * pool's, or is in no pool. Each run does what is safe by then, and says what is left for people.
 */
import { plural } from "../../api/plural.ts";
import type { IPAMBlock } from "../../api/v3.ts";
import { isEmpty, rangeOf } from "../../ipam/block.ts";
import { problemOf } from "../../ipam/block-problem.ts";
import { addressTexts, allocationAt, allocationsOf } from "../../judgement/allocations.ts";
import { type Usages, usageOf } from "../../judgement/in-use.ts";
import { type Inventory, inventoryOf } from "../../judgement/inventory.ts";
import { nodeOwner } from "../../judgement/owners.ts";
import { quoted } from "../../judgement/shell.ts";
import { podName } from "../../judgement/users.ts";
import { parseAddress } from "../../net/address.ts";
import { unlessLost } from "../writing/as-seen.ts";
import type { Item } from "../writing/plan.ts";
import { stored } from "./copy.ts";
import type { Mender } from "./mending.ts";

interface DrainedPod {
  readonly namespace: string;
  readonly name: string;
  readonly node?: string | undefined;
  readonly address: string;
}

/** What keeps the block from being deleted. */
interface Left {
  readonly pods: readonly DrainedPod[];
  /** In use by something else than a pod, or nobody can say: `10.0.0.1 (node node-a is there)`. */
  readonly others: readonly string[];
  /** Allocated, and surely in use by nobody. */
  readonly leaked: readonly string[];
  /** Cooling down. */
  readonly cooling: number;
}

/** Of the plan: which block stays, which goes, and whose pods have to move. */
export function drainItem(inventory: Inventory, name: string, message: string): Partial<Item> {
  const block = inventory.blocks.find(({ metadata }) => metadata.name === name);
  if (block === undefined) return {};
  const { cidr, affinity } = block.spec;
  const left = leftIn(inventory, block);
  const stays = inventory.index.overlapping(block).map(({ spec }) => spec.cidr);
  const steps = [
    ...(stays.length > 0 ? [`${stays.join(", ")} stays, and ${cidr} goes`] : [`${cidr} goes`]),
    ...(affinity !== undefined
      ? [`its affinity (${affinity}) is released, so that nothing new is allocated from it`]
      : []),
    ...leftSteps(left),
    "it is deleted when it is empty",
  ];
  const facts = { stays, goes: cidr, pods: left.pods };
  return { action: "remove", why: `${message}. Plan: ${steps.join("; ")}`, facts };
}

/** Releases the affinity of a block that holds addresses; deletes one that holds none and is surely in use by nobody. */
export const removeBlock: Mender = async (mending, [{ object, code }]) => {
  const { looks, datastore, ipam, ownersNow } = mending;
  const seen = looks.inventory.blocks.find(({ metadata }) => metadata.name === object.name);
  const block = (await stored(datastore, "IPAMBlock", object.name)) as typeof seen;
  if (block === undefined) return "is gone";
  if (block.metadata.uid !== seen?.metadata.uid) return "was created again since it was looked at";
  const problem = problemOf(block);
  if (problem !== undefined) return `cannot be removed while it is malformed: ${problem}`;
  const { affinity } = block.spec;
  if (affinity !== undefined && nodeOwner(block) === undefined) return `is for ${affinity} to release`;
  const now = inventoryOf(
    await ownersNow(looks.inventory.snapshot, { blocks: [block], allocations: [...allocationsOf(block)] }),
  );
  const steps = leftSteps(leftIn(now, block));
  const { inUse, because } = usageOf(now.snapshot).ofEmpty(block);
  if (isEmpty(block) && inUse === "no" && steps.length === 0) {
    const deleting = affinity === undefined ? datastore.delete(block as never) : ipam.releaseBlockAffinity(block, true);
    return (await unlessLost(deleting)) ?? { action: "delete", why: `${block.spec.cidr} was empty, and is deleted` };
  }
  const rest = `left to do: ${(steps.length > 0 ? steps : [because]).join("; ")}; then run ipamctl repair ${code} again`;
  if (affinity === undefined || isEmpty(block)) return rest; // an empty block would go with its affinity
  const lost = await unlessLost(ipam.releaseBlockAffinity(block, false));
  return lost ?? { action: "release affinity", why: `${affinity} has ${block.spec.cidr} no more; ${rest}` };
};

function leftIn({ snapshot }: Inventory, block: IPAMBlock): Left {
  const usages = usageOf(snapshot);
  const pods: DrainedPod[] = [];
  const [others, leaked]: [string[], string[]] = [[], []];
  let cooling = 0;
  for (const address of Array.from(block.spec.allocations.keys(), addressTexts(rangeOf(block)))) {
    const allocation = allocationAt(block, parseAddress(address)!);
    if (allocation === undefined && isElsewhere(usages, address)) continue;
    const found = podsAt(usages, address);
    pods.push(...found);
    if (found.length > 0) continue;
    if (allocation?.releasedAt !== undefined) cooling++;
    const { inUse, because } = allocation ? usages.of(allocation) : usages.at(address);
    if (inUse !== "no" && (allocation || inUse === "yes")) others.push(`${address} (${because})`);
    else if (allocation && allocation.releasedAt === undefined) leaked.push(address);
  }
  return { pods, others, leaked, cooling };
}

/** Where blocks overlap, an address that another block holds is that block's. */
const isElsewhere = (usages: Usages, address: string) => usages.allocationsAt(address).length > 0;

function podsAt(usages: Usages, address: string): DrainedPod[] {
  return usages.usersOf(address).flatMap((user) => {
    if (user.kind !== "Pod") return [];
    const { namespace, name, node } = user.of;
    return [{ namespace, name, node, address }];
  });
}

const podText = (pod: DrainedPod) => `${podName(pod)}${pod.node ? ` on ${pod.node}` : ""} (${pod.address})`;
const deleteCommand = ({ namespace, name }: DrainedPod) => `kubectl delete pod -n ${quoted(namespace)} ${quoted(name)}`;

/** What people do, each a clause. */
function leftSteps({ pods, others, leaked, cooling }: Left): string[] {
  return [
    ...(pods.length > 0 ? [`delete the pods ${pods.map(podText).join(", ")}, first: ${deleteCommand(pods[0]!)}`] : []),
    ...(others.length > 0 ? [`release ${others.join(", ")} when nothing uses it`] : []),
    ...(leaked.length > 0 ? [`free ${leaked.join(", ")}, which nothing uses, with ipamctl gc`] : []),
    ...(cooling > 0 ? [`wait for ${plural(cooling, "address")} to cool down`] : []),
  ];
}
