/** In what the two generations of a cluster differ: the names of resources and the form of objects. A table, no code paths. */
import { fromV1, fromV3, toV1, toV3 } from "../api/conversion.ts";
import type { KubeObject } from "../api/meta.ts";
import { installationResource, type Resource, resources } from "../api/resources.ts";
import { V1_API_VERSION } from "../api/v1.ts";
import { type IpamKind, V3_API_VERSION } from "../api/v3.ts";
import { DatastoreError, type Kind, type Stored } from "./datastore.ts";
import { problemsOf } from "./validation.ts";

/** A generation of a cluster: which of Calico's two API groups its data is in. */
export type Flavour = "v1" | "v3";

/** API group and version of each flavour. */
export const apiGroups: Readonly<Record<Flavour, string>> = { v1: V1_API_VERSION, v3: V3_API_VERSION };

/** One kind as a cluster has it. */
export interface Codec<K extends Kind> {
  readonly resource: Resource;
  /** @throws ConversionError, DatastoreError Invalid */
  read(wire: KubeObject): Stored<K>;
  /** @throws ConversionError */
  write(object: Stored<K>): KubeObject;
}

const conversions = {
  v1: { read: fromV1, write: toV1 },
  v3: { read: fromV3, write: toV3 },
} as const;

/** How a cluster of this flavour holds a kind. The Installation is the same in both. */
export function codecOf<K extends Kind>(flavour: Flavour, kind: K): Codec<K> {
  const codec = kind === "Installation" ? installationCodec : ipamCodec(flavour, kind as IpamKind);
  return codec as unknown as Codec<K>;
}

function ipamCodec<K extends IpamKind>(flavour: Flavour, kind: K): Codec<K> {
  const { read, write } = conversions[flavour];
  return {
    resource: resources[kind][flavour],
    read: (wire) => read(kind, wire) as Stored<K>,
    write: (object) => write(kind, object as never) as KubeObject,
  };
}

const installationCodec: Codec<"Installation"> = {
  resource: installationResource,
  write: (object) => object,
  read(wire) {
    const problems = problemsOf("Installation", wire);
    if (problems.length === 0) return wire as Stored<"Installation">;
    const { plural, group, kind } = installationResource;
    const { name } = wire.metadata;
    throw new DatastoreError(
      "Invalid",
      kind,
      name,
      `${kind} "${name}" cannot be read: ${problems.join("; ")}. Correct it: kubectl edit ${plural}.${group} ${name}`,
    );
  },
};
