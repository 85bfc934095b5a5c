/** `ipamctl release`: gives addresses back. */
import { FORCE, OUTPUT_FLAGS, type Verb, WRITE_FLAGS } from "../verb.ts";

export const release: Verb = {
  name: "release",
  summary: "Release addresses: by address, handle, pod or node, or what reports of `check` call leaked.",
  description:
    "Each address is released only as it was looked at: from the same handle, at the same sequence number. Its owner is " +
    "looked at again right before, and one that is in use is refused unless --even-in-use is given. --from-report demands that Calico's datastore is locked, and that a " +
    "report was made after it was; of several reports only what is leaked in all of them is released, and of that only " +
    "what is leaked still. Every other way refuses while the datastore is locked.",
  arguments: [{ name: "[address...]", help: "Addresses to release." }],
  flags: [
    { flags: "--handle <ID>", help: "Addresses of this handle." },
    { flags: "--pod <NAME>", help: "Addresses of this pod: NAMESPACE/NAME." },
    { flags: "--node <NAME>", help: "Addresses that this node uses." },
    { flags: "--from-report <FILE...>", help: "Leaked addresses and handles of these reports (`check --report`)." },
    {
      flags: "--even-in-use",
      help: "Also addresses that are in use, or of which nobody can say: they can be given twice.",
    },
    { flags: "--force", help: `${FORCE} With --from-report: also unlocked, or reports of another version.` },
    { flags: "--ip <ADDRESS>", help: "calicoctl's; give the address as argument.", hidden: true },
    ...WRITE_FLAGS.filter(({ flags }) => flags !== "--force"),
    ...OUTPUT_FLAGS,
  ],
  examples: [
    { command: "release 10.0.0.1 --dry-run", does: "Whose is it, and could it be released?" },
    { command: "release --pod default/web-0", does: "A pod is gone, and its addresses are not" },
    { command: "release --node node-9 --yes", does: "A node is gone: everything on it, without being asked" },
    { command: "release --from-report before.json after.json", does: "What two reports, an hour apart, call leaked" },
  ],
  load: () => import("../release/run.ts"),
};
