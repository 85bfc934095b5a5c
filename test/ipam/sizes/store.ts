/**
 * A store with one pool of a given block size, and affinities, blocks and reservations of every prefix length: with host
 * bits, in the IPv4-mapped form, and with as many entries as a block of that length has, where that is a stored size.
 * Rows are written to the file itself, as an older release or another program may have left them.
 */
import { affinityLabels, affinityName, blockName } from "../../../src/api/names.ts";
import type { BlockAffinitySpec } from "../../../src/api/v3.ts";
import { openEmbedded } from "../../../src/datastore/embedded.ts";
import { openDatabase } from "../../../src/datastore/embedded-database.ts";
import { type IpVersion, width } from "../../../src/net/address.ts";
import { canonicalCidr } from "../../../src/net/cidr.ts";

export interface Site {
  readonly version: IpVersion;
  /** blockSize of the pool as it is stored; it need not be one that a pool may have. */
  readonly blockSize: number;
  /**
   * Of what ranges that contain the whole pool are there too: `all` is every length of everything. Nothing can be claimed
   * beside such a block, and nothing given beside such a reservation, so that much is only reached without them.
   */
  readonly covering: "all" | "blocks" | "affinities";
  /** Whether all of IPv6's 129 prefix lengths are there, or those of blocks and, in turn, every fourth of the others. */
  readonly everyLength: boolean;
  /** Of calls that are made once for each range, or in several variants, a store gets those whose turn it is. */
  readonly turn: number;
  readonly turns: number;
}

/** The range of one prefix length, in each kind's own part of the pool: canonical, and with host bits. */
export interface Sized {
  readonly prefix: number;
  readonly cidr: string;
  readonly withHostBits: string;
  readonly address: string;
}

const PART = { reservation: 0, affinity: 1, block: 2 } as const;
type Part = keyof typeof PART;
const POOL = { 4: "10.0.0.0/8", 6: "fd00::/48" } as const;
/** Ranges from this length on have a part of the pool for themselves. */
const OWN_PART = { 4: 16, 6: 64 } as const;
const DEFAULT_SIZE = { 4: 26, 6: 122 } as const;

export const poolCidr = ({ version }: Pick<Site, "version">): string => POOL[version];

const baseOf = (version: IpVersion, part: Part, prefix: number) =>
  version === 4 ? `10.${PART[part] * 64 + prefix}.0.` : `fd00:0:0:${(PART[part] * 256 + prefix).toString(16)}::`;

/** Lengths from the shortest on; of what must not cover the pool those that leave it some room. */
export function sized(site: Site, part: Part): Sized[] {
  const { version, covering } = site;
  const covers = part === "affinity" || covering === "all" || (covering === "blocks" && part === "block");
  const shortest = covers ? 0 : OWN_PART[version];
  const lengths = Array.from({ length: width(version) + 1 - shortest }, (_, index) => shortest + index);
  return lengths.filter(isThere(site)).map((prefix) => {
    const base = baseOf(version, part, prefix);
    const withHostBits = `${base}${version === 4 ? 40 : 28}/${prefix}`;
    return { prefix, cidr: canonicalCidr(`${base}0/${prefix}`)!, withHostBits, address: `${base}1` };
  });
}

const SMALLEST_RANGES = 112;
const isThere =
  ({ version, everyLength, turn }: Site) =>
  (prefix: number): boolean =>
    version === 4 || everyLength || prefix >= SMALLEST_RANGES || prefix % 4 === turn % 4;

export function inTurn<T>(items: readonly T[], { turn, turns }: Site): T[] {
  return items.filter((_, index) => index % turns === turn);
}

const mapped = [0, 8, 16, 24, 32].map((prefix) => `::ffff:10.60.0.0/${96 + prefix}`);

