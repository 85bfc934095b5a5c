/** `ipamctl plan`: answers before a change is made. */
import { OUTPUT_FLAGS, READ_FLAGS, type Verb } from "../verb.ts";

const SETTINGS = "Settings in place of the stored ones:";

export const plan: Verb = {
  name: "plan",
  summary: "Say how many nodes and pods pools and settings carry, and where it runs out first.",
  description:
    "Fills nodes with pods on a store in memory, by the library that allocates, and changes nothing anywhere. With --cidr " +
    "from nothing; else on the data as it is, with what manifests propose. Nodes fill up one after the other. Exit code 0: " +
    "every node gets all; 3: one does not, or the proposal brings findings of `check`.",
  flags: [
    { flags: "-f, --filename <FILE...>", help: "Manifests of an Installation, pools, reservations: compare with now." },
    { flags: "--cidr <CIDR...>", help: "Pools to plan for from nothing; no cluster is asked." },
    { flags: "--block-size <BITS>", help: "With --cidr: block size. Default: 26, and 122 for IPv6." },
    { flags: "--nodes <COUNT>", help: "So many nodes. Default: those there are; with --cidr as many as are carried." },
    { flags: "--pods-per-node <COUNT>", help: "Pods of each node. Default: what its kubelet takes, else 110." },
    { flags: "--restarts <COUNT>", help: "Pods that each node replaces in a minute: their addresses cool down." },
    { flags: "--max-blocks-per-host <COUNT>", help: "Most blocks a node may own; 0: 20.", group: SETTINGS },
    { flags: "--strict-affinity <BOOLEAN>", help: "true or false.", group: SETTINGS },
    { flags: "--cooldown <SECONDS>", help: "How long a released address rests.", group: SETTINGS },
    ...READ_FLAGS,
    ...OUTPUT_FLAGS,
  ],
  examples: [
    { command: "plan --cidr 10.244.0.0/16 --pods-per-node 110", does: "How many nodes does this pool carry?" },
    { command: "plan -f pool.yaml --nodes 50", does: "And the cluster with this pool, grown to 50 nodes?" },
    { command: "plan --strict-affinity true --max-blocks-per-host 4", does: "May these settings be changed?" },
  ],
  load: () => import("../plan/run.ts"),
};
