/** `ipamctl gc`: one pass of collection. */
import { OUTPUT_FLAGS, type Verb, WRITE_FLAGS } from "../verb.ts";

export const gc: Verb = {
  name: "gc",
  summary: "Free what nobody needs: leaked addresses, orphan handles, empty blocks, addresses that have cooled down.",
  description:
    "By the same judgement as `check`. Looks twice, --grace seconds apart, and once more at each thing and its owner right before " +
    "it is freed; of a handle all addresses are released or none. Tells for each thing why it is freed, or kept.",
  flags: [
    { flags: "--grace <SECONDS>", help: "Between the two looks. Default: 60; with --dry-run: one look." },
    ...WRITE_FLAGS,
    ...OUTPUT_FLAGS,
  ],
  examples: [
    { command: "gc --dry-run", does: "What would be freed, what kept, and why?" },
    { command: "gc", does: "Free it" },
    { command: "gc --grace 900 --yes -o json", does: "For a cron job, as careful as Calico's controllers" },
  ],
  load: () => import("../gc/run.ts"),
};
