/** `ipamctl explain`: what a finding's code means. */
import { OUTPUT_FLAGS, type Verb } from "../verb.ts";

export const explain: Verb = {
  name: "explain",
  summary: "Explain a finding of `check` by its code: what it means, what comes of it, what mends it.",
  arguments: [{ name: "[code]", help: "Code of a finding; every code when absent." }],
  flags: OUTPUT_FLAGS,
  examples: [
    { command: "explain LeakedAddress", does: "What is a leaked address, and what is to be done?" },
    { command: "explain", does: "Which findings are there?" },
  ],
  load: () => import("../explain/run.ts"),
};
