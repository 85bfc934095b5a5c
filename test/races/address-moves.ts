/** What a racer does with addresses: takes them in each way, gives them back in each way, ends what was cut off. */
import { blockName } from "../../src/api/names.ts";
import type { AutoAssignResult } from "../../src/ipam/assignments.ts";
import { isIpamError } from "../../src/ipam/errors.ts";
import { canonicalCidr } from "../../src/net/cidr.ts";
import { addressIn, below, POOLS, pick, type Racing } from "./racing.ts";
import { checkOwner } from "./vm-moves.ts";

/** `call` gives the addresses with their block's prefix length. */
async function take(
  racing: Racing,
  handle: string,
  by: "autoAssign" | "assignIP",
  call: () => Promise<readonly string[]>,
): Promise<void> {
  racing.note("taking", handle, { by });
  const masked = await call();
  const ips = masked.map((ip) => ip.split("/")[0]!);
  racing.held.set(handle, ips);
  racing.note("got", handle, { ips, ...(!racing.options.cached && { owners: await ownersOf(racing, masked) }) });
  if (ips.length === 0) racing.held.delete(handle);
}

async function ownersOf({ store }: Racing, masked: readonly string[]): Promise<string[]> {
  const names = new Set(masked.map((ip) => blockName(canonicalCidr(ip)!)));
  return Promise.all(
    Array.from(names, async (name) => {
      const { spec } = await store.get("IPAMBlock", name);
      return spec.affinity ?? "";
    }),
  );
}

const all = ({ v4, v6 }: AutoAssignResult) => [...(v4?.ips ?? []), ...(v6?.ips ?? [])];

export const autoAssign = (racing: Racing) => {
  const handleID = racing.newName("pod");
  const args = { num4: 1 + below(3), num6: below(3), handleID, intendedUse: "Workload" } as const;
  return take(racing, handleID, "autoAssign", async () => all(await racing.ipam.autoAssign(args)));
};

/** One address of each family for good, whoever it is for. */
export const takeVm = async (racing: Racing) => {
  const handleID = racing.newName("vm");
  const attrs = { namespace: "race", pod: "first", node: racing.options.host };
  const args = { num4: 1, num6: 1, handleID, attrs, maxAllocToHandlePerIPVersion: 1, intendedUse: "Workload" } as const;
  await take(racing, handleID, "autoAssign", async () => all(await racing.ipam.autoAssign(args)));
};

/** A particular address, which another may have, or strict affinity refuse. */
export const assignIP = (racing: Racing) => {
  const handleID = racing.newName("pod");
  const six = Math.random() < 0.3;
  const ip = addressIn(six, below(six ? 64 : 256));
  return take(racing, handleID, "assignIP", async () => {
    try {
      await racing.ipam.assignIP({ ip, handleID });
      return [`${ip}/${POOLS[six ? 1 : 0].blockSize}`];
    } catch (error) {
      if (isIpamError(error, "AlreadyExists", "AffinityMismatch")) return [];
      throw error;
    }
  });
};

export async function release(racing: Racing): Promise<void> {
  const [handle, ips] = pick([...racing.held]);
  await checkOwner(racing, handle, ips);
  racing.held.delete(handle);
  racing.note("releasing", handle, { ips });
  if (Math.random() < 0.5) await racing.ipam.releaseByHandle(handle);
  else await racing.ipam.releaseIPs(ips.map((address) => ({ address, handle })));
  racing.note("released", handle, { ips });
}

/** What was cut off is ended first, as the next call of whoever died would. */
export async function recover(racing: Racing, handle: string): Promise<void> {
  racing.cutOff.delete(handle);
  racing.note("recovering", handle);
  await racing.ipam.releaseByHandle(handle).catch((error: unknown) => {
    if (!isIpamError(error, "NotFound")) throw error;
  });
  racing.note("released", handle);
}
