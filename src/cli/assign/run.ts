/** Plans which addresses are taken, and for whom. */

import { randomBytes } from "node:crypto";
import { plural } from "../../api/plural.ts";
import type { AttributeMap } from "../../api/v3.ts";
import { type AutoAssignResult, partialFulfillmentError, partialResult } from "../../ipam/assignments.ts";
import type { AutoAssignArgs } from "../../ipam/auto-assign-args.ts";
import type { Ipam } from "../../ipam/client.ts";
import type { IntendedUse } from "../../ipam/pools.ts";
import { type Inventory, inventoryOf } from "../../judgement/inventory.ts";
import { quoted } from "../../judgement/shell.ts";
import { canonicalAddress } from "../../net/address.ts";
import type { Session } from "../session.ts";
import { UsageError } from "../usage-error.ts";
import type { Given } from "../verb.ts";
import { carryOut, type WriteOptions } from "../writing/carry-out.ts";
import { type Item, type Kept, Partly, type Plan, type Step } from "../writing/plan.ts";
import { errorText } from "../writing/work.ts";
import type { Workplace } from "../writing/workplace.ts";
import { notesOn, takenBecause } from "./address.ts";

interface Options extends WriteOptions {
  readonly node?: string;
  readonly handle?: string;
  readonly pod?: string;
  readonly count: string;
  readonly ipVersion: "4" | "6";
  readonly pool?: readonly string[];
  readonly use: IntendedUse;
}

/** What is asked for, read. */
interface Request {
  readonly ip: string | undefined;
  readonly node: string;
  readonly handleID: string;
  readonly attrs: AttributeMap;
  readonly count: number;
  readonly options: Options;
}

const MOST = 1024;

export async function run(session: Session, given: Given): Promise<number> {
  const options = given.options as unknown as Options;
  const request = requestOf(given.arguments[0], options);
  const plan = (workplace: Workplace) => planOf(session, workplace, request);
  return carryOut(session, { verb: "assign", options, lock: "unlocked", plan });
}

function requestOf(text: string | undefined, options: Options): Request {
  const { node, pod, count } = options;
  const ip = text === undefined ? undefined : canonicalAddress(text);
  if (text !== undefined && ip === undefined) throw new UsageError(`'${text}' is not an IP address.`);
  if (node === undefined) throw new UsageError("say for which node: --node NAME.");
  if (pod !== undefined && !/^[^/]+\/[^/]+$/.test(pod)) throw new UsageError(`--pod '${pod}' is not NAMESPACE/NAME.`);
  const number = Number(count);
  if (!Number.isInteger(number) || number < 1 || number > MOST) {
    throw new UsageError(`--count '${count}' is no whole number from 1 to ${MOST}.`);
  }
  if (ip !== undefined && (number > 1 || options.pool)) {
    throw new UsageError("an address is named: leave out --count and --pool.");
  }
  const [namespace, name] = pod?.split("/") ?? [];
  const attrs = { node, ...(namespace && name && { namespace, pod: name }), note: "assigned with ipamctl" };
  const handleID = options.handle ?? `ipamctl.${randomBytes(6).toString("hex")}`;
  return { ip, node, handleID, attrs, count: number, options };
}

async function planOf(session: Session, { ipam }: Workplace, request: Request): Promise<Plan> {
  const inventory = inventoryOf(await session.snapshot());
  const { ip, node, handleID, count, options } = request;
  checkNode(inventory, node);
  const words = ip ?? plural(count, `IPv${options.ipVersion} address`);
  const item: Item = { action: "assign", object: words, why: `for ${node}`, facts: { handle: handleID, node } };
  const taken = ip === undefined ? undefined : takenBecause(inventory, ip);
  const kept: Kept[] = taken === undefined ? [] : [{ ...item, why: taken, refused: true }];
  const step: Step = { ...item, run: () => (ip === undefined ? chosen(ipam, request) : named(ipam, request, ip)) };
  return {
    kind: "Assign",
    title: `Assign ${words} to ${node}`,
    steps: kept.length === 0 ? [step] : [],
    kept,
    notes: ip === undefined ? [] : notesOn(inventory, ip),
    afterwards: `to give back: ipamctl release --handle ${quoted(handleID)}`,
  };
}

/** The library would claim a block for whoever it is told. */
function checkNode({ snapshot }: Inventory, name: string): void {
  if (snapshot.nodes === undefined || snapshot.nodes.some((node) => node.name === name)) return;
  throw new Error(`there is no node "${name}"`);
}

async function named(ipam: Ipam, { node, handleID, attrs, options }: Request, ip: string): Promise<Partial<Item>> {
  await ipam.assignIP({ ip, hostname: node, handleID, attrs, intendedUse: options.use });
  return { facts: { addresses: [ip], handle: handleID, node } };
}

async function chosen(ipam: Ipam, request: Request): Promise<Partial<Item>> {
  const { node, handleID, attrs, count, options } = request;
  const isV4 = options.ipVersion === "4";
  const family = isV4 ? { num4: count, ipv4Pools: options.pool } : { num6: count, ipv6Pools: options.pool };
  const { result, failure } = await assigned(ipam, {
    ...family,
    hostname: node,
    handleID,
    attrs,
    intendedUse: options.use,
    allOrNothing: true,
  });
  const got = result.v4 ?? result.v6;
  const addresses = got?.ips.map((masked) => masked.split("/", 1)[0]!) ?? [];
  const item = { object: addresses.join(" ") || "no address", facts: { addresses, handle: handleID, node } };
  const missing = failure ?? (got ? partialFulfillmentError(got) : "no address was assigned");
  if (missing !== undefined) throw new Partly(missing, item);
  return item;
}

/** What was assigned before an error is there all the same, and must be told. */
async function assigned(ipam: Ipam, args: AutoAssignArgs) {
  try {
    return { result: await ipam.autoAssign(args), failure: undefined };
  } catch (error) {
    const result = partialResult<AutoAssignResult>(error);
    if (result === undefined) throw error;
    return { result, failure: errorText(error) };
  }
}
