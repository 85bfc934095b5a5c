/** Which of the things that `show` can show is wanted. Each is a pure function of the snapshot. */
import { rangeOfBlockName } from "../../api/names.ts";
import { isCalled } from "../../ipam/pools.ts";
import { type Inventory, inventoryOf } from "../../judgement/inventory.ts";
import { type Address, parseAddress } from "../../net/address.ts";
import { formatCidr, parseCidr } from "../../net/cidr.ts";
import { nearest } from "../nearest.ts";
import type { Output } from "../output.ts";
import { parseResource, refuseBoth, unknownType } from "../resource.ts";
import type { Session } from "../session.ts";
import { UsageError } from "../usage-error.ts";
import type { Given } from "../verb.ts";
import { type AddressFilter, addressesOutput, addressRows, borrowedOutput, withoutNode } from "./addresses.ts";
import { configurationOutput, configurationReport } from "./configuration.ts";
import { poolMap } from "./map.ts";
import { mapOutput } from "./map-text.ts";
import { addressOutput, addressReport } from "./one-address.ts";
import { blockRows, blocksOutput, poolRows, poolsOutput } from "./pools.ts";
import { besidesBlocks, differences } from "./shares.ts";

const FILTERS = ["node", "namespace", "pod", "service", "handle", "within", "cooldown", "addresses"] as const;
/** What can be asked for, at most one at a time; the filters together are one. */
const QUESTIONS = ["blocks", "ip", "borrowed", "configuration", "map", "addresses"] as const;
type Question = (typeof QUESTIONS)[number] | "pools";

export interface ShowOptions extends AddressFilter {
  readonly blocks?: boolean;
  readonly addresses?: boolean;
  readonly ip?: string;
  readonly configuration?: boolean;
  readonly map?: boolean;
  readonly ascii?: boolean;
}

export async function run(session: Session, given: Given): Promise<undefined> {
  const asked = askedFor(given);
  const question = questionOf(asked);
  const address = asked.ip === undefined ? undefined : addressOf(asked.ip);
  const inventory = inventoryOf(await session.snapshot(question === "ip" ? undefined : ["reservations"]));
  if (asked.pool !== undefined) checkPool(inventory, asked.pool);
  await session.print(answer(question, inventory, asked, { address, now: session.now() }));
  for (const line of remarks(question, inventory, asked)) session.say(line);
}

/** The flags, and what the resource adds to them. @throws UsageError */
function askedFor({ options, arguments: words }: Given): ShowOptions {
  const [flags, resource] = [unaliased(options), askedOf(words)];
  for (const flag of Object.keys(resource)) refuseBoth(words, flag, flags[flag as keyof ShowOptions]);
  return { ...flags, ...resource };
}

/** A resource as the flag that asks for it. @throws UsageError where there is none */
function askedOf(words: readonly string[]): ShowOptions {
  if (words.length === 0) return {};
  const { type, name } = parseResource(words);
  switch (type) {
    case undefined:
      throw new UsageError(unknownType(name.split("/")[0]!));
    case "address":
      return { ip: name };
    case "block":
      return { within: rangeNamed(name) };
    default:
      return { [type]: name };
  }
}

/** A CIDR, or the name of a block's object. @throws UsageError */
function rangeNamed(text: string): string {
  const range = parseCidr(text) ?? rangeOfBlockName(text);
  if (range === undefined) throw new UsageError(`'${text}' is not a range: give a CIDR such as 10.0.0.0/26.`);
  return formatCidr(range);
}

/** Why a table is empty, and why its numbers do not add up. */
function remarks(question: Question, inventory: Inventory, asked: ShowOptions): string[] {
  const pools = ["pools", "blocks"].includes(question) ? poolRows(inventory, asked.pool) : [];
  switch (question) {
    case "pools":
      return differences(pools);
    case "blocks":
      return [...differences(pools), ...besidesBlocks(pools)];
    case "borrowed":
      return unsureOfNode(inventory);
    case "addresses":
      return isEmpty(inventory, asked) ? unknownNode(inventory, asked) : [];
    default:
      return [];
  }
}

