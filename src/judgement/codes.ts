/** Every code there is. Codes are for programs and runbooks: one that was released keeps its name and its meaning. */
import { addresses } from "./families/addresses.ts";
import { affinities } from "./families/affinities.ts";
import { blocks } from "./families/blocks.ts";
import { capacity } from "./families/capacity.ts";
import { configuration } from "./families/configuration.ts";
import { freeList } from "./families/free-list.ts";
import { handles } from "./families/handles.ts";
import { leftovers } from "./families/leftovers.ts";
import { pools } from "./families/pools.ts";
import { ranges } from "./families/ranges.ts";
import type { CodeRow, Family } from "./finding.ts";

/** In the order in which they are looked for and told. */
export const FAMILIES: readonly Family[] = [
  addresses,
  freeList,
  blocks,
  ranges,
  affinities,
  handles,
  configuration,
  pools,
  capacity,
  leftovers,
] as readonly Family[];

export const CODES: Readonly<Record<string, CodeRow>> = Object.assign({}, ...FAMILIES.map(({ codes }) => codes));
