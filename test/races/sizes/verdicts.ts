/** What is wrong after a round over block sizes, judged from the journals and from what is stored. Pure. */

import { WINDOWS_RESERVED_HANDLE } from "../../../src/api/names.ts";
import type { BlockAffinity, IPAMBlock } from "../../../src/api/v3.ts";
import { addressAt } from "../../../src/ipam/block.ts";
import { formatAddress } from "../../../src/net/address.ts";
import { canonicalCidr, overlaps, parseCidr } from "../../../src/net/cidr.ts";
import { holdingsOf, type Journal } from "../journal.ts";
import { handedOutTwice } from "../verdicts.ts";

export interface Aftermath {
  readonly journals: readonly Journal[];
  readonly blocks: readonly IPAMBlock[];
  readonly affinities: readonly BlockAffinity[];
  /** Blocks that the round began with, as stored. */
  readonly planted: readonly IPAMBlock[];
  /** Block sizes of the round's pools. */
  readonly sizes: readonly number[];
}

interface Held {
  readonly ip: string;
  readonly handle: string;
  readonly cidr: string;
}

/** What a block keeps back for its host is nobody's. */
const heldIn = (blocks: readonly IPAMBlock[]): Held[] =>
  blocks.flatMap(({ spec: { cidr, allocations, attributes } }) =>
    allocations.flatMap((index, ordinal) => {
      const { handle_id: handle = "" } = attributes[index ?? -1] ?? {};
      if (index === null || handle === WINDOWS_RESERVED_HANDLE) return [];
      return [{ ip: formatAddress(addressAt(parseCidr(cidr)!, ordinal)), handle, cidr }];
    }),
  );

export function faultsOf(aftermath: Aftermath): string[] {
  return [given, storedTwice, lost, overlapping, bothGave, ofOtherSizes].flatMap((judge) => judge(aftermath));
}

/** An address that two callers had at once; what was there before the round is held by nobody's leave. */
function given({ journals, planted }: Aftermath): string[] {
  const entries = heldIn(planted).map(({ ip, handle }) => ({
    at: 0n,
    what: "got" as const,
    subject: handle,
    ips: [ip],
  }));
  return handedOutTwice([{ host: "", cached: false, entries }, ...journals]);
}

/** An address that two live allocations hold, in whatever blocks. */
function storedTwice({ blocks }: Aftermath): string[] {
  const holders = Map.groupBy(heldIn(blocks), ({ ip }) => ip);
  return [...holders].flatMap(([ip, held]) =>
    held.length < 2 ? [] : `${ip} is held by ${held.map(({ handle, cidr }) => `${handle} in ${cidr}`).join(" and ")}`,
  );
}

/** What somebody surely holds is stored as theirs, and what is stored is somebody's. */
function lost({ journals, blocks, planted }: Aftermath): string[] {
  const stored = new Map(heldIn(blocks).map(({ ip, handle }) => [`${ip} of ${handle}`, handle]));
  const ends = journals.map(({ entries }) => holdingsOf(entries));
  const uncertain = new Set(ends.flatMap((end) => [...end.uncertain]));
  const held = new Set([
    ...heldIn(planted).map(({ ip, handle }) => `${ip} of ${handle}`),
    ...ends.flatMap((end) => [...end.held].flatMap(([handle, ips]) => ips.map((ip) => `${ip} of ${handle}`))),
  ]);
  const missing = [...held].filter((text) => !stored.has(text)).map((text) => `${text} is not stored`);
  const surplus = [...stored].filter(([text, handle]) => !held.has(text) && !uncertain.has(handle));
  return [...missing, ...surplus.map(([text]) => `${text} is stored, and nobody was given it`)];
}

const pairsIn = (blocks: readonly IPAMBlock[]) =>
  blocks.flatMap((block, index) =>
    blocks
      .slice(index + 1)
      .filter((other) => overlaps(parseCidr(block.spec.cidr)!, parseCidr(other.spec.cidr)!))
      .map((other) => [block, other] as const),
  );

/** Blocks that overlap now, and did not when the round began. */
function overlapping({ blocks, affinities, planted }: Aftermath): string[] {
  const described = ({ spec }: IPAMBlock) => {
    const row = affinities.find(({ spec: { node, cidr } }) => `host:${node}` === spec.affinity && cidr === spec.cidr);
    const held = heldIn(blocks).filter(({ cidr }) => cidr === spec.cidr);
    return `${spec.cidr} (${spec.affinity ?? "no owner"}, ${row?.spec.state ?? "no affinity"}, ${held.length} held)`;
  };
  const old = new Set(planted.map(({ metadata }) => metadata.uid));
  const added = pairsIn(blocks).filter((pair) => !pair.every(({ metadata }) => old.has(metadata.uid)));
  return added.map(([one, other]) => `${described(one)} and ${described(other)} overlap`);
}

/** Confirmed blocks that overlap and both gave addresses. */
function bothGave({ blocks, affinities, journals }: Aftermath): string[] {
  const confirmed = new Set(
    affinities
      .filter(({ spec }) => spec.state === "confirmed")
      .map(({ spec }) => `${spec.type}:${spec.node} ${spec.cidr}`),
  );
  const masked = journals.flatMap(({ entries }) => entries.flatMap((entry) => entry.masked ?? []));
  const givers = new Set(masked.map((ip) => canonicalCidr(ip)));
  const gives = ({ spec }: IPAMBlock) => confirmed.has(`${spec.affinity} ${spec.cidr}`) && givers.has(spec.cidr);
  const pairs = pairsIn(blocks).filter((pair) => pair.every(gives));
  return pairs.map(
    ([one, other]) => `${one.spec.cidr} and ${other.spec.cidr} overlap, are confirmed, and both gave addresses`,
  );
}

/** A block that was created in the round, and is none of its pools'. */
function ofOtherSizes({ blocks, planted, sizes }: Aftermath): string[] {
  const old = new Set(planted.map(({ metadata }) => metadata.uid));
  const created = blocks.filter(({ metadata }) => !old.has(metadata.uid));
  const wrong = created.filter(({ spec }) => !sizes.includes(parseCidr(spec.cidr)!.prefix));
  return wrong.map(({ spec }) => `${spec.cidr} was created, where pools have blocks of /${sizes.join(" and /")}`);
}
