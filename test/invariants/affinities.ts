/** Invariants 10, 21 to 25 and 27 to 29: who owns which block. The caller gives live objects only. */
import { affinityLabels, affinityName } from "../../src/api/names.ts";
import type { BlockAffinity, IPAMBlock } from "../../src/api/v3.ts";
import { canonicalCidr, overlaps, parseCidr } from "../../src/net/cidr.ts";
import { blockSizeOf, type CheckOptions, type Finding, findings, type ListedObjects, nameOf, poolOf } from "./model.ts";

type Row = BlockAffinity;
const rangeOf = (object: Row | IPAMBlock) => canonicalCidr(object.spec.cidr) ?? object.spec.cidr;
const ownerOf = ({ spec }: Row) => `${spec.type || "host"}:${spec.node}`;
/** Rows older than states have none, and are as good as confirmed. */
const isConfirmed = ({ spec }: Row) => spec.state === "confirmed" || spec.state === "";

export function checkAffinities(objects: ListedObjects, { mode }: CheckOptions): Finding[] {
  const atRest = mode === "atRest";
  return [
    ...overlapping(objects.blocks),
    ...conflictingRows(objects),
    ...names(objects.affinities, atRest),
    ...(atRest ? [...blockSizes(objects), ...blocksAtRest(objects), ...rowsAtRest(objects)] : []),
  ];
}

/** 10, 21. Sorted by base, a block can only overlap what comes right after it. */
function overlapping(blocks: readonly IPAMBlock[]): Finding[] {
  const ranges = blocks.flatMap((block) => {
    const range = parseCidr(block.spec.cidr);
    return range ? [{ block, range }] : [];
  });
  ranges.sort(
    (a, b) =>
      a.range.version - b.range.version || Number(a.range.base - b.range.base) || a.range.prefix - b.range.prefix,
  );
  let widest = ranges[0];
  return ranges.slice(1).flatMap((next) => {
    const before = widest!;
    if (!overlaps(before.range, next.range)) {
      widest = next;
      return [];
    }
    const same = rangeOf(before.block) === rangeOf(next.block);
    const message = same ? `a second block for ${rangeOf(next.block)}` : `overlaps ${nameOf(before.block)}`;
    return [{ invariant: same ? 21 : 10, object: nameOf(next.block), message }];
  });
}

/** 10, at rest: the pool's block size, for a block that is not older than its pool. */
function blockSizes({ blocks, pools }: ListedObjects): Finding[] {
  return findings(blocks, (block, report) => {
    const range = parseCidr(block.spec.cidr);
    const pool = range && poolOf(pools, range);
    if (!pool || olderThan(block, pool) || blockSizeOf(pool) === range.prefix) return;
    report(10, `${block.spec.cidr} in pool ${pool.metadata.name}, whose blocks are /${blockSizeOf(pool)}`);
  });
}

type Dated = { readonly metadata: { readonly creationTimestamp?: string | undefined } };
const olderThan = (a: Dated, b: Dated) =>
  Date.parse(a.metadata.creationTimestamp ?? "") < Date.parse(b.metadata.creationTimestamp ?? "");

/** 22: a confirmed row against another owner's block, at no instant. */
function conflictingRows({ blocks, affinities }: ListedObjects): Finding[] {
  const owners = new Map(blocks.map((block) => [rangeOf(block), block.spec.affinity]));
  return findings(affinities, (row, report) => {
    const owner = owners.get(rangeOf(row));
    if (isConfirmed(row) && owner !== undefined && owner !== ownerOf(row)) {
      report(22, `confirmed for ${ownerOf(row)}, but the block is ${owner}'s`);
    }
  });
}

/** 22, 24 */
function rowsAtRest({ blocks, affinities }: ListedObjects): Finding[] {
  const owners = new Map(blocks.map((block) => [rangeOf(block), block.spec.affinity]));
  return findings(affinities, (row, report) => {
    if (!isConfirmed(row)) return report(24, `is ${row.spec.state}`);
    if (owners.get(rangeOf(row)) !== undefined) return;
    report(22, `is confirmed, but ${owners.has(rangeOf(row)) ? "the block is nobody's" : "there is no such block"}`);
  });
}

/** 23, 27 */
function blocksAtRest({ blocks, affinities }: ListedObjects): Finding[] {
  const confirmed = new Set(affinities.filter(isConfirmed).map((row) => `${ownerOf(row)} ${rangeOf(row)}`));
  return findings(blocks, (block, report) => {
    const { affinity, allocations } = block.spec;
    if (affinity === undefined) {
      if (allocations.every((index) => index === null)) report(27, "is nobody's and holds nothing: it should be gone");
    } else if (!confirmed.has(`${affinity} ${rangeOf(block)}`)) {
      report(23, `is ${affinity}'s, which has no confirmed affinity to it`);
    }
  });
}

/** 28, 29. A row older than labels has none until its node is upgraded. */
function names(affinities: readonly Row[], atRest: boolean): Finding[] {
  return findings(affinities, (row, report) => {
    const wanted = Object.entries(affinityLabels(row.spec));
    const { name, labels = {} } = row.metadata;
    const unlabelled = wanted.every(([key]) => labels[key] === undefined);
    const wrong = wanted.filter(([key, value]) => labels[key] !== value).map(([key, value]) => `${key}=${value}`);
    if (wrong.length > 0 && (atRest || !unlabelled)) report(28, `should have ${wrong.join(", ")}`);
    const right = affinityName(row.spec.node, row.spec.cidr);
    if (name !== right) report(29, `the name should be ${right}`);
  });
}
