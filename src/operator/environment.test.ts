import { describe, expect, test } from "vitest";
import { misspeltVariables, strangeVariables } from "./environment.ts";
import { VARIABLES } from "./options.ts";

const misspelt = (name: string) => misspeltVariables(VARIABLES, { [name]: "x" });
const strange = (name: string) => strangeVariables(VARIABLES, { [name]: "x" });

describe("a variable that begins as the operator's do", () => {
  test.each([
    ["IPAM_OPERATOR_LOGLEVEL", "IPAM_OPERATOR_LOG_LEVEL"],
    ["IPAM_OPERATOR_DATA_STORE", "IPAM_OPERATOR_DATASTORE"],
    ["IPAM_OPERATOR_KUBE_API_QPPS", "IPAM_OPERATOR_KUBE_API_QPS"],
    ["IPAM_OPERATOR_log_level", "IPAM_OPERATOR_LOG_LEVEL"],
  ])("%s is a misspelt %s", (name, meant) => {
    expect(misspelt(name)).toEqual([`${name} is not a variable of the operator. Did you mean ${meant}?`]);
    expect(strange(name)).toEqual([]);
  });

  test.each(["IPAM_OPERATOR_CACHE", "IPAM_OPERATOR_MODEL_RUNS", "IPAM_OPERATOR_RACE_OPERATIONS"])(
    "%s may be another tool's: it is told, and is no mistake",
    (name) => {
      expect(misspelt(name)).toEqual([]);
      expect(strange(name)).toEqual([expect.stringMatching(`^${name} is not a variable .* has no effect.*--help`)]);
    },
  );

  test.each([
    ...VARIABLES,
    "IPAM_OPERATOR_SERVICE_HOST",
    "IPAM_OPERATOR_SERVICE_PORT_METRICS",
    "IPAM_OPERATOR_PORT",
    "IPAM_OPERATOR_PORT_8080_TCP_ADDR",
    "IPAM_OPERATOR_METRICS_SERVICE_HOST",
    "IPAM_OPERATOR_METRICS_SERVICE_PORT",
    "IPAM_OPERATOR_METRICS_PORT_8080_TCP",
    "KUBECONFIG",
  ])("%s is nothing to say", (name) => {
    expect([...misspelt(name), ...strange(name)]).toEqual([]);
  });
});
