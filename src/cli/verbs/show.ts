/** `ipamctl show`: what there is. */
import { OUTPUT_FLAGS, READ_FLAGS, type Verb } from "../verb.ts";

export const show: Verb = {
  name: "show",
  summary: "Show pools and blocks, how full they are, and who has which address.",
  description:
    "Without a flag: every pool. IPS IN USE counts what is allocated and what cools down; an address can be in use and " +
    "reserved, so the numbers need not add up. A resource shows what it has: an address its owner, a node, pod, service, " +
    "namespace, handle or range its addresses. --node, --namespace, --pod, --handle, --pool and --cooldown can be combined.",
  arguments: [
    {
      name: "[resource...]",
      help:
        "An address, a range, or TYPE/NAME with pod, node, namespace, service, pool, block, handle or address as type. " +
        "A pod without --namespace is looked for in all namespaces.",
    },
  ],
  flags: [
    { flags: "--blocks", help: "Pools, and the blocks of each." },
    { flags: "--ip <ADDRESS>", help: "What this address is, who has it, or when it is free." },
    { flags: "--node <NAME>", help: "Addresses that this node uses." },
    { flags: "-n, --namespace <NAME>", help: "Addresses of this namespace." },
    { flags: "-A, --all-namespaces", help: "Addresses of all namespaces: the default." },
    { flags: "--addresses", help: "Every address that is allocated or cools down, with its owner; also with --pool." },
    { flags: "--pod <NAME>", help: "Addresses of a pod: NAME, or NAMESPACE/NAME." },
    { flags: "--handle <ID>", help: "Addresses of a handle." },
    { flags: "--cooldown", help: "Addresses that were released and cannot be handed out yet." },
    { flags: "--borrowed", help: "Addresses that another node uses than the one that owns their block." },
    { flags: "--configuration", help: "The IPAM configuration in force, and where its values come from." },
    { flags: "--map", help: "A picture of each pool: how full its blocks are." },
    { flags: "--ascii", help: "With --map: plain characters." },
    { flags: "--pool <POOL>", help: "Only this pool, by name or CIDR." },
    { flags: "--show-blocks", help: "calicoctl's name for --blocks.", hidden: true },
    { flags: "--show-borrowed", help: "calicoctl's name for --borrowed.", hidden: true },
    { flags: "--show-configuration", help: "calicoctl's name for --configuration.", hidden: true },
    ...READ_FLAGS,
    ...OUTPUT_FLAGS,
  ],
  examples: [
    { command: "show", does: "How full are the pools?" },
    { command: "show 10.0.0.1", does: "Who has this address?" },
    { command: "show pod/web-0 -n shop", does: "Which addresses has this pod?" },
    { command: "show --pool default-ipv4-ippool --addresses", does: "Who has the addresses of this pool?" },
    { command: "show --node node-1 -o json", does: "Every address that a node uses, for a program" },
    { command: "show --map --pool default-ipv4-ippool", does: "Where in the pool is room?" },
  ],
  load: () => import("../show/run.ts"),
};
