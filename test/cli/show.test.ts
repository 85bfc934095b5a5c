/** `ipamctl show` by situation: exit code, what stands on standard output, what is said beside it. */
import { describe, expect, it } from "vitest";
import { pool, usedBlock } from "../support/ipam-data.ts";
import { ipamctl, rows } from "./ipamctl.ts";
import { ofPod, sound } from "./sound.ts";

const show = (...flags: string[]) => ipamctl(["show", ...flags], { snapshot: sound });
const shown = async (...flags: string[]) => JSON.parse((await show(...flags, "-o", "json")).stdout);

describe("pools and blocks", () => {
  it("shows calicoctl's columns, and what cools down", async () => {
    const ran = await show();
    expect(ran).toMatchObject({ code: 0, stderr: "IPS IN USE counts those that cool down: p4 1\n" });
    expect(rows(ran)).toEqual([
      ["GROUPING", "CIDR", "IPS TOTAL", "IPS IN USE", "COOLING DOWN", "IPS RESERVED", "IPS FREE", "NAME"],
      ["IP Pool", "10.4.0.0/29", "8", "1 (12%)", "0 (0%)", "0 (0%)", "7 (88%)", "lb"],
      ["IP Pool", "10.0.0.0/28", "16", "5 (31%)", "1 (6%)", "1 (6%)", "10 (62%)", "p4"],
      ["IP Pool", "fd00::/120", "256", "1 (<1%)", "0 (0%)", "0 (0%)", "255 (>99%)", "p6"],
    ]);
  });

  it("gives a program numbers, and as text what may be beyond 2^53", async () => {
    expect(await shown("--pool", "p4")).toEqual({
      apiVersion: "ipamctl.ipam-operator.io/v1alpha1",
      kind: "PoolList",
      items: [
        {
          name: "p4",
          cidr: "10.0.0.0/28",
          capacity: "16",
          inUse: 5,
          reserved: "1",
          available: "10",
          inCooldown: 1,
          reservedInUse: 0,
          withheld: "0",
          uncovered: "7",
          blockSize: 30,
          blocks: 2,
          allowedUses: ["Workload", "Tunnel"],
          nodeSelector: "all()",
        },
      ],
    });
  });

  it("CLI-05: a /48 has as many addresses as it has", async () => {
    const pools = [{ ...sound.pools[0]!, spec: { cidr: "fd01::/48" } }];
    const snapshot = { ...sound, pools, blocks: [usedBlock("fd01::/122", "node-a", { 0: ofPod("web-0", "node-a") })] };
    const ran = await ipamctl(["show", "-o", "json"], { snapshot });
    const [row] = JSON.parse(ran.stdout).items;
    expect([row.capacity, row.available]).toEqual(["1208925819614629174706176", "1208925819614629174706175"]);
    const table = rows(await ipamctl(["show"], { snapshot }));
    expect(table[1]).toEqual(expect.arrayContaining(["1 (<1%)", "1208925819614629174706175 (>99%)"]));
  });

  it("shows the blocks of each pool below it, and after them those in none", async () => {
    const orphan = usedBlock("192.0.2.0/30", "node-a", { 0: ofPod("web-9", "node-a") });
    const snapshot = { ...sound, blocks: [...sound.blocks, orphan] };
    const table = rows(await ipamctl(["show", "--show-blocks"], { snapshot }));
    expect(table.slice(1).map(([grouping, cidr, , used]) => `${grouping} ${cidr} ${used}`)).toEqual([
      "IP Pool 10.4.0.0/29 1 (12%)",
      "Block 10.4.0.0/30 1 (25%)",
      "IP Pool 10.0.0.0/28 5 (31%)",
      "Block 10.0.0.0/30 2 (50%)",
      "Block 10.0.0.4/30 3 (75%)",
      "IP Pool fd00::/120 1 (<1%)",
      "Block fd00::/122 1 (2%)",
      "Block 192.0.2.0/30 1 (25%)",
    ]);
    const list = JSON.parse((await ipamctl(["show", "--blocks", "-o", "json"], { snapshot })).stdout);
    expect(list.items.at(-1)).toMatchObject({ cidr: "192.0.2.0/30", affinity: "host:node-a", inUse: 1 });
    expect(list.items.at(-1)).not.toHaveProperty("pool");
  });

  it("CLI-06: what is reserved is not free, and counted once", async () => {
    const reserved = (name: string, ...reservedCIDRs: string[]) => ({
      ...sound.reservations[0]!,
      metadata: { name },
      spec: { reservedCIDRs },
    });
    const whole = { ...sound, blocks: [], reservations: [reserved("whole-pool", "10.0.0.0/28")] };
    const [, , empty] = rows(await ipamctl(["show"], { snapshot: whole }));
    expect(empty!.slice(2)).toEqual(["16", "0 (0%)", "0 (0%)", "16 (100%)", "0 (0%)", "p4"]);
    const nested = { ...sound, reservations: [reserved("nested", "10.0.0.0/30", "10.0.0.1", "10.0.0.1/32")] };
    const table = rows(await ipamctl(["show", "--blocks", "--pool", "p4"], { snapshot: nested }));
    expect(table[1]!.slice(2)).toEqual(["16", "5 (31%)", "1 (6%)", "4 (25%)", "9 (56%)", "p4"]);
    expect(table[2]!.slice(2, 7)).toEqual(["4", "2 (50%)", "0 (0%)", "4 (100%)", "0 (0%)"]);
  });

  it("says why a pool gives nothing out", async () => {
    const closed = { ...sound.pools[0]!, spec: { ...sound.pools[0]!.spec, disabled: true } };
    const snapshot = { ...sound, pools: [closed, ...sound.pools.slice(1)] };
    expect(rows(await ipamctl(["show"], { snapshot }))[1]).toContain("is disabled");
  });

  it("gives a field one JSON type, whatever its value", async () => {
    const huge = pool("huge", "2001:db8::/32", { blockSize: 122 });
    const six = usedBlock("2001:db8::/122", "node-a", { 0: ofPod("web-6", "node-a") });
    const snapshot = { ...sound, pools: [...sound.pools, huge], blocks: [...sound.blocks, six] };
    const types = async (...flags: string[]) => {
      const { items } = JSON.parse((await ipamctl(["show", ...flags, "-o", "json"], { snapshot })).stdout);
      const fields = items.flatMap((item: object) =>
        Object.entries(item).map(([name, value]) => `${name} ${typeof value}`),
      );
      return new Set<string>(fields);
    };
    const text = ["capacity", "reserved", "available", "withheld"].map((name) => `${name} string`);
    const numbers = ["inUse", "inCooldown", "reservedInUse"].map((name) => `${name} number`);
    const pools = await types();
    expect([...pools]).toEqual(expect.arrayContaining([...text, "uncovered string", ...numbers]));
    const blocks = await types("--blocks");
    expect([...blocks]).toEqual(
      expect.arrayContaining([...text.map((one) => one.replace("string", "number")), ...numbers]),
    );
    for (const found of [pools, blocks])
      expect(new Set([...found].map((one) => one.split(" ")[0])).size).toBe(found.size);
  });

  it("gives names, YAML, wide tables, and tables without headers", async () => {
    expect((await show("-o", "name")).stdout).toBe("ippool/lb\nippool/p4\nippool/p6\n");
    expect((await show("-o", "yaml", "--pool", "10.0.0.0/28")).stdout).toContain(
      'items:\n  - name: p4\n    cidr: 10.0.0.0/28\n    capacity: "16"\n    inUse: 5\n',
    );
    expect(rows(await show("-o", "wide"))[0]!.slice(-3)).toEqual(["BLOCKS", "USES", "NODE SELECTOR"]);
    expect((await show("--no-headers")).stdout.split("\n")).toHaveLength(4);
  });
});

