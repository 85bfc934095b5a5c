/** `ipamctl top`: what is fullest, and when it runs out. */
import { OUTPUT_FLAGS, READ_FLAGS, type Verb } from "../verb.ts";

export const top: Verb = {
  name: "top",
  summary: "Show the fullest pools and nodes, and when a pool runs out at the rate seen.",
  description:
    "The rate rests on allocation times: how many of the addresses that are held now were allocated in the last hours. What " +
    "was released meanwhile leaves no trace, so that a pool runs out no earlier than told. Two looks show the true change: " +
    "--earlier BUNDLE compares with a bundle taken before, --over SECONDS looks twice.",
  flags: [
    { flags: "--hours <COUNT>", default: "24", help: "Span of the allocation times." },
    { flags: "--earlier <BUNDLE>", help: "A bundle taken before, to tell the rate from." },
    { flags: "--over <SECONDS>", help: "Look twice, so long apart, to tell the rate." },
    { flags: "--limit <COUNT>", default: "10", help: "Nodes to show at most; 0: all." },
    ...READ_FLAGS,
    ...OUTPUT_FLAGS,
  ],
  examples: [
    { command: "top", does: "What is fullest?" },
    { command: "top --earlier yesterday.bundle.gz", does: "When does a pool run out, at the rate since yesterday?" },
  ],
  load: () => import("../top/run.ts"),
};
