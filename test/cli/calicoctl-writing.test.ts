/** What `calicoctl ipam release` and `configure` were recorded to do: the same calls do the same here. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createIpam } from "../../src/ipam/client.ts";
import { emptySnapshot } from "../../src/judgement/snapshot.ts";
import { configuration, pool } from "../support/ipam-data.ts";
import { NOW } from "./sound.ts";
import { rowsOf, siteOf } from "./writing-site.ts";

interface Call {
  readonly op?: string;
  readonly args: readonly string[];
  readonly rc: number;
  readonly stdout: string;
  readonly stderr: string;
}
const { steps } = JSON.parse(readFileSync(new URL("../golden/calicoctl.v3.json", import.meta.url), "utf8")) as {
  steps: Call[];
};
const calls = steps.filter(({ op, args }) => op === undefined && ["release", "configure"].includes(args[1]!));

it("the recorded calls, one after the other", async () => {
  const site = await siteOf({
    ...emptySnapshot(NOW.toISOString()),
    pools: [pool("p4", "10.0.0.0/28", { blockSize: 30 })],
    configurations: [configuration({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 600 })],
    pods: [],
    nodes: [],
    services: [],
  });
  await site.change((datastore) =>
    createIpam({ datastore, clock: () => NOW, windowsHost: false }).assignIP({
      ip: "10.0.0.0",
      hostname: "node-2",
      handleID: "m",
      attrs: { node: "node-2", pod: "pod-m", namespace: "ns" },
    }),
  );
  expect(calls.map(({ args }) => args.slice(1).join(" "))).toHaveLength(4);
  for (const { args, rc, stdout, stderr } of calls) {
    const ran = await site.run([...args.slice(1), "--yes", "-o", "json"], { ask: undefined });
    expect(ran.code, args.join(" ")).toBe(rc);
    if (rc !== 0) {
      expect(ran.stderr).toContain(stderr.replace(/^error: /, "").trim());
      continue;
    }
    const [item] = JSON.parse(ran.stdout).items;
    const [, field, value] = /Successfully set (\w+) to: (\w+)/.exec(stdout) ?? [];
    if (field === undefined) expect(rowsOf(ran)).toEqual(["done release 10.0.0.0"]);
    else expect(String(item.effective[field[0]!.toLowerCase() + field.slice(1)])).toBe(value);
  }
  const { configurations, blocks } = await site.snapshot();
  expect(configurations[0]!.spec).toEqual({
    strictAffinity: true,
    autoAllocateBlocks: true,
    maxBlocksPerHost: 3,
    ipCooldownSeconds: 600,
  });
  expect(blocks[0]!.spec.attributes).toEqual([{ releasedAt: "2026-01-02T12:00:00Z" }]);
});
