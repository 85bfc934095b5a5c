/** What the machine must have to make a kind cluster without an image registry. */
import { existsSync } from "node:fs";
import { run } from "./processes.ts";

/** A program, and the Debian package that has it. */
const needed = [
  { program: "dockerd", package: "docker.io" },
  { program: "docker", package: "docker.io" },
  { program: "runc", package: "runc" },
  { program: "iptables", package: "iptables" },
  { program: "debootstrap", package: "debootstrap" },
  { program: "ip", package: "iproute2" },
];
const folders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** Installs the missing Debian packages, saying so; does not start any service of theirs. */
export async function ensureHostPackages(say: (line: string) => void): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new Error("Making a kind cluster without an image registry needs root: run as root, or use --kind NAME.");
  }
  const missing = [...new Set(needed.filter(({ program }) => !isInstalled(program)).map((each) => each.package))];
  if (missing.length === 0) return;
  say(`installing the Debian packages ${missing.join(", ")}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" }; // in runlevel 1 no service is started
  await run("apt-get", ["update", "--quiet"], { env });
  await run("apt-get", ["install", "--quiet", "--yes", "--no-install-recommends", ...missing], { env });
}

const isInstalled = (program: string) => folders.some((folder) => existsSync(`${folder}/${program}`));
