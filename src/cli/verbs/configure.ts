/** `ipamctl configure`: changes the IPAM configuration, field by field. */
import { OUTPUT_FLAGS, type Verb, WRITE_FLAGS } from "../verb.ts";

export const configure: Verb = {
  name: "configure",
  summary: "Change fields of the IPAM configuration, and keep the others.",
  description:
    "Where nothing is stored, the configuration is made with the defaults. What would break a rule is refused, with every " +
    "rule it breaks. A field that an Installation keeps would be put back by the operator: --installation writes the given " +
    "fields there instead, and without it the change is refused.",
  flags: [
    { flags: "--strict-affinity <BOOL>", help: "true: nodes use addresses of their own blocks only, and borrow none." },
    { flags: "--auto-allocate-blocks <BOOL>", help: "false: nodes claim no new blocks." },
    { flags: "--max-blocks-per-host <N>", help: "Most blocks a node may own; 0: the default, 20." },
    { flags: "--ip-cooldown-seconds <N>", help: "How long a released address rests before it is given again." },
    {
      flags: "--kubevirt-ip-persistence <VALUE>",
      choices: ["Enabled", "Disabled"],
      help: "Whether a VM keeps its address.",
    },
    { flags: "--installation", help: "Write them into the Installation, which then keeps them." },
    { flags: "--strictaffinity <BOOL>", help: "calicoctl's name for --strict-affinity.", hidden: true },
    ...WRITE_FLAGS,
    ...OUTPUT_FLAGS,
  ],
  examples: [
    {
      command: "configure --strict-affinity true --max-blocks-per-host 8",
      does: "A limit of blocks needs strict affinity",
    },
    { command: "configure --ip-cooldown-seconds 60 --dry-run", does: "What would be in force?" },
    { command: "configure --max-blocks-per-host 8 --installation", does: "Where the operator keeps the configuration" },
  ],
  load: () => import("../configure/run.ts"),
};
