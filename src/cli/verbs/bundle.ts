/** `ipamctl bundle`: everything that is needed to look at it elsewhere. */
import { PLACE_FLAGS, type Verb } from "../verb.ts";

export const bundle: Verb = {
  name: "bundle",
  summary: "Write everything that is needed to look at it elsewhere into one file.",
  description:
    "Every verb that reads works on the file: --bundle FILE. It holds the IPAM objects, and of nodes, namespaces, pods, " +
    "Services and failed sandboxes only what addresses are judged by: names, labels, addresses, phases. No Secret is read, " +
    "and no annotation is kept but the addresses and pools in it.",
  arguments: [{ name: "<file>", help: "File to write, compressed where it ends in .gz; - for standard output." }],
  flags: PLACE_FLAGS,
  examples: [
    { command: "bundle ipam.bundle.gz", does: "Take it along" },
    { command: "check --bundle ipam.bundle.gz", does: "And look at it, with no cluster" },
  ],
  load: () => import("../bundle/run.ts"),
};
