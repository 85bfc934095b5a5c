/** `ipamctl split`: cuts a pool into equal parts. */
import { OUTPUT_FLAGS, type Verb, WRITE_FLAGS } from "../verb.ts";

export const split: Verb = {
  name: "split",
  summary: "Cut a pool into equal parts, each a pool of its own.",
  description:
    "Disables the pool, creates the parts and deletes the pool; blocks and addresses stay as they are. Demands that Calico's " +
    "datastore is locked. Where it was cut off, the same command goes on from there.",
  arguments: [{ name: "<number>", help: "How many parts: a power of two, from 2." }],
  flags: [
    { flags: "--name <POOL>", help: "The pool, by name." },
    { flags: "--cidr <CIDR>", help: "The pool, by its range." },
    ...WRITE_FLAGS,
    ...OUTPUT_FLAGS,
  ],
  examples: [
    { command: "split 2 --name default-ipv4-ippool --dry-run", does: "Which pools would there be?" },
    { command: "split 2 --name default-ipv4-ippool", does: "Cut it, or go on where that was cut off" },
  ],
  load: () => import("../split/run.ts"),
};