const isEmpty = (inventory: Inventory, asked: ShowOptions) => addressRows(inventory, asked).length === 0;

/** Calicoctl's names for some flags. */
function unaliased(options: Given["options"]): ShowOptions {
  const { showBlocks, showBorrowed, showConfiguration, allNamespaces, namespace, ...own } = options;
  return {
    ...own,
    ...(allNamespaces !== true && typeof namespace === "string" && { namespace }),
    ...(showBlocks === true && { blocks: true }),
    ...(showBorrowed === true && { borrowed: true }),
    ...(showConfiguration === true && { configuration: true }),
  };
}

/** @throws UsageError where flags exclude each other */
function questionOf(options: ShowOptions): Question {
  const asked: Readonly<Record<(typeof QUESTIONS)[number], unknown>> = {
    ...{ blocks: options.blocks, ip: options.ip, configuration: options.configuration, map: options.map },
    borrowed: options.borrowed,
    addresses: !options.borrowed && FILTERS.some((filter) => options[filter] !== undefined),
  };
  const named = QUESTIONS.filter((question) => asked[question]);
  if (named.length > 1) {
    const flags = named.map((question) => (question === "addresses" ? "a filter" : `--${question}`));
    throw new UsageError(`${flags.join(" and ")} exclude each other: give one of them.`);
  }
  if (options.ascii && !options.map) throw new UsageError("--ascii is about --map: give that too.");
  return named[0] ?? "pools";
}

function addressOf(text: string): Address {
  const address = parseAddress(text);
  if (address === undefined) throw new UsageError(`'${text}' is not an IP address.`);
  return address;
}

function checkPool({ pools }: Inventory, wanted: string): void {
  if (pools.some((pool) => isCalled(pool, wanted))) return;
  throw new Error(`there is no pool "${wanted}"; there are: ${pools.map(({ name }) => name).join(", ") || "none"}`);
}

function answer(
  question: Question,
  inventory: Inventory,
  options: ShowOptions,
  { address, now }: { readonly address: Address | undefined; readonly now: Date },
): Output {
  const { pool } = options;
  switch (question) {
    case "ip":
      return addressOutput(addressReport(inventory, address!, now));
    case "blocks":
      return blocksOutput(poolRows(inventory, pool), blockRows(inventory, pool));
    case "borrowed":
      return borrowedOutput(addressRows(inventory, options));
    case "addresses":
      return addressesOutput(addressRows(inventory, options));
    case "configuration":
      return configurationOutput(configurationReport(inventory));
    case "map":
      return mapOutput(mapsOf(inventory, pool), options.ascii ?? false);
    case "pools":
      return poolsOutput(poolRows(inventory, pool));
  }
}

function mapsOf(inventory: Inventory, wanted: string | undefined) {
  const pools = inventory.pools.filter((pool) => wanted === undefined || isCalled(pool, wanted));
  return pools.map((pool) => poolMap(inventory, pool));
}

/** An empty list may be the answer, or the node's name may be misspelt. */
function unknownNode({ snapshot: { nodes = [] } }: Inventory, { node }: ShowOptions): string[] {
  if (node === undefined || nodes.length === 0 || nodes.some(({ name }) => name === node)) return [];
  const near = nearest(
    node,
    nodes.map(({ name }) => name),
  );
  return [`there is no node ${node}${near ? `: did you mean ${near}?` : ""}`];
}

function unsureOfNode(inventory: Inventory): string[] {
  const count = withoutNode(inventory);
  if (count === 0) return [];
  const [who, whether] =
    count === 1
      ? ["address does not say which node uses it", "it is borrowed"]
      : ["addresses do not say which node uses them", "those are borrowed"];
  return [`${count} ${who}: whether ${whether} is unknown`];
}
