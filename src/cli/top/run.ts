/** Looks once, or twice for a rate, and shows what is fullest. */
import { setTimeout as sleep } from "node:timers/promises";
import { scarceBlocks, scarceText } from "../../ipam/scarce-blocks.ts";
import { inventoryOf } from "../../judgement/inventory.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { briefCountOf, countOf, percent } from "../numbers.ts";
import { type Output, tableOf } from "../output.ts";
import type { Tone } from "../screen.ts";
import type { Session } from "../session.ts";
import { poolValue } from "../show/counts.ts";
import { notFree } from "../show/shares.ts";
import type { Column } from "../table.ts";
import { UsageError } from "../usage-error.ts";
import type { Given } from "../verb.ts";
import { type TopNode, type TopPool, topNodes, topPools } from "./rows.ts";

/** Pods and Services have no part in how full pools and nodes are. */
const NEEDED = ["reservations", "nodes"] as const;

export async function run(session: Session, { options }: Given): Promise<undefined> {
  const limit = numberOf("--limit", String(options["limit"]));
  const hours = numberOf("--hours", String(options["hours"]));
  if (hours === 0) throw new UsageError("--hours 0 is no span to tell a rate from.");
  const earlier = await earlierLook(session, options);
  const inventory = inventoryOf(await session.snapshot(NEEDED));
  const nodes = topNodes(inventory);
  const shown = limit === 0 ? nodes : nodes.slice(0, limit);
  const source = earlier ? { earlier: inventoryOf(earlier) } : { spanMs: hours * 3_600_000 };
  const pools = topPools(inventory, source);
  await session.print(topOutput(pools, shown));
  const used = notFree(pools);
  if (used) session.say(used);
  const { config, snapshot } = inventory;
  for (const scarce of scarceBlocks(config, inventory.pools, snapshot.nodes ?? [])) session.say(scarceText(scarce));
  if (!earlier && pools.length > 0)
    session.say(`rates: of addresses held now, allocated in the last ${hours} h; what was released is not seen`);
}

/** @throws UsageError where both are asked for, or a bundle is to be looked at twice */
async function earlierLook(
  session: Session,
  { earlier, over, bundle }: Given["options"],
): Promise<Snapshot | undefined> {
  if (earlier !== undefined && over !== undefined) throw new UsageError("--earlier and --over exclude each other.");
  if (typeof earlier === "string") {
    const { readBundle } = await import("../snapshot/bundle.ts");
    return readBundle(earlier, session);
  }
  if (over === undefined) return undefined;
  if (bundle !== undefined) throw new UsageError("--over looks twice, and a bundle never changes: give --earlier.");
  const seconds = numberOf("--over", String(over));
  const first = await session.snapshot(NEEDED);
  session.say(`looking again in ${seconds} s`);
  await sleep(seconds * 1000, undefined, { signal: session.signal });
  return first;
}

function numberOf(flag: string, text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new UsageError(`${flag} '${text}' is no whole number from 0 to 99999.`);
}

const runsOut = ({ available, rate }: TopPool) => (available === 0n ? "now" : (rate?.runsOutAt ?? ""));

/** Full from here on is soon a trouble. */
const NEARLY_FULL = 90;
const fullness = ({ available, fullPercent }: TopPool): Tone | undefined => {
  if (available === 0n) return "critical";
  return fullPercent >= NEARLY_FULL ? "warning" : undefined;
};

const POOLS: readonly Column<TopPool>[] = [
  { header: "POOL", name: true, value: ({ name }) => name },
  { header: "CIDR", importance: 2, value: ({ cidr }) => cidr },
  {
    header: "FULL",
    right: true,
    value: ({ available, capacity }) => percent(capacity - available, capacity),
    tone: fullness,
  },
  {
    header: "FREE",
    right: true,
    value: ({ available, capacity }) => countOf(available, capacity),
    brief: ({ available, capacity }) => briefCountOf(available, capacity),
  },
  { header: "PER DAY", right: true, importance: 1, value: ({ rate }) => String(rate?.perDay ?? "") },
  {
    header: "RUNS OUT",
    value: runsOut,
    brief: (pool) => runsOut(pool).replace(/:\d\d\.\d+Z$/, "Z"),
    tone: ({ available }) => (available === 0n ? "critical" : undefined),
  },
  { header: "RATE FROM", wide: true, value: ({ rate }) => (rate ? `${rate.basis}, ${rate.overSeconds} s` : "") },
];
const NODES: readonly Column<TopNode>[] = [
  { header: "NODE", name: true, value: ({ name }) => name },
  { header: "BLOCKS", right: true, value: ({ blocks, cap }) => `${blocks}/${cap}` },
  { header: "FREE", right: true, value: ({ free, capacity }) => countOf(BigInt(free), BigInt(capacity)) },
  { header: "BORROWED", right: true, value: ({ borrowed }) => String(borrowed) },
  { header: "PODS", right: true, wide: true, value: ({ podCapacity }) => String(podCapacity ?? "") },
];

export function topOutput(pools: readonly TopPool[], nodes: readonly TopNode[]): Output {
  const [poolText, nodeText] = [tableOf(pools, POOLS), tableOf(nodes, NODES)];
  return {
    kind: "Top",
    value: { pools: pools.map(poolValue), nodes },
    names: [...pools.map(({ name }) => `ippool/${name}`), ...nodes.map(({ name }) => `node/${name}`)],
    isList: true,
    text: (style) => [poolText(style), nodeText(style)].filter((text) => text !== "").join("\n"),
  };
}
