/** Events on the Installation beside those of its reasons: what each means and what to do. The reference page reads this table. */
export interface EventMeaning {
  readonly type: "Normal" | "Warning";
  readonly meaning: string;
  readonly action: string;
}

export const OTHER_EVENTS: Readonly<Record<string, EventMeaning>> = {
  Configured: {
    type: "Normal",
    meaning: "The operator created or changed the IPAM configuration. The message names each field.",
    action: "nothing",
  },
  Drift: {
    type: "Warning",
    meaning: "Another writer changed a managed field, and the operator reverted it. The message names the writer.",
    action: "change the field in the Installation instead",
  },
  IgnoredConfiguration: {
    type: "Warning",
    meaning: "An IPAM configuration has another name than `default`. Calico does not read it.",
    action: "move its settings into the Installation, and delete it",
  },
  BlocksBelowPodCapacity: {
    type: "Warning",
    meaning: "The blocks that a node may claim hold fewer addresses than the pods that it admits.",
    action: "raise maxBlocksPerHost, or use larger blocks",
  },
  FewerBlocksThanNodes: {
    type: "Warning",
    meaning: "With strict affinity, a pool has fewer blocks than nodes that use it. Some nodes get no address.",
    action: "add a pool, use smaller blocks, or turn strict affinity off",
  },
  RbacRestored: {
    type: "Normal",
    meaning: "A role or binding that the operator manages was missing or edited, and was restored.",
    action: "change the subjects file instead",
  },
  RbacRemoved: {
    type: "Normal",
    meaning: "The operator deleted a role or binding that the subjects file no longer asks for.",
    action: "nothing",
  },
  RbacDiffers: {
    type: "Normal",
    meaning: "A role or binding differs, and managementPolicy is Observe. Nothing is written.",
    action: "set managementPolicy: Enforce to restore it",
  },
  RbacNotOurs: {
    type: "Warning",
    meaning: "A role or binding of that name belongs to another manager, and is not changed.",
    action: "rename or delete it, or add the label that the message names",
  },
  RbacHeld: {
    type: "Warning",
    meaning: "Finalizers block the deletion of a role or binding. It stays in force until they are removed.",
    action: "let their controller finish, or run the command of the message",
  },
  RbacForbidden: {
    type: "Warning",
    meaning: "The operator lacks a permission to reconcile its roles.",
    action: "apply rbac/operator.yaml of this version",
  },
};