/** Writes the file. */
export async function writeStore(path: string, site: Site): Promise<void> {
  await openEmbedded(path).close();
  const database = openDatabase(path);
  const change = database.prepare("INSERT INTO changes (kind, name, type, json) VALUES (?, ?, 'ADDED', ?)");
  const row = database.prepare("INSERT INTO objects (kind, name, uid, revision, json) VALUES (?, ?, ?, ?, ?)");
  database.exec("BEGIN");
  for (const { kind, name, spec, labels } of objectsOf(site)) {
    const metadata = { name, uid: name, generation: 1, creationTimestamp: "2026-01-01T00:00:00Z", labels };
    const json = JSON.stringify({ apiVersion: "projectcalico.org/v3", kind, metadata, spec });
    row.run(kind, name, name, Number(change.run(kind, name, json).lastInsertRowid), json);
  }
  database.exec("COMMIT");
  database.close();
}

interface Stored {
  readonly kind: string;
  readonly name: string;
  readonly spec: object;
  readonly labels?: Readonly<Record<string, string>>;
}

function* objectsOf(site: Site): Generator<Stored> {
  const { version, blockSize } = site;
  const tiny = version === 4 ? "172.16.0.0/30" : "fd01::/126";
  yield { kind: "IPPool", name: "pool", spec: { cidr: poolCidr(site), blockSize } };
  yield { kind: "IPPool", name: "tiny", spec: { cidr: tiny, blockSize } };
  yield { kind: "IPAMConfiguration", name: "default", spec: { strictAffinity: false, maxBlocksPerHost: 0 } };
  const blocks = sized(site, "block");
  for (const { prefix, cidr, withHostBits } of sized(site, "affinity")) {
    yield affinity("node-a", prefix % 2 === 0 ? cidr : withHostBits);
  }
  for (const { prefix, cidr } of blocks) {
    yield block(site, prefix, cidr);
    if (prefix % 2 === 0) yield affinity("node-b", cidr);
  }
  for (const { prefix, cidr, withHostBits } of sized(site, "reservation")) {
    const reservedCIDRs = [prefix % 2 === 0 ? cidr : withHostBits];
    yield { kind: "IPReservation", name: `reserved-${prefix}`, spec: { reservedCIDRs } };
  }
  for (const [index, cidr] of mapped.entries()) {
    yield { ...affinity("node-a", "10.0.0.0/26"), name: `mapped-${index}`, spec: affinitySpec("node-a", cidr) };
    yield { kind: "IPAMBlock", name: `mapped-${index}`, spec: blockSpec(cidr, 1) };
    yield { kind: "IPReservation", name: `mapped-${index}`, spec: { reservedCIDRs: [cidr] } };
  }
  const usage = Object.fromEntries(blocks.map(({ cidr }) => [cidr, 1]));
  yield { kind: "IPAMHandle", name: "held", spec: { handleID: "held", block: usage, deleted: false } };
}

function affinity(node: string, cidr: string): Stored {
  const spec = affinitySpec(node, cidr);
  return { kind: "BlockAffinity", name: affinityName(node, cidr), spec, labels: affinityLabels(spec) };
}

const affinitySpec = (node: string, cidr: string): BlockAffinitySpec => ({
  state: "confirmed",
  node,
  type: "host",
  cidr,
  deleted: false,
});

/**
 * With all entries of its range where that is the pool's block size or a smaller one than 2^8, and in the store with the
 * default size up to 2^16; else with two.
 */
function block({ version, blockSize }: Site, prefix: number, cidr: string): Stored {
  const bits = width(version) - prefix;
  const isWhole = bits <= (blockSize === DEFAULT_SIZE[version] ? 16 : 8) || (prefix === blockSize && bits <= 12);
  return { kind: "IPAMBlock", name: blockName(cidr), spec: blockSpec(cidr, isWhole ? 2 ** bits : 2) };
}

/** The first address is allocated. */
function blockSpec(cidr: string, entries: number) {
  const ordinals = Array.from({ length: entries }, (_, ordinal) => ordinal);
  return {
    cidr,
    affinity: "host:node-b",
    affinityClaimTime: "2026-01-01T00:00:00Z",
    allocations: ordinals.map((ordinal) => (ordinal === 0 ? 0 : null)),
    unallocated: ordinals.slice(1),
    attributes: [{ handle_id: "held", secondary: { namespace: "shop", pod: "cart-0", node: "node-b" } }],
    sequenceNumber: 1000,
    sequenceNumberForAllocation: { 0: 999 },
    strictAffinity: false,
    deleted: false,
  };
}
