/** Stored objects without what differs from run to run: clock values, and the number a block's sequence starts from. */
import { mapFields } from "../../src/api/fields.ts";
import type { BlockAffinity, IPAMBlock, IPAMConfiguration, IPAMHandle } from "../../src/api/v3.ts";
import { effectiveConfig } from "../../src/ipam/config.ts";

export interface StoredObjects {
  readonly blocks: readonly IPAMBlock[];
  readonly affinities: readonly BlockAffinity[];
  readonly handles: readonly IPAMHandle[];
  readonly configurations: readonly IPAMConfiguration[];
}

/** One side of a comparison. Sequence numbers are compared by how far they went since the last look. */
export class Side {
  #numbers = new Map<string, bigint>();

  comparable({ blocks, affinities, handles, configurations }: StoredObjects) {
    const compared = {
      blocks: byName(blocks, (block) => this.#block(block)),
      affinities: byName(affinities, ({ metadata, spec }) => ({ labels: metadata.labels, spec })),
      handles: byName(handles, ({ spec }) => spec),
      configurations: byName(configurations, ({ spec }) => effectiveConfig(spec)),
    };
    this.#numbers = new Map(blocks.map(({ metadata, spec }) => [metadata.name, spec.sequenceNumber ?? 0n]));
    return compared;
  }

  #block({ metadata, spec }: IPAMBlock) {
    const { sequenceNumber = 0n, sequenceNumberForAllocation = {} } = spec;
    const before = this.#numbers.get(metadata.name);
    return mapFields(spec, {
      affinityClaimTime: () => "a time",
      attributes: () => spec.attributes.map((entry) => mapFields(entry, { releasedAt: () => "a time" })),
      sequenceNumber: () => (before === undefined ? "new" : `${sequenceNumber - before} later`),
      sequenceNumberForAllocation: () =>
        Object.entries(sequenceNumberForAllocation).map(
          ([ordinal, number]) => `${ordinal}: ${sequenceNumber - number} ago`,
        ),
    });
  }
}

const byName = <T extends { readonly metadata: { readonly name: string } }>(
  objects: readonly T[],
  to: (object: T) => unknown,
) => Object.fromEntries(objects.map((object) => [object.metadata.name, to(object)]));
