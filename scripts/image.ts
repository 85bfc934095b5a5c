/**
 * Lays out the files of the image in dist/image, prints their sizes, and with `--tag NAME` builds the image.
 * `--scratch`: with Node and the libraries it needs, for a build on nothing; else only what comes on top of the base.
 */
import { spawnSync } from "node:child_process";
import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json" with { type: "json" };
import { bundleOperator } from "./build.ts";
import { type Component, layOutNode } from "./image/node.ts";
import { sizesIn, sizesText } from "./image/sizes.ts";
import { sbom } from "./sbom.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, "dist/image");

/** Fills `out` with all files of the image; it is emptied before. */
export async function layOutImage(out: string, { scratch }: { readonly scratch: boolean }): Promise<void> {
  await rm(out, { recursive: true, force: true });
  await mkdir(join(out, "app"), { recursive: true });
  await bundleOperator(join(out, "app/ipam-operator.mjs"));
  await copyFile(join(root, "LICENSE"), join(out, "app/LICENSE"));
  const runtime: readonly Component[] = scratch ? await layOutNode(out) : [];
  await writeFile(join(out, "app/sbom.cdx.json"), sbom(runtime));
}

/** The build arguments that end up in the image's labels. */
function labels(): string[] {
  const git = (...args: string[]) => spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout?.trim();
  const known = {
    VERSION: manifest.version,
    REVISION: git("rev-parse", "HEAD"),
    CREATED: git("show", "--no-patch", "--format=%cI"),
  };
  return Object.entries(known).flatMap(([name, value]) => (value ? ["--build-arg", `${name}=${value}`] : []));
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { scratch: { type: "boolean", default: false }, tag: { type: "string" } } });
  const { scratch, tag } = values;
  await layOutImage(folder, { scratch });
  console.log(`dist/image:\n${sizesText(await sizesIn(folder))}`);
  const base = scratch ? ["--build-arg", "BASE=scratch"] : [];
  const command = ["build", ...base, ...labels(), "--tag", tag ?? `${manifest.name}:${manifest.version}`, "."];
  console.log(`docker ${command.join(" ")}`);
  if (tag === undefined) return;
  const { status, error } = spawnSync("docker", command, { cwd: root, stdio: "inherit" });
  if (error) throw new Error(`docker could not be run (${error.message}): install it, or leave --tag out`);
  process.exitCode = status ?? 1;
}

if (process.argv[1] === import.meta.filename) await main();
