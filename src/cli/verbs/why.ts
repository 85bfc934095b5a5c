/** `ipamctl why`: why there is no address. */
import { OUTPUT_FLAGS, READ_FLAGS, type Verb } from "../verb.ts";

export const why: Verb = {
  name: "why",
  summary: "Say why a pod has no address, or why the next one on a node will get none.",
  description:
    "In one line, then each cause with what to do next, then what it rests on: pools and their selectors, the node's blocks " +
    "against the limit, reservations, cooldown, configuration, lock, and the pod's events. By the rules of Calico's own CNI " +
    "plugin, which are the narrower ones. Exit code 0: nothing stands in the way; 3: there is a cause; 1: it could not look.",
  arguments: [{ name: "[resource...]", help: "A pod: NAME, NAMESPACE/NAME or pod/NAME; or a node: node/NAME." }],
  flags: [
    { flags: "-n, --namespace <NAME>", help: "Namespace of the pod; with --node, of the next one." },
    { flags: "--node <NAME>", help: "In place of a pod: the next one on this node." },
    ...READ_FLAGS,
    ...OUTPUT_FLAGS,
  ],
  examples: [
    { command: "why shop/web-0", does: "Why does this pod not start?" },
    { command: "why node/node-1", does: "Will the next pod on this node get an address?" },
  ],
  load: () => import("../why/run.ts"),
};
