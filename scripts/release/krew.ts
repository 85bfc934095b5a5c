/**
 * The krew manifest of a release: where each platform's archive is, and its checksum. Format:
 * https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
 */
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { stringify } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { releaseFolder } from "./archive.ts";

const DOWNLOADS = `${manifest.homepage.replace(/#.*$/, "")}/releases/download/v${manifest.version}`;

/** Node's names of processors, as Go has them. */
const PROCESSORS: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/** An archive of `scripts/release/archive.ts`. */
export interface Archive {
  /** `ipamctl-linux-x64.tar.gz`. */
  readonly name: string;
  readonly content: Uint8Array;
}

/** The manifest as YAML. @throws when an archive's name does not say its platform */
export function krewManifest(archives: readonly Archive[]): string {
  return stringify({
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "ipam" },
    spec: {
      version: `v${manifest.version}`,
      homepage: manifest.homepage,
      shortDescription: "Explain and repair Calico's IP addresses",
      description:
        "Shows where every IP address of a Calico cluster is, explains why a pod has none,\n" +
        "finds leaked addresses and damaged blocks, and repairs them after a plan and a question.\n",
      platforms: archives.map(platformOf),
    },
  });
}

function platformOf({ name, content }: Archive) {
  const [, os, processor] = /^ipamctl-(\w+)-(\w+)\.tar\.gz$/.exec(name) ?? [];
  const arch = PROCESSORS[processor ?? ""];
  if (os === undefined || arch === undefined) throw new Error(`${name} is not named ipamctl-<os>-<processor>.tar.gz`);
  return {
    selector: { matchLabels: { os, arch } },
    uri: `${DOWNLOADS}/${name}`,
    sha256: createHash("sha256").update(content).digest("hex"),
    bin: "ipamctl",
  };
}

async function main(): Promise<void> {
  const names = (await readdir(releaseFolder)).filter((name) => name.endsWith(".tar.gz")).sort();
  const archives = names.map(async (name) => ({ name, content: await readFile(join(releaseFolder, name)) }));
  const file = join(releaseFolder, "ipam.yaml");
  await writeFile(file, krewManifest(await Promise.all(archives)));
  console.log(`${basename(file)}: ${names.join(", ")}`);
}

if (process.argv[1] === import.meta.filename) await main();
