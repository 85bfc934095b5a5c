/** Environment variables that look like the operator's and are none: one that is ignored in silence misleads. */
import { nearest } from "./nearest.ts";

/** Every flag is also a variable that begins so. */
export const VARIABLE_PREFIX = "IPAM_OPERATOR_";

/**
 * What the kubelet sets in a pod for each Service of its namespace: the Service `ipam-operator-metrics` gives
 * IPAM_OPERATOR_METRICS_SERVICE_HOST, IPAM_OPERATOR_METRICS_PORT_8080_TCP and more.
 */
const SERVICE_LINK = /^(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/;

/** A sentence about each variable that is nearly one of `known`: a mistake, as a misspelt flag is. */
export function misspeltVariables(known: readonly string[], env: NodeJS.ProcessEnv): string[] {
  return unknownVariables(known, env).flatMap(({ name, meant }) =>
    meant === undefined ? [] : [`${name} is not a variable of the operator. Did you mean ${meant}?`],
  );
}

/** A sentence about each variable that only begins as ours do: it may be another tool's. */
export function strangeVariables(known: readonly string[], env: NodeJS.ProcessEnv): string[] {
  const example = `--log-level is ${VARIABLE_PREFIX}LOG_LEVEL`;
  return unknownVariables(known, env).flatMap(({ name, meant }) =>
    meant === undefined
      ? [`${name} is not a variable of the operator and has no effect. Known are the flags of --help: ${example}`]
      : [],
  );
}

/** Variables of our prefix that are not known, but for those that Kubernetes sets by itself. */
function unknownVariables(known: readonly string[], env: NodeJS.ProcessEnv) {
  const bare = (name: string) => name.slice(VARIABLE_PREFIX.length);
  return Object.keys(env)
    .filter((name) => name.startsWith(VARIABLE_PREFIX) && !known.includes(name) && !SERVICE_LINK.test(bare(name)))
    .map((name) => {
      const word = nearest(bare(name), known.map(bare));
      return { name, meant: word && VARIABLE_PREFIX + word };
    });
}
