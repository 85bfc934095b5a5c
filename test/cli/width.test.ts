/** Every verb's output on terminals of usual widths, with names as long as Kubernetes takes them. */
import { describe, expect, it } from "vitest";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { affinity, handle, pool, usedBlock } from "../support/ipam-data.ts";
import { ipamctl, type Ran } from "./ipamctl.ts";
import { node, ofPod, ofTunnel, pod, sound } from "./sound.ts";

const NODE = `ip-10-0-3-17.${"eu-central-1.compute.internal-".repeat(8)}`.slice(0, 251).replace(/[-.]*$/, "x0");
const POD = `checkout-${"service-".repeat(7)}`.slice(0, 52).concat("-x2x4z-4kq9");
const LEAKED = POD.replace("4kq9", "gone");
const POOL = `production-${"cluster-pods-".repeat(4)}ipv6`;
const SIX = "2001:db8:4242:1111::";
const SIX_BLOCK = `${SIX}/122`;

const long: Snapshot = {
  ...sound,
  pools: [...sound.pools, pool(POOL, `${SIX}/64`, { blockSize: 122 }), pool("spare", "10.128.0.0/12")],
  blocks: [
    ...sound.blocks,
    usedBlock(SIX_BLOCK, NODE, {
      0: ofTunnel(NODE),
      1: ofPod(POD, NODE),
      2: ofPod(LEAKED, NODE),
      3: ofPod("web-borrowed", "node-a"),
      4: { releasedAt: "2026-01-02T11:59:30Z" },
    }),
    usedBlock("10.128.0.0/26", "node-gone", { 0: ofPod("web-gone", "node-gone") }),
  ],
  affinities: [...sound.affinities, affinity(NODE, SIX_BLOCK), affinity(NODE, "10.128.0.64/26")],
  handles: [
    ...sound.handles,
    ...[POD, LEAKED].map((name) => handle(`k8s-pod-network.${name}`, { [SIX_BLOCK]: 1 })),
    handle(`k8s-pod-network.${POD}-old-sandbox`, { [SIX_BLOCK]: 1 }),
  ],
  nodes: [...sound.nodes!, node(NODE)],
  pods: [
    ...sound.pods!,
    pod(POD, NODE, [`${SIX}1`]),
    pod(`${POD}-new`, NODE, [], { phase: "Pending", askedPools: [POOL] }),
  ],
};

const READING = [
  ["show"],
  ["show", "--blocks"],
  ["show", "--node", NODE],
  ["show", "--namespace", "shop"],
  ["show", "--borrowed"],
  ["show", "--cooldown"],
  ["show", "--configuration"],
  ["show", "--map"],
  ["show", "--ip", `${SIX}1`],
  ["top"],
  ["plan", "--pods-per-node", "3"],
  ["check"],
  ["why", "--node", NODE],
  ["why", `${POD}-new`],
].map((args) => [args, { snapshot: long }] as const);
const ALONE = [["explain"], ["explain", "LeakedAddress"]].map((args) => [args, {}] as const);
const WRITING = [
  ["gc", "--dry-run"],
  ["release", "--ip", `${SIX}1`, "--dry-run"],
  ["release", "--handle", "k8s-pod-network.nothing", "--dry-run"],
  ["repair", "DanglingAffinity", "--dry-run"],
  ["configure", "--strict-affinity", "true", "--dry-run"],
  ["assign", "--node", "node-a", "--dry-run"],
  ["split", "4", "--name", "spare", "--dry-run"],
].map((args) => [args, { stored: long }] as const);

const label = (args: readonly string[]) =>
  args.map((word) => (word.length > 30 ? `${word.slice(0, 8)}~` : word)).join(" ");
const cases = [...READING, ...ALONE, ...WRITING].flatMap(([args, data]) =>
  [80, 100, 160].map((columns) => [label(args), columns, args, data] as const),
);

/** Columns that no width leaves out. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  show: ["ADDRESS", "OWNER"],
  "show --blocks": ["CIDR", "IPS FREE", "NAME"],
  "show --borrowed": ["IP", "BORROWING-NODE"],
  "show --configuration": ["PROPERTY"],
  "show --map": [],
  "show --ip": ["IP"],
  top: ["POOL", "RUNS OUT", "NODE"],
  plan: ["POOL", "FREE THEN"],
  explain: ["CODE"],
  gc: ["ACTION", "OBJECT", "WHY"],
  release: ["ACTION", "OBJECT", "WHY"],
};
function keysOf(args: readonly string[]): readonly string[] {
  const [verb = "", flag = ""] = args;
  if (args.length === 1 && verb === "show") return KEYS["show --blocks"]!;
  if (verb === "explain" && flag !== "") return [];
  return KEYS[`${verb} ${flag}`] ?? KEYS[verb] ?? [];
}

/** A word alone, or a command that can be copied, is never broken. */
const isWhole = (line: string) => /^(\s*|[\w ]+: +)(\S+|(ipamctl|kubectl|calicoctl) .*)$/.test(line);
const words = (text: string) => new Set(text.split(/\s+/));

function expectWhole(ran: Ran, piped: Ran): void {
  const known = [...words(piped.stdout + piped.stderr)];
  for (const word of words(ran.stdout + ran.stderr)) {
    const [head, tail] = word.split("…");
    if (/^(\d\.\de\d+|\d{4}-\d\d-\d\dT\d\d:\d\dZ)$/.test(word)) continue; // a shorter value, exact elsewhere
    const isKnown =
      tail === undefined ? known.includes(word) : known.some((one) => one.startsWith(head!) && one.endsWith(tail));
    expect(isKnown, word).toBe(true);
  }
}

describe("fits the terminal", () => {
  it.each(cases)("%s at %i columns", async (_label, columns, args, data) => {
    const piped = await ipamctl(args, data);
    expect(piped.code).not.toBe(2);
    expect(piped.stdout).not.toContain("…");
    const ran = await ipamctl(args, { ...data, terminal: columns, env: { NO_COLOR: "1" } });
    expect(ran.code).toBe(piped.code);
    const wider = (ran.stdout + ran.stderr).split("\n").filter((line) => line.length > columns && !isWhole(line));
    expect(wider).toEqual([]);
    for (const key of keysOf(args)) expect(ran.stdout).toMatch(new RegExp(`^(\\S+ +)*${key}\\b`, "m"));
    if (!args.includes("--map")) expectWhole(ran, piped);
  });
});
