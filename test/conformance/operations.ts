/** The recorded operations through the library's interface: arguments by its names, answers in the form of the recording. */
import { type AutoAssignResult, partialFulfillmentError, partialResult } from "../../src/ipam/assignments.ts";
import type { Ipam } from "../../src/ipam/client.ts";
import type { IntendedUse } from "../../src/ipam/pools.ts";
import type { ReleaseResult } from "../../src/ipam/release.ts";
import type { Step } from "./recording.ts";
import { callOf, outcomeOf } from "./recording-log.ts";
import type { Scene } from "./scenario.ts";

/** What an operation came to. */
export interface Answer {
  readonly result: unknown;
  readonly error?: unknown;
}

type Args = Step["args"];
// biome-ignore lint/suspicious/noExplicitAny: the recording's arguments are as its operations have them
type Run = (scene: Scene, args: any) => Promise<unknown>;

/** Runs a step as a recorded call; one that fails answers with what was done before. */
export async function perform(scene: Scene, step: Step): Promise<Answer> {
  const { op, args } = step;
  const run = OPERATIONS[op];
  if (run === undefined) throw new Error(`operation ${op} of the recording is not replayed`);
  const partial = (error: unknown) => PARTIAL[op]?.(error) ?? null;
  const told = (ok: boolean, result: unknown) => outcomeOf({ ...step, ok, result });
  const call = scene.recorder.call(
    callOf(step),
    () => run(scene, args),
    (result) => told(true, result),
    (error) => told(false, partial(error)),
  );
  return call.then(
    (result) => ({ result: result ?? null }),
    (error) => ({ result: partial(error), error }),
  );
}

const OPERATIONS: Readonly<Record<string, Run>> = {
  EnsureIPPool: (scene, args) => scene.ensurePool(args),
  EnsureIPReservation: (scene, args) => scene.ensureReservation(args),
  EnsureNode: async (scene, args) => scene.ensureNode(args),
  SetIPAMConfig: async ({ ipam }, { config }) => void (await ipam.setIPAMConfig(configOf(config))),
  AutoAssign: async ({ ipam }, args) => assigned(await ipam.autoAssign({ ...autoAssignArgs(args) })),
  AssignIP: ({ ipam }, args) => ipam.assignIP({ ...takerOf(args), ip: args.ip, intendedUse: args.use }),
  ReleaseIPs: async ({ ipam }, { releases }) => released(await ipam.releaseIPs(releases.map(releaseOf))),
  ReleaseByHandle: ({ ipam }, { handle }) => ipam.releaseByHandle(handle),
  IPsByHandle: async ({ ipam }, { handle }) => ({ ips: await ipam.ipsByHandle(handle) }),
  GetAssignmentAttributes: async ({ ipam }, { ip }) => attributes(await ipam.getAssignmentAttributes(ip)),
  SetOwnerAttributes: ({ ipam }, { ip, handle, updates, preconditions }) =>
    ipam.setOwnerAttributes(ip, handle, updates, preconditionsOf(preconditions)),
  ClaimAffinity: ({ ipam }, { cidr, ...owner }) => ipam.claimAffinity(cidr, ownerOf(owner)),
  ReleaseAffinity: ({ ipam }, { cidr, host, mustBeEmpty = false }) => ipam.releaseAffinity(cidr, host, mustBeEmpty),
  ReleaseBlockAffinity: async (scene, { cidr, mustBeEmpty = false }) =>
    scene.ipam.releaseBlockAffinity(await scene.block(cidr), mustBeEmpty),
  ReleaseHostAffinities: ({ ipam }, { mustBeEmpty = false, ...owner }) =>
    ipam.releaseHostAffinities(ownerOf(owner), mustBeEmpty),
  ReleasePoolAffinities: ({ ipam }, { cidr }) => ipam.releasePoolAffinities(cidr),
  RemoveIPAMHost: ({ ipam }, owner) => ipam.removeIPAMHost(ownerOf(owner)),
  GarbageCollectColdIPs: async (scene, { cidr, config }) =>
    scene.ipam.garbageCollectColdIPs({ ipCooldownSeconds: config.ipCooldownSeconds }, await scene.block(cidr)),
  GetUtilization: async ({ ipam }) =>
    (await ipam.getUtilization()).map(({ blocks, ...counts }) => ({
      ...utilization(counts),
      blocks: blocks.map(utilization),
    })),
};

