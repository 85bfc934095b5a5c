/** What goes on around the addresses in a race: blocks change hands, reservations and the configuration change. */
import { isDatastoreError } from "../../src/datastore/datastore.ts";
import { reservation } from "../support/ipam-data.ts";
import { addressIn, below, POOLS, pick, type Racing } from "./racing.ts";

export async function claim(racing: Racing): Promise<void> {
  const { ipam, options } = racing;
  const cidr = Math.random() < 0.5 ? `${addressIn(false, 16 * below(16))}/28` : `${addressIn(true, 4 * below(16))}/126`;
  racing.note("claiming", "");
  if (Math.random() < 0.5) await ipam.claimAffinity(cidr, { affinityType: "host", host: options.host });
  else await ipam.releaseAffinity(cidr, options.host, false);
}

/** Every host loses its blocks of a pool; addresses in use stay. */
export async function emptyPool(racing: Racing): Promise<void> {
  racing.note("claiming", "");
  await racing.ipam.releasePoolAffinities(pick(POOLS).cidr);
}

/** A collector's pass over one block: whoever wrote the block meanwhile has done it, or the next pass does. */
export async function collectCold(racing: Racing): Promise<void> {
  racing.note("claiming", "");
  const { items } = await racing.store.list("IPAMBlock");
  const cold = items.filter(({ spec }) => spec.attributes.some(({ releasedAt }) => releasedAt));
  if (cold.length === 0) return;
  const config = await racing.ipam.getIPAMConfig();
  await racing.ipam.garbageCollectColdIPs(config, pick(cold)).catch((error: unknown) => {
    if (!isDatastoreError(error, "Conflict", "NotFound")) throw error;
  });
}

/** The racer's own reservation comes, or goes. */
export async function reserve(racing: Racing): Promise<void> {
  const name = `racer-${racing.options.racer}`;
  const stored = (await racing.store.list("IPReservation")).items.find(({ metadata }) => metadata.name === name);
  const cidrs = [`${addressIn(false, 4 * below(64))}/30`, `${addressIn(true, 2 * below(32))}/127`];
  await racing.change(`reservation ${name}`, stored ? "" : cidrs.join(" "), async () => {
    if (stored) await racing.store.delete<"IPReservation">(stored);
    else await racing.store.create<"IPReservation">(reservation(name, ...cidrs));
  });
}

/** Racer 0 makes affinity strict and loose again, racer 1 changes the cooldown: in one object, each a field. */
export async function configure(racing: Racing): Promise<void> {
  const { ipam, options, values } = racing;
  if (options.racer === 0) {
    const strictAffinity = values.get("strictAffinity") !== "true";
    await racing.change("strictAffinity", `${strictAffinity}`, () => ipam.setIPAMConfig({ strictAffinity }));
  } else {
    const ipCooldownSeconds = below(3);
    await racing.change("ipCooldownSeconds", `${ipCooldownSeconds}`, () => ipam.setIPAMConfig({ ipCooldownSeconds }));
  }
}
