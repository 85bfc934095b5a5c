/** Errors and warnings name the configuration as the API group of the data does. */
import { expect, test } from "vitest";
import { errorOf, world } from "../../test/support/ipam.ts";
import { kindIn } from "../api/kind-names.ts";
import type { IpamError } from "./errors.ts";

const pools = { pools: [["10.0.0.0/28", 30]] } as const;
const asked = { hostname: "host-a", intendedUse: "Workload" } as const;

test("a configuration that is refused, one that cannot be used, and what limits a host", async () => {
  await using w = await world(pools);
  const name = `${kindIn(w.store.description, "IPAMConfiguration")} "default"`;
  expect((await errorOf(w.ipam.setIPAMConfig({ maxBlocksPerHost: 3 }))).message).toMatch(
    new RegExp(`^${name} is refused`),
  );
  await w.ipam.setIPAMConfig({ strictAffinity: true, maxBlocksPerHost: 1 });
  await w.ipam.autoAssign({ num4: 4, ...asked });
  const limited = (await errorOf(w.ipam.autoAssign({ num4: 1, ...asked }))) as IpamError;
  expect(limited.details?.join("; ")).toContain(`maxBlocksPerHost of ${name}`);
  const stored = await w.store.get("IPAMConfiguration", "default");
  await w.store.update({ ...stored, spec: { strictAffinity: false, autoAllocateBlocks: false } });
  expect((await errorOf(w.ipam.getIPAMConfig())).message).toMatch(new RegExp(`^${name} cannot be used`));
});
