/** `ipamctl repair`: mends what `check` found, one code at a time. */
import { OUTPUT_FLAGS, type Verb, WRITE_FLAGS } from "../verb.ts";

export const repair: Verb = {
  name: "repair",
  summary: "Mend what `check` found, one code at a time.",
  description:
    "Looks twice, --grace seconds apart, shows what it would change, asks, and looks at each object once more right before " +
    "it is written. Every object that it changes is kept in a file as it was; --restore puts those back that nobody " +
    "changed since.",
  arguments: [{ name: "[code]", help: "Code of the findings to mend." }],
  flags: [
    { flags: "--grace <SECONDS>", help: "Between the two looks. Default: 60; with --dry-run: one look." },
    { flags: "--all", help: "More than 100 objects at once." },
    { flags: "--copy <FILE>", help: "Where the objects are kept as they were. Default: a new file in this folder." },
    { flags: "--restore <FILE>", help: "Restore what a repair changed." },
    ...WRITE_FLAGS,
    ...OUTPUT_FLAGS,
  ],
  examples: [
    { command: "repair OrphanHandle --dry-run", does: "What would be changed?" },
    { command: "repair DanglingAffinity", does: "Mend it" },
    { command: "repair OrphanHandle --all --yes", does: "All 63,000 of them, without being asked" },
    { command: "repair --restore ipamctl-repair.jsonl", does: "Undo it" },
  ],
  load: () => import("../repair/run.ts"),
};
