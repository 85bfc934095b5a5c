/** The API server's audit log: who asked for what, and whether RBAC let it pass. */
import { readFile } from "node:fs/promises";

/** Every request once, when its answer is complete, without the bodies. */
export const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived", "ResponseStarted", "Panic"],
  rules: [{ level: "Metadata" }],
};

/** One answered request (audit.k8s.io/v1 Event, the fields tests look at). */
export interface AuditEvent {
  readonly auditID: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string; readonly groups?: readonly string[] };
  readonly objectRef?: {
    readonly resource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiGroup?: string;
    readonly apiVersion?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code: number; readonly reason?: string; readonly message?: string };
  /** `authorization.k8s.io/decision` is "allow" or "forbid", `authorization.k8s.io/reason` names the binding. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

/** Reads the audit log so far. A watch appears when it ends. */
export async function readAuditLog(path: string): Promise<AuditEvent[]> {
  const complete = (await readFile(path, "utf8")).split("\n").slice(0, -1); // what follows the last newline is still being written
  return complete.map((line) => JSON.parse(line) as AuditEvent);
}
