/** How much IPAM data an API group holds: it decides between two groups that are both served. */

import { plural } from "../api/plural.ts";
import { resources } from "../api/resources.ts";
import { collectionPath, withQuery } from "../kube/paths.ts";
import { isKubeError, type KubeClient, KubeError, type RequestOptions } from "../kube/types.ts";
import type { Flavour } from "./flavours.ts";

export interface GroupData {
  readonly blocks: number;
  readonly pools: number;
}

/** Two small requests. @throws KubeError */
export async function dataOf(client: KubeClient, flavour: Flavour, call: RequestOptions): Promise<GroupData> {
  const [blocks, pools] = await Promise.all(
    (["IPAMBlock", "IPPool"] as const).map((kind) => count(client, collectionPath(resources[kind][flavour]), call)),
  );
  return { blocks: blocks ?? 0, pools: pools ?? 0 };
}

export const isEmpty = ({ blocks, pools }: GroupData): boolean => blocks + pools === 0;

/** `3 blocks and 1 pool`. */
export const dataText = ({ blocks, pools }: GroupData): string =>
  `${plural(blocks, "block")} and ${plural(pools, "pool")}`;

/** The server says with the first object how many there are besides. */
async function count(client: KubeClient, path: string, call: RequestOptions): Promise<number> {
  const list = await client.getRaw(withQuery(path, { limit: 1 }), call).catch((error: unknown) => {
    if (isKubeError(error, "NotFound")) return { items: [] }; // this kind is not served
    throw error;
  });
  const { items, metadata } = Object(list) as { items?: unknown; metadata?: { remainingItemCount?: unknown } };
  if (!Array.isArray(items))
    throw new KubeError("ServerError", `cannot count: GET ${path} was not answered with a list`);
  return items.length + Number(metadata?.remainingItemCount ?? 0);
}
