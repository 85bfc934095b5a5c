/** Whose a block is, as it says and without judging whether that is right. */
import type { AttributeMap, BlockAffinity, IPAMBlock } from "../api/v3.ts";

/** Whether a block's affinity says whose it is. */
export const isOwner = (affinity: string) => /^(host|virtual):./s.test(affinity);

/** The name behind `host:` or `virtual:`; undefined where nobody owns the block. */
export function affinityHost({ spec }: IPAMBlock): string | undefined {
  const at = spec.affinity?.indexOf(":") ?? -1;
  return at < 0 ? undefined : spec.affinity!.slice(at + 1);
}

/** The host that owns the block, where one of the cluster's nodes does and no virtual owner. */
export function nodeOwner(block: IPAMBlock): string | undefined {
  return block.spec.affinity?.startsWith("host:") ? affinityHost(block) : undefined;
}

/** A row's owner as blocks write it. A row without type is older than types, and a host's. */
export function rowOwnerText({ spec }: BlockAffinity): string {
  return `${spec.type || "host"}:${spec.node}`;
}

/** Keys of the attributes that say whose an address is. */
export interface OwnerName {
  /** `pod`, `vmi`, `service`, or what the attribute `type` says. */
  readonly type?: string;
  /** `namespace/name`; a tunnel's node. */
  readonly owner?: string;
}

/** Whose an address is, as its attributes say. */
export function ownerName(attributes: AttributeMap): OwnerName {
  const { namespace = "", type } = attributes;
  for (const [kind, key] of [
    ["vmi", "vmi-name"],
    ["pod", "pod"],
    ["service", "service"],
  ] as const) {
    const name = attributes[key];
    if (name !== undefined) return { type: kind, owner: `${namespace}/${name}` };
  }
  return { ...(type && { type }), ...(attributes["node"] && { owner: attributes["node"] }) };
}

/** The node that uses an address, where the block is another's: the owner of the block, "" where nobody owns it. */
export function borrowedFrom(owner: AttributeMap, block: IPAMBlock): string | undefined {
  const host = affinityHost(block) ?? "";
  const user = owner["node"];
  return user === undefined || user === host ? undefined : host;
}
