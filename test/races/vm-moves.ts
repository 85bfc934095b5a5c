/** Virtual machines in a race: they move from pod to pod, and nobody else may change whose they are. */
import { ownerSubject, pick, type Racing } from "./racing.ts";

const namespace = "race";

/** A VM moves to a new pod: named as the alternate owner first, then put in the place of the active one. */
export async function migrate(racing: Racing, vms: readonly string[]): Promise<void> {
  const handle = pick(vms);
  const target = racing.newName("pod");
  await racing.change(ownerSubject(handle), target, async () => {
    const alternateOwnerAttrs = { namespace, pod: target };
    for (const ip of racing.held.get(handle)!) {
      await racing.ipam.setOwnerAttributes(ip, handle, { alternateOwnerAttrs });
    }
    await racing.ipam.swapOwners(handle, { namespace, name: target });
  });
}

/** @throws Error where an address of a VM is another pod's than the one it was moved to */
export async function checkOwner(racing: Racing, handle: string, ips: readonly string[]): Promise<void> {
  const expected = racing.values.get(ownerSubject(handle));
  if (expected === undefined) return;
  for (const ip of ips) {
    const { activeOwnerAttrs } = await racing.ipam.getAssignmentAttributes(ip);
    const { pod } = activeOwnerAttrs;
    if (pod !== expected) throw new Error(`${ip} of ${handle} is for ${pod}; it was moved to ${expected}`);
  }
}
