/** Where the programs are looked for, and what is said when they cannot be had. Building them is what the cluster suites do. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ensureBinaries } from "./binaries.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "binaries-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

it("takes the programs from KUBEBUILDER_ASSETS", async () => {
  for (const name of ["etcd", "kube-apiserver", "kubectl"]) writeFileSync(join(folder, name), "");
  expect(await ensureBinaries({ KUBEBUILDER_ASSETS: folder })).toEqual({
    etcd: join(folder, "etcd"),
    kubeApiserver: join(folder, "kube-apiserver"),
    kubectl: join(folder, "kubectl"),
  });
});

it("names what KUBEBUILDER_ASSETS lacks", async () => {
  writeFileSync(join(folder, "etcd"), "");
  await expect(ensureBinaries({ KUBEBUILDER_ASSETS: folder })).rejects.toThrow("lacks kube-apiserver, kubectl");
});

it("says what to do where there is no go", async () => {
  const env = { PATH: folder, IPAM_OPERATOR_CACHE: folder };
  await expect(ensureBinaries(env)).rejects.toThrow(/needs `go` .* on the PATH.*set KUBEBUILDER_ASSETS/);
});
