/** How Calico shows the UID of an object of `crd.projectcalico.org/v1`: it must not be mistaken for the v3 object's. */

/** Bytes that keep version and variant. */
const KEPT = [6, 8];

/** The bits of every other byte in reverse order; twice, it is the same again. */
export function calicoUid(uid: string): string {
  const bytes = Buffer.from(uid.replaceAll("-", ""), "hex");
  const turned = bytes.map((byte, index) => (KEPT.includes(index) ? byte : reversed(byte)));
  const hex = Buffer.from(turned).toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function reversed(byte: number): number {
  return Number.parseInt(byte.toString(2).padStart(8, "0").split("").reverse().join(""), 2);
}
