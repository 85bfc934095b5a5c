/** Where helm is looked for. Building it is what the chart's tests do. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ensureHelm, helm3Version, helmVersion } from "./helm.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "helm-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function install(version: string): void {
  writeFileSync(join(folder, "helm"), `#!/bin/sh\necho ${version}\n`);
  chmodSync(join(folder, "helm"), 0o755);
}

it("takes the helm that HELM names", async () => {
  expect(await ensureHelm({ HELM: "/opt/helm" })).toBe("/opt/helm");
});

it("takes an installed Helm 3 or 4", async () => {
  for (const version of ["v3.18.4+gd80839c", "v4.0.0"]) {
    install(version);
    expect(await ensureHelm({ PATH: folder, IPAM_OPERATOR_CACHE: folder })).toBe("helm");
  }
});

it("passes over an older one, and says what to do where there is no go to build another", async () => {
  install("v2.17.0+ga690bad");
  await expect(ensureHelm({ PATH: folder, IPAM_OPERATOR_CACHE: folder })).rejects.toThrow(
    /helm needs `go` .* on the PATH.* or install helm 3 or 4/,
  );
});

it("calls those it builds by the versions that are built", () => {
  const goMod = readFileSync(join(import.meta.dirname, "helm", "go.mod"), "utf8");
  expect(goMod).toContain(`helm.sh/helm/v4 ${helmVersion} `);
  expect(goMod).toContain(`helm.sh/helm/v3 ${helm3Version} `);
});
