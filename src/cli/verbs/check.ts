/** `ipamctl check`: what is wrong. */
import { SEVERITIES } from "../../judgement/finding.ts";
import { OUTPUT_FLAGS, READ_FLAGS, type Verb } from "../verb.ts";

export const check: Verb = {
  name: "check",
  summary: "Find what is wrong with the data, and say what mends it.",
  description:
    "Blocks, affinities, handles and the configuration, and whether pods, nodes, tunnels and Services have the addresses " +
    "that are allocated to them. What may be a change under way is looked at a second time before it is called a problem. " +
    "Exit code 0: nothing found; 3: findings; 1: it could not look.",
  flags: [
    { flags: "--ignore <CODE...>", help: "Leave out findings of these codes." },
    { flags: "--fail-on <SEVERITY>", choices: SEVERITIES, default: "info", help: "Exit with 3 from this severity on." },
    { flags: "--report <FILE>", help: "Also write a report in the format of calicoctl." },
    { flags: "--second-look <SECONDS>", default: "2", help: "How long after the first look; 0: look once." },
    { flags: "--show-all-ips", help: "calicoctl's; see `ipamctl show`.", hidden: true },
    { flags: "--show-problem-ips", help: "calicoctl's; findings are always shown.", hidden: true },
    ...READ_FLAGS,
    ...OUTPUT_FLAGS,
  ],
  examples: [
    { command: "check", does: "What is wrong?" },
    { command: "check --fail-on critical -o json", does: "For a monitor: exit code 3 only where traffic is at risk" },
    { command: "check --ignore InUseOutsidePools BlockOutsidePools", does: "Another plugin has addresses of its own" },
    { command: "check --report report.json", does: "A report for `release --from-report`" },
  ],
  load: () => import("../check/run.ts"),
};