/** What the reference returned beside an error. */
const PARTIAL: Readonly<Record<string, (error: unknown) => unknown>> = {
  AutoAssign: (error) => assigned((partialResult(error) ?? { v4: null, v6: null }) as AutoAssignResult),
  ReleaseIPs: (error) =>
    released((partialResult(error) ?? { processed: [], unallocated: [] }) as unknown as ReleaseResult),
  ClaimAffinity: (error) => partialResult(error) ?? { claimed: [], failed: [] },
  IPsByHandle: () => ({ ips: [] }),
};

const configOf = (config: Record<string, unknown>): Parameters<Ipam["setIPAMConfig"]>[0] => ({
  strictAffinity: config["StrictAffinity"] as boolean,
  autoAllocateBlocks: config["AutoAllocateBlocks"] as boolean,
  maxBlocksPerHost: (config["MaxBlocksPerHost"] as number | undefined) ?? 0,
  ipCooldownSeconds: (config["ipCooldownSeconds"] as number | undefined) ?? 0,
});

const takerOf = (args: Args) => ({
  handleID: args["handle"] as string | undefined,
  attrs: args["attrs"] as Record<string, string> | undefined,
  hostname: args["host"] as string | undefined,
  maxAllocToHandlePerIPVersion: args["maxAlloc"] as number | undefined,
});

const autoAssignArgs = (args: Args) => ({
  ...takerOf(args),
  num4: args["num4"] as number | undefined,
  num6: args["num6"] as number | undefined,
  intendedUse: args["use"] as IntendedUse,
  maxBlocksPerHost: args["maxBlocksPerHost"] as number | undefined,
});

const releaseOf = ({ address, handle, seq }: { address: string; handle?: string; seq?: string }) => ({
  address,
  handle,
  sequenceNumber: seq === undefined ? undefined : BigInt(seq),
});

const ownerOf = ({ host, affinityType = "host" }: { host: string; affinityType?: "host" | "virtual" }) => ({
  host,
  affinityType,
});

type GoOwner = { readonly Namespace: string; readonly Name: string };
function preconditionsOf({
  expectedActiveOwner,
  expectedAlternateOwner,
  ...rest
}: {
  expectedActiveOwner?: GoOwner;
  expectedAlternateOwner?: GoOwner;
} = {}) {
  const owner = (given: GoOwner | undefined) => given && { namespace: given.Namespace, name: given.Name };
  return {
    ...rest,
    expectedActiveOwner: owner(expectedActiveOwner),
    expectedAlternateOwner: owner(expectedAlternateOwner),
  };
}

function assigned({ v4, v6 }: AutoAssignResult) {
  const [four, six] = [v4, v6].map(
    (family) =>
      family && {
        ipVersion: family.ipVersion,
        ips: family.ips,
        msgs: family.msgs.length > 0 ? family.msgs : null,
        numRequested: family.numRequested,
        partialFulfillmentError: partialFulfillmentError(family),
      },
  );
  return { v4: four, v6: six };
}

const released = ({ processed, unallocated }: ReleaseResult) => ({
  released: processed.map(({ address, handle = "", sequenceNumber }) => ({
    Address: address,
    Handle: handle,
    SequenceNumber: sequenceNumber?.toString() ?? null,
  })),
  unallocated,
});

const attributes = ({
  handleID,
  activeOwnerAttrs,
  alternateOwnerAttrs,
}: Awaited<ReturnType<Ipam["getAssignmentAttributes"]>>) => ({
  handle_id: handleID,
  secondary: isEmpty(activeOwnerAttrs) ? undefined : activeOwnerAttrs,
  alternateOwnerAttrs: isEmpty(alternateOwnerAttrs) ? undefined : alternateOwnerAttrs,
});
const isEmpty = (map: object) => Object.keys(map).length === 0;

/** Without the count of what cools down, which the reference does not give. */
const utilization = <T extends { readonly inCooldown: bigint }>({ inCooldown: _own, ...counts }: T) =>
  Object.fromEntries(
    Object.entries(counts).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]),
  );
