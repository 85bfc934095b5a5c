/** What the embedded store takes: what an API server with the product's CRDs would take, and can be read again. */
import { faults, mistyped } from "../api/admission/checks.ts";
import { withoutNullFields } from "../api/admission/schemas.ts";
import type { Kind, Stored } from "./datastore.ts";
import { isMarkedKind } from "./rows.ts";
import { isKind, refuse, validate } from "./validation.ts";

export interface Admission {
  /** The object to write, as far as it can be judged alone. @throws DatastoreError Invalid */
  prepare<K extends Kind>(object: Stored<K>): Stored<K>;
  /** Whether `admit` has all that it needs for this kind. */
  isReady(kind: Kind): boolean;
  /** Gets what it needs. */
  load(): Promise<void>;
  /** Judges an object as it would be stored. @throws DatastoreError Invalid, in an API server's words */
  admit(next: Stored<Kind>, stored?: Stored<Kind>): void;
}

let loaded: typeof import("../api/admission/admission.ts") | undefined;

/** As an API server. The engine of rules is loaded with the first write of a kind that a person writes. */
export const asServer: Admission = {
  prepare(object) {
    if (!isKind(object.kind)) validate(object);
    refuse(
      object,
      mistyped({ kind: object.kind, object }).map(({ words }) => words),
    );
    return isMarkedKind(object.kind) ? object : withoutNullFields(object.kind, object);
  },
  isReady(kind) {
    return isMarkedKind(kind) || loaded !== undefined;
  },
  async load() {
    loaded = await import("../api/admission/admission.ts");
  },
  admit(next, stored) {
    const write = { kind: next.kind, object: next, stored };
    const problems = isMarkedKind(next.kind) ? faults(write) : loaded!.refusals(write);
    refuse(
      next,
      problems.map(({ words }) => words),
    );
    validate(next);
  },
};

/** For a copy of what is stored elsewhere: what can be read is taken, whatever today's rules are. */
export const asCopy: Admission = {
  prepare(object) {
    validate(object);
    return object;
  },
  isReady() {
    return true;
  },
  async load() {},
  admit() {},
};
