/** `ipamctl version`: of this program, the cluster, Calico and the kinds it keeps its data in. */
import { OUTPUT_FLAGS, PLACE_FLAGS, type Verb } from "../verb.ts";

export const version: Verb = {
  name: "version",
  summary: "Show the versions of this program, of the cluster, and whether they fit together.",
  flags: [{ flags: "--client", help: "Only of this program: no cluster is asked." }, ...PLACE_FLAGS, ...OUTPUT_FLAGS],
  examples: [
    { command: "version", does: "Does this program fit the cluster?" },
    { command: "version --client -o json", does: "What is installed here?" },
  ],
  load: () => import("../version/run.ts"),
};
