/** The main job on a cluster where the operator was installed by Helm: each case of the table, by kubectl alone. */
import { beforeAll, describe } from "vitest";
import { mainJobCases } from "../installation/main-job.ts";
import { userOf } from "../installation/user.ts";
import { e2eCluster } from "./cluster.ts";
import { installed, upgraded } from "./product.ts";

describe("the main job", () => {
  const user = userOf(e2eCluster(), "v3");
  // Some cases begin with an invalid configuration that is stored, as it is where there was no policy at the time.
  beforeAll(async () => {
    await installed();
    await upgraded("--set admissionPolicy=off");
  }, 600_000);

  mainJobCases("v3", () => user);
});