describe("addresses", () => {
  it.each([
    ["--node", "node-a", ["10.0.0.0", "10.0.0.1", "10.0.0.5", "fd00::"]],
    ["--namespace", "shop", ["10.0.0.0", "10.0.0.4", "10.0.0.5", "10.4.0.0", "fd00::"]],
    ["--pod", "web-0", ["10.0.0.0", "fd00::"]],
    ["--pod", "shop/web-1", ["10.0.0.4"]],
    ["--pod", "other/web-1", []],
    ["--handle", "k8s-pod-network.web-2", ["10.0.0.5"]],
  ])("%s %s", async (flag, value, addresses) => {
    const { items } = await shown(flag, value);
    expect(items.map(({ address }: { address: string }) => address)).toEqual(addresses);
  });

  it("all filters that are given must hold", async () => {
    expect((await show("--node", "node-a", "--pool", "p6", "-o", "name")).stdout).toBe("fd00::\n");
    expect(await show("--node", "node-c")).toMatchObject({ code: 0, stdout: "" });
  });

  it("--cooldown says from when on each is free", async () => {
    expect((await shown("--cooldown")).items).toEqual([
      {
        address: "10.0.0.6",
        state: "cooling",
        node: "node-b",
        pool: "p4",
        block: "10.0.0.4/30",
        sequenceNumber: "999",
        releasedAt: "2026-01-02T11:59:00Z",
        freeAt: "2026-01-02T12:04:00Z",
      },
    ]);
    expect(rows(await show("--cooldown"))[1]).toEqual(expect.arrayContaining(["cooling", "2026-01-02T12:04:00Z"]));
  });

  it("--borrowed has calicoctl's columns", async () => {
    const ran = await show("--show-borrowed");
    expect(rows(ran)).toEqual([
      ["IP", "BORROWING-NODE", "BLOCK", "BLOCK OWNER", "TYPE", "ALLOCATED-TO"],
      ["10.0.0.5", "node-a", "10.0.0.4/30", "node-b", "pod", "shop/web-2"],
    ]);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("--ip", () => {
  it.each([
    ["10.0.0.0", { state: "allocated", node: "node-a", pool: "p4", owner: "shop/web-0", usedBy: ["Pod shop/web-0"] }],
    ["10.0.0.1", { state: "allocated", type: "vxlanTunnelAddress", usedBy: ["Node node-a"] }],
    ["10.0.0.5", { state: "allocated", borrowedFrom: "node-b", affinity: "host:node-b", sequenceNumber: "999" }],
    ["10.4.0.0", { state: "allocated", owner: "shop/ingress", usedBy: ["Service shop/ingress"] }],
    ["10.0.0.6", { state: "cooling", freeAt: "2026-01-02T12:04:00Z", usedBy: [] }],
    ["10.0.0.15", { state: "reserved", reservedBy: ["gateway"], pool: "p4" }],
    ["10.0.0.8", { state: "free", pool: "p4" }],
    ["FD00:0::7", { address: "fd00::7", state: "free", block: "fd00::/122" }],
    ["192.0.2.1", { state: "outside" }],
  ])("%s", async (address, report) => {
    expect(await shown("--ip", address)).toMatchObject({ kind: "Address", ...report });
  });

  it("an address that has cooled down is free", async () => {
    const later = () => new Date("2026-01-02T12:04:00Z");
    const ran = await ipamctl(["show", "--ip", "10.0.0.6", "-o", "json"], { snapshot: sound, now: later });
    expect(JSON.parse(ran.stdout)).toMatchObject({ state: "free" });
  });

  it("tells a person whose it is", async () => {
    const { stdout, code } = await show("--ip", "10.0.0.0");
    expect(code).toBe(0);
    expect(stdout.split("\n")[0]).toBe("IP 10.0.0.0 is in use");
    expect(stdout).toMatch(/^Handle: +k8s-pod-network.web-0$/m);
    expect(stdout).toMatch(/^Owner: +namespace=shop node=node-a pod=web-0 timestamp=/m);
  });

  it("says what is wrong with a block that contradicts itself", async () => {
    const [first, ...others] = sound.blocks;
    const damaged = { ...first!, spec: { ...first!.spec, unallocated: [2] } };
    const snapshot = { ...sound, blocks: [damaged, ...others] };
    const ran = await ipamctl(["show", "--ip", "10.0.0.3", "-o", "json"], { snapshot });
    expect(JSON.parse(ran.stdout)).toMatchObject({ state: "unknown", problem: expect.stringContaining("ordinal 3") });
  });
});

describe("--configuration", () => {
  it("CFG-03: shows the values in force, and where they come from", async () => {
    expect(rows(await show("--configuration"))).toEqual([
      ["PROPERTY", "VALUE", "SOURCE"],
      ["strictAffinity", "false", "stored"],
      ["autoAllocateBlocks", "true", "stored"],
      ["maxBlocksPerHost", "0 (20)", "default"],
      ["ipCooldownSeconds", "300", "stored"],
      ["kubeVirtVMAddressPersistence", "Enabled", "default"],
    ]);
    const nothing = await ipamctl(["show", "--configuration", "-o", "json"], {
      snapshot: { ...sound, configurations: [] },
    });
    expect(JSON.parse(nothing.stdout)).toMatchObject({
      fields: { autoAllocateBlocks: { value: true, source: "default" } },
      effectiveMaxBlocksPerHost: 20,
      problems: [],
    });
  });
});

describe("--map", () => {
  it("draws every block in reading order, and names what is special", async () => {
    const { stdout, code } = await show("--map", "--pool", "p4", "--ascii");
    expect(code).toBe(0);
    expect(stdout.split("\n").slice(0, 3)).toEqual([
      "p4 10.0.0.0/28: 2 blocks, a cell is a block, a /30",
      "10.0.0.0/30   = +b. .",
      "b 10.0.0.4/30: borrowed addresses, cooling addresses",
    ]);
  });

  it("has rows of a power of two cells, ascending, below a scale, that fit the terminal", async () => {
    const wide = pool("wide", "10.64.0.0/16", { blockSize: 26 });
    const snapshot = { ...sound, pools: [wide], blocks: [usedBlock("10.64.9.64/26", "node-a", {})] };
    const { stdout } = await ipamctl(["show", "--map", "--ascii"], { snapshot, terminal: 80, env: { TERM: "dumb" } });
    const [title, scale, ...grid] = stdout.split("\n").filter((line) => !/^[.p] /.test(line) && line !== "");
    expect(title).toBe("wide 10.64.0.0/16: 1 block, a cell is a block, a /26, a row a /22");
    expect(scale).toBe(`${" ".repeat(18)}0${" ".repeat(15)}8`);
    expect(grid.slice(0, 3).map((line) => line.split(" ")[0])).toEqual([
      "10.64.0.0/26",
      "10.64.4.0/26",
      "10.64.8.0/26",
    ]);
    expect(grid[2]).toBe("10.64.8.0/26      . . . . . o . . . . . . . . . .");
    const narrow = (await ipamctl(["show", "--map", "--ascii"], { snapshot, terminal: 40, env: { TERM: "dumb" } }))
      .stdout;
    for (const line of narrow.split("\n")) expect(line.length).toBeLessThanOrEqual(40);
  });

  it("is data too", async () => {
    const { items } = await shown("--map", "--pool", "lb");
    expect(items[0]).toMatchObject({ pool: "lb", blockSize: 30, complete: true });
    expect(items[0].cells.map(({ cidr, used }: { cidr: string; used: number }) => [cidr, used])).toEqual([
      ["10.4.0.0/30", 0.25],
      ["10.4.0.4/30", 0],
    ]);
  });
});

describe("a resource as kubectl names it", () => {
  it.each([
    [["10.0.0.1"], ["--ip", "10.0.0.1"]],
    [["node/node-a"], ["--node", "node-a"]],
    [
      ["po", "web-0"],
      ["--pod", "web-0"],
    ],
    [["pod/shop/web-0"], ["--pod", "shop/web-0"]],
    [
      ["pod/web-0", "-n", "shop"],
      ["--pod", "shop/web-0"],
    ],
    [["ns/shop"], ["--namespace", "shop"]],
    [["ippool/p4"], ["--pool", "p4"]],
    [["handle/k8s-pod-network.web-0"], ["--handle", "k8s-pod-network.web-0"]],
    [["10.0.0.0/24"], ["--pool", "p4", "--addresses"]],
    [["ipamblock/10-4-0-0-30"], ["10.4.0.0/30"]], // as `show --blocks -o name` prints it
    [["-A", "-n", "none", "--addresses"], ["--addresses"]],
  ])("show %j answers as show %j", async (words, flags) => {
    const [named, flagged] = await Promise.all([show(...words), show(...flags)]);
    expect(named.stdout).not.toBe("");
    expect(named.stdout).toBe(flagged.stdout);
  });

  it("a Service shows its addresses", async () => {
    expect(rows(await show("svc/ingress", "-o", "name"))).toEqual([["10.4.0.0"]]);
  });

  it("a range shows the addresses in it, also a part of a block", async () => {
    expect((await show("10.0.0.1/32", "-o", "name")).stdout).toBe("10.0.0.1\n");
    expect((await show("10.99.0.0/24")).stderr).toBe("No resources found\n");
  });

  it("--addresses lists every address of every pool", async () => {
    const { stdout } = await show("--addresses", "-o", "name");
    const all = sound.blocks.flatMap((block) => block.spec.allocations.filter((index) => index !== null));
    expect(stdout.trim().split("\n")).toHaveLength(all.length);
  });
});

describe("what cannot be asked", () => {
  it.each([
    [["--blocks", "--map"], 2, /--blocks and --map exclude each other/],
    [["--ip", "10.0.0.1", "--node", "a"], 2, /--ip and a filter exclude each other/],
    [["--ip", "10.0.0.300"], 2, /'10\.0\.0\.300' is not an IP address/],
    [["--ascii"], 2, /--ascii is about --map/],
    [["--bloks"], 2, /Did you mean --blocks\?/],
    [["-o", "xml"], 2, /not a format: use one of table, wide, json, yaml, name/],
    [["extra"], 2, /'extra' is not a resource type/],
    [["block/abc"], 2, /'abc' is not a range/],
    [["--pool", "p5"], 1, /there is no pool "p5"; there are: lb, p4, p6/],
  ])("show %j ends with %i", async (flags, code, message) => {
    const ran = await show(...flags);
    expect(ran).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(message) });
  });
});

it("SEC-03: text from elsewhere cannot move the cursor", async () => {
  const evil = "web\u001b[2J\r\nlast\u202e";
  const blocks = [usedBlock("10.0.0.0/30", "node-a", { 0: ofPod(evil, "node-a") })];
  const ran = await ipamctl(["show", "--node", "node-a"], { snapshot: { ...sound, blocks } });
  expect(ran.stdout).toContain("web\\u001b[2J\\r\\nlast\\u202e");
  expect(ran.stdout.split("\n")).toHaveLength(3);
});
