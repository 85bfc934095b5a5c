/**
 * The restricted Pod Security Standard, field by field, as
 * https://kubernetes.io/docs/concepts/security/pod-security-standards lists it: what a pod's spec has against it.
 */

// biome-ignore lint/suspicious/noExplicitAny: rendered YAML, read where the standard has a rule
type Spec = any;

const VOLUMES = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret",
];
const HOST_NAMESPACES = ["hostNetwork", "hostPID", "hostIPC"] as const;
const SECCOMP = ["RuntimeDefault", "Localhost"];

/** One line per rule that is broken, naming the field. */
export function restrictedViolations(spec: Spec): string[] {
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  return [
    ...HOST_NAMESPACES.filter((field) => spec[field]).map((field) => `${field} is true`),
    ...(spec.volumes ?? []).filter((volume: Spec) => !VOLUMES.some((type) => type in volume)).map(volumeText),
    ...(spec.securityContext?.runAsUser === 0 ? ["securityContext.runAsUser is 0"] : []),
    ...(spec.securityContext?.sysctls?.length ? ["securityContext.sysctls are set"] : []),
    ...containers.flatMap((container: Spec) => containerViolations(container, spec.securityContext ?? {})),
  ];
}

const volumeText = ({ name }: Spec) => `volumes: ${name} is of a kind that is not allowed`;

function containerViolations({ name, securityContext: own = {}, ports = [] }: Spec, pod: Spec): string[] {
  const broken: Record<string, boolean> = {
    "privileged is true": own.privileged === true,
    "allowPrivilegeEscalation is not false": own.allowPrivilegeEscalation !== false,
    "capabilities.drop lacks ALL": !own.capabilities?.drop?.includes("ALL"),
    "capabilities.add has more than NET_BIND_SERVICE": !onlyBinding(own.capabilities?.add ?? []),
    "runAsNonRoot is not true": (own.runAsNonRoot ?? pod.runAsNonRoot) !== true,
    "runAsUser is 0": own.runAsUser === 0,
    "seccompProfile is neither RuntimeDefault nor Localhost": !SECCOMP.includes(
      (own.seccompProfile ?? pod.seccompProfile)?.type,
    ),
    "procMount is not Default": (own.procMount ?? "Default") !== "Default",
    "a hostPort is set": ports.some(({ hostPort }: Spec) => hostPort),
  };
  return Object.keys(broken).flatMap((rule) => (broken[rule] ? [`${name}: ${rule}`] : []));
}

const onlyBinding = (added: readonly string[]) => added.every((capability) => capability === "NET_BIND_SERVICE");
