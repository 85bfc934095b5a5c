/** The main job on a real API server, in both generations. */
import { afterAll, beforeAll, describe, expect } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { denied, OPERATOR_USER } from "../support/audit.ts";
import { recordUsage } from "../support/audit-usage.ts";
import { type RunningOperator, startOperator } from "../support/operator-process.ts";
import { mainJobCases } from "./main-job.ts";
import { type User, userOf } from "./user.ts";

describe.each(["v1", "v3"] as const)("the main job on %s", (generation) => {
  let cluster: ControlPlane;
  let operator: RunningOperator;
  let user: User;

  beforeAll(async () => {
    cluster = await startControlPlane({ crds: generation });
    operator = await startOperator(cluster);
    user = userOf(cluster, generation);
  });
  afterAll(async () => {
    await operator?.stop();
    if (cluster) {
      expect(denied(await cluster.auditLog(), OPERATOR_USER)).toEqual([]);
      await recordUsage(cluster);
    }
    await cluster?.stop();
  });

  mainJobCases(generation, () => user);
});
