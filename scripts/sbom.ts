/** The bill of materials, CycloneDX: what package-lock.json says is in the operator, and what runs it. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import type { Component } from "./image/node.ts";

const root = join(import.meta.dirname, "..");
// Not --omit=dev: npm leaves out with it what a development package needs too, such as yaml.
const args = ["sbom", "--package-lock-only", "--sbom-format=cyclonedx", "--sbom-type=application"];

interface Bom {
  readonly metadata: { readonly component: object };
  readonly components: readonly { readonly "bom-ref": string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

/** @param runtime what the image holds beside the packages */
export function sbom(runtime: readonly Component[] = []): string {
  const { stdout, stderr, status, error } = spawnSync("npm", args, { cwd: root, encoding: "utf8", maxBuffer: 64e6 });
  if (status !== 0) throw new Error(`npm ${args.join(" ")}: ${error?.message ?? stderr}`);
  const { metadata, components, dependencies, ...rest } = JSON.parse(stdout) as Bom;
  const shipped = shippedPackages();
  const isShipped = (ref: string) => shipped.has(ref);
  const bom = {
    ...rest,
    // npm takes the name from the folder.
    metadata: { ...metadata, component: { ...metadata.component, name: manifest.name } },
    components: [
      ...components.filter((component) => isShipped(component["bom-ref"])),
      ...runtime.map((component) => ({ "bom-ref": component.purl, scope: "required", ...component })),
    ],
    dependencies: dependencies
      .filter(({ ref }) => isShipped(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(isShipped) })),
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

/** `name@version` of the product and of each package that is not for its development alone. */
function shippedPackages(): ReadonlySet<string> {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version: string; dev?: boolean; devOptional?: boolean }>;
  };
  const shipped = Object.entries(lock.packages).filter(([, { dev, devOptional }]) => !dev && !devOptional);
  return new Set(
    shipped.map(([path, { version }]) => `${path.split("node_modules/").at(-1) || manifest.name}@${version}`),
  );
}

async function main(): Promise<void> {
  const file = "dist/sbom.cdx.json";
  const text = sbom();
  await mkdir(join(root, "dist"), { recursive: true });
  await writeFile(join(root, file), text);
  console.log(`${file}: ${(JSON.parse(text) as Bom).components.length} components`);
}

if (process.argv[1] === import.meta.filename) await main();
