/** Rows whose deletion was begun and not finished, and objects that cannot be read. */
import { family, nameOf } from "../finding.ts";
import { edit, repair } from "../mend.ts";

type Code = keyof typeof codes;

const codes = {
  UnfinishedDeletion: {
    severity: "info",
    title: "A row is marked as deleted, and still there",
    means:
      "To readers it is gone. Who marked it was cut off before removing it; whoever next gets it by name removes it. " +
      "While it is there, nobody can create another of its name.",
    mend: repair,
    moving: true,
  },
  UnreadableObject: {
    severity: "critical",
    title: "A stored object cannot be read",
    means:
      "A field has a value that its kind does not allow: the object is as good as not there, with everything in it, and " +
      "some programs fail on the whole list.",
    mend: edit,
  },
} as const;

export const leftovers = family<Code>({
  title: "Objects as such",
  codes,
  look({ snapshot }, report) {
    for (const row of [...snapshot.blocks, ...snapshot.affinities, ...snapshot.handles]) {
      if (row.spec.deleted) report("UnfinishedDeletion", nameOf(row), "is marked as deleted, and was not removed");
    }
    for (const { kind, name, reason } of snapshot.malformed) report("UnreadableObject", { kind, name }, reason);
  },
});
