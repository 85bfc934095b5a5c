/** `ipamctl explain`: what a finding's code means. */
import { OUTPUT_FLAGS, type Verb } from "../verb.ts";

export const explain: Verb = {
  name: "explain",
  summary: "Explain a finding of `check`, or a cause of `why`, by its code.",
  arguments: [{ name: "[code]", help: "Its code; every finding's when absent." }],
  flags: OUTPUT_FLAGS,
  examples: [
    { command: "explain LeakedAddress", does: "What is a leaked address, and what is to be done?" },
    { command: "explain", does: "Which findings are there?" },
  ],
  load: () => import("../explain/run.ts"),
};
