/** `ipamctl assign`: takes addresses by hand. */
import { OUTPUT_FLAGS, type Verb, WRITE_FLAGS } from "../verb.ts";

export const assign: Verb = {
  name: "assign",
  summary: "Take addresses for a node by hand, for tests and emergencies.",
  description:
    "A named address is assigned even if it is reserved or its block has another owner, unless affinity is strict. Without " +
    "one, addresses are chosen as for a pod of the node; if fewer than --count are free, none is assigned. Nothing releases " +
    "them automatically: release them by their handle.",
  arguments: [{ name: "[address]", help: "The address to take; one is chosen when absent." }],
  flags: [
    { flags: "--node <NAME>", help: "Node that is to use them. Required." },
    { flags: "--handle <ID>", help: "Handle to release them by. Default: a new one." },
    { flags: "--pod <NAME>", help: "Pod that they are for: NAMESPACE/NAME." },
    { flags: "--count <N>", default: "1", help: "How many." },
    { flags: "--ip-version <4|6>", default: "4", choices: ["4", "6"], help: "Family." },
    { flags: "--pool <CIDR...>", help: "Pools to draw from. Default: those that select the node." },
    {
      flags: "--use <USE>",
      default: "Workload",
      choices: ["Workload", "Tunnel", "LoadBalancer"],
      help: "What they are for.",
    },
    ...WRITE_FLAGS,
    ...OUTPUT_FLAGS,
  ],
  examples: [
    { command: "assign --node node-1", does: "Can this node get an address?" },
    { command: "assign 10.0.0.9 --node node-1 --handle by-hand", does: "This address, and no other" },
    { command: "release --handle by-hand", does: "And back" },
  ],
  load: () => import("../assign/run.ts"),
};
