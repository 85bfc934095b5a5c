/** The settings: the one configuration, and what else keeps anything from being allocated. */

import { configViolations } from "../../api/config-rules.ts";
import { SINGLETON_NAME } from "../../api/installation.ts";
import { family, nameOf } from "../finding.ts";
import { configure, edit, run } from "../mend.ts";

type Code = keyof typeof codes;

const codes = {
  InvalidConfiguration: {
    severity: "critical",
    title: "The IPAM configuration breaks a rule",
    means:
      "Nothing is allocated with a configuration whose fields exclude each other, or only by programs that do not look. " +
      "Releasing goes on.",
    mend: configure,
  },
  IgnoredConfiguration: {
    severity: "warning",
    title: "A configuration has a name that nobody reads",
    means: "Only the object named `default` is read: the settings in this one have no effect.",
    mend: edit,
  },
  DatastoreLocked: {
    severity: "warning",
    title: "Calico's datastore is locked",
    means:
      "`datastoreReady` is false: nothing is allocated, and new pods get no address. It is locked during a migration and " +
      "while leaked addresses are released; somebody may have forgotten to unlock it.",
    mend: run("calicoctl datastore migrate unlock", "Unlock it, once whatever locked it is done."),
  },
} as const;

export const configuration = family<Code>({
  title: "Configuration",
  codes,
  look({ snapshot, config }, report) {
    const windowsHost = snapshot.nodes?.some(({ windows }) => windows);
    for (const { message } of configViolations(config, { windowsHost })) {
      report("InvalidConfiguration", { kind: "IPAMConfiguration", name: SINGLETON_NAME }, message);
    }
    for (const object of snapshot.configurations) {
      if (object.metadata.name === SINGLETON_NAME) continue;
      report("IgnoredConfiguration", nameOf(object), `is ignored: only "${SINGLETON_NAME}" is read`);
    }
    if (snapshot.clusterInformation?.ready === false) {
      report("DatastoreLocked", { kind: "ClusterInformation", name: "default" }, "datastoreReady is false");
    }
  },
});
