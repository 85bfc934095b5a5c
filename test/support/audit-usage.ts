/** Hands what a cluster suite used of its permissions to the check over all suites (test/rbac-coverage.ts). */
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { OPERATOR_USER, type RoleOfUser, usageOf } from "./audit.ts";

/**
 * Call it at the end of a suite, after its watches have ended and before the control plane stops.
 * @param roles who acted under which role; by default only the operator
 */
export async function recordUsage(
  controlPlane: Pick<ControlPlane, "auditLog">,
  roles: RoleOfUser = { [OPERATOR_USER]: "operator" },
): Promise<void> {
  const usage = usageOf(await controlPlane.auditLog(), roles);
  const content = [...usage].map(([role, texts]) => [role, [...texts]]);
  await writeFile(join(inject("auditUsageDir"), `${randomUUID()}.json`), JSON.stringify(content));
}
