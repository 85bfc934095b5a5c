/** The codes of addresses that are allocated and not in use, or in use and not allocated. */
import type { CodeRow } from "../finding.ts";
import { ask, collect, deletePod, run } from "../mend.ts";

export const addressCodes = {
  LeakedAddress: {
    severity: "warning",
    title: "An address is allocated, and whoever it is for is gone",
    means:
      "It cannot be handed out until it is released. Its pod, node or Service went while nobody could release the address, " +
      "as when a node is lost. Calico's controllers free it after 15 minutes; where they do not run, nobody does.",
    mend: collect,
    moving: true,
  },
  UnlistedAddress: {
    severity: "info",
    title: "A pod does not list an address that it has",
    means:
      "Its handle has another address that is in use, so this one is not called leaked: a release by handle would take " +
      "both. It is of a second network or family that the pod's status does not show.",
    mend: ask("Nothing needs mending while the pod lives."),
    moving: true,
  },
  UnknownOwner: {
    severity: "info",
    title: "Nobody can say whether an address is still needed",
    means:
      "Its attributes name no pod, tunnel or Service, because it was assigned by hand or by another program; or it is kept " +
      "for a VM that does not run; or its pod is starting and may be a later one of the same name. It is left alone.",
    mend: ask("Ask whoever assigned it; then `ipamctl release` it, or leave it."),
  },
  InUseNotAllocated: {
    severity: "critical",
    title: "An address is in use, and not allocated",
    means:
      "It will be handed out to another while it is in use. It was released by mistake, or the data was restored from an " +
      "old copy.",
    mend: deletePod,
    moving: true,
  },
  InUseOutsidePools: {
    severity: "info",
    title: "An address in use is in no active pool",
    means:
      "Another network plugin gave it, or its pool was deleted or disabled. Where that is as it should be: " +
      "`ipamctl check --ignore InUseOutsidePools`.",
    mend: run(
      "ipamctl show",
      "Look which pools there are. Nothing needs mending where another plugin gave the address.",
    ),
    moving: true,
  },
  DuplicateAddress: {
    severity: "critical",
    title: "Two have the same address",
    means: "Traffic reaches one of them, or neither. The one that the allocation does not name has to go.",
    mend: deletePod,
    moving: true,
  },
  AllocatedToAnother: {
    severity: "critical",
    title: "An address is in use by another than it is allocated to",
    means: "When the one it is allocated to goes, the address is released and handed out again while it is in use.",
    mend: deletePod,
    moving: true,
  },
} as const satisfies Record<string, CodeRow>;
export type AddressCode = keyof typeof addressCodes;
