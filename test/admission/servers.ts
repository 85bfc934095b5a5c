/** API servers of both groups, asked for their verdict on an object without storing it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { parse, stringify } from "yaml";
import { installationResource, resources } from "../../src/api/resources.ts";
import { V1_API_VERSION } from "../../src/api/v1.ts";
import { V3_API_VERSION } from "../../src/api/v3.ts";
import { apiRequest } from "../control-plane/api-request.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { applyCrds } from "../control-plane/crds.ts";
import { EDITS, type EditCase, objectOf, type WrittenCase } from "./refusals.ts";

export type Group = "v1" | "v3";

/** With a pool for each edit, stored before the CRDs had any rule. */
export async function serverWithOldPools(cluster: ControlPlane): Promise<void> {
  for (const group of ["v1", "v3"] as const) await applyWithoutRules(cluster, group);
  for (const group of ["v1", "v3"] as const) {
    for (const [at, { kind, stored, why }] of EDITS.entries()) {
      const old = { why, kind, spec: stored, metadata: { name: `old-${at}` } };
      await eventually(async () => expect(await verdict(cluster, group, "POST", "", inGroup(old, group))).toEqual([]));
    }
  }
  await applyCrds(cluster, "both");
  const unmasked = { why: "", kind: "IPPool", spec: { cidr: "10.0.0.1/16" } } as const;
  for (const group of ["v1", "v3"] as const)
    await eventually(async () => expect(await verdictOnCreate(cluster, group, unmasked)).not.toEqual([]));
}

/** What a server says to a create, strict as kubectl asks it to be; nothing where it takes it. */
export function verdictOnCreate(cluster: ControlPlane, group: Group, written: WrittenCase): Promise<string[]> {
  return verdict(cluster, group, "POST", STRICT, inGroup(written, group));
}

/** What a server says to an update of the old pool, with a label besides. */
export async function verdictOnEdit(cluster: ControlPlane, group: Group, edit: EditCase): Promise<string[]> {
  const name = `old-${EDITS.indexOf(edit)}`;
  const stored = JSON.parse((await request(cluster, group, "GET", { kind: edit.kind, name })).body);
  const metadata = { ...stored.metadata, labels: { edited: "yes" } };
  return verdict(cluster, group, "PUT", STRICT, { ...stored, metadata, spec: edit.spec });
}

const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 30_000, interval: 50 });

const STRICT = "?dryRun=All&fieldValidation=Strict";

async function applyWithoutRules(cluster: ControlPlane, group: Group): Promise<void> {
  const { group: apiGroup, plural } = resources.IPPool[group];
  const file = join(import.meta.dirname, `../../crds/${group}/${apiGroup}_${plural}.yaml`);
  const crd = parse(readFileSync(file, "utf8"));
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  crd.spec.versions[0].schema.openAPIV3Schema = { type: "object", properties: { spec: anything } };
  await cluster.kubectlOk(["apply", "--server-side", "--filename", "-"], { input: stringify(crd) });
  await cluster.kubectlOk(["wait", "--for=condition=Established", "--timeout=30s", `crd/${plural}.${apiGroup}`]);
}

function resourceOf(kind: string, group: Group) {
  return kind === "Installation" ? installationResource : resources[kind as "IPPool"][group];
}

function inGroup(written: WrittenCase, group: Group) {
  const { apiVersion, kind, ...object } = objectOf(written);
  const isIpam = apiVersion === V3_API_VERSION && group === "v1";
  return { ...object, apiVersion: isIpam ? V1_API_VERSION : apiVersion, kind: resourceOf(kind, group).kind };
}

type Named = { readonly kind: string; readonly name?: string };

function request(
  cluster: ControlPlane,
  group: Group,
  method: string,
  { kind, name }: Named,
  query = "",
  body?: object,
) {
  const ours = kind === "IPAMConfig" ? "IPAMConfiguration" : kind;
  const { group: apiGroup, version, plural } = resourceOf(ours, group);
  const path = ["/apis", apiGroup, version, plural, ...(name ? [name] : [])].join("/");
  return apiRequest(cluster, cluster.adminToken, method, path + query, body);
}

async function verdict(
  cluster: ControlPlane,
  group: Group,
  method: "POST" | "PUT",
  query: string,
  object: object,
): Promise<string[]> {
  const { kind, metadata } = object as { kind: string; metadata: { name: string } };
  const named = method === "PUT" ? { kind, name: metadata.name } : { kind };
  const { status, body } = await request(cluster, group, method, named, query, object);
  const { reason, message, details } = status < 300 ? {} : JSON.parse(body);
  if (reason === undefined || reason === "AlreadyExists") return [];
  if (reason === "BadRequest")
    return message
      .replace(/^.* cannot be handled as a \w+: (strict decoding error: )?/, "")
      .split(/, (?=unknown field)/)
      .sort();
  const causes: string[] = details.causes.map((cause: Cause) => `${cause.field}: ${cause.message}`);
  return causes
    .filter((words) => !ABOUT_NO_FIELD.test(words))
    .map((words) => words.replace(/^<nil>: /, ""))
    .sort();
}

interface Cause {
  readonly field: string;
  readonly message: string;
}

/** That rules were not asked, and a second word on a number that another cause is about already. */
const ABOUT_NO_FIELD =
  /^<nil>: Invalid value: (null: some validation rules were not checked|"": Checked value must be of type)/;
