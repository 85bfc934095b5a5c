/** `ipamctl completion`: a script for the shell, made from the table of verbs. */
import type { Verb } from "../verb.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;

export const completion: Verb = {
  name: "completion",
  summary: "Print a script that completes verbs and flags in a shell.",
  description: "Put it where your shell reads it, or run it each time the shell starts.",
  arguments: [{ name: "<shell>", help: "bash, zsh or fish.", choices: SHELLS }],
  flags: [],
  examples: [
    { command: "completion bash > ipamctl.bash", does: "For bash: source this file in ~/.bashrc" },
    { command: "completion fish > ipamctl.fish", does: "For fish: put it into ~/.config/fish/completions" },
  ],
  load: () => import("../completion/run.ts"),
};
