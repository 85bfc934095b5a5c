/** The Debian system that a kind node is made of. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Docker } from "../docker.ts";
import { engineFolder } from "../engine-process.ts";
import { run, runIsolated } from "../processes.ts";

/** The last release whose systemd (252) runs under cgroup v1; it runs under v2 as well. */
const suite = "bookworm";
const packages = [
  ...["systemd", "systemd-sysv", "dbus", "bash", "ca-certificates", "curl", "jq", "procps", "hostname"],
  ...["conntrack", "iptables", "nftables", "iproute2", "ethtool", "socat", "kmod", "util-linux", "mount", "e2fsprogs"],
  "runc",
];
const superfluous = ["var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"];

/** Installs the packages into a folder and makes that an image of the engine. */
export async function buildRootfs(docker: Docker, image: string): Promise<void> {
  const folder = await mkdtemp(join(engineFolder(), "rootfs-"));
  try {
    const options = ["--variant=minbase", `--include=${packages.join(",")}`];
    await runIsolated("debootstrap", [...options, suite, folder, ...(await mirror())]);
    for (const path of superfluous) await rm(join(folder, path), { recursive: true, force: true });
    const tar = spawn("tar", ["--numeric-owner", "-C", folder, "-c", "."], { stdio: ["ignore", "pipe", "inherit"] });
    await docker.run(["import", "-", image], { input: tar.stdout });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Where apt gets this suite from, or nothing: debootstrap knows one too. */
async function mirror(): Promise<string[]> {
  const of = ["Created-By: Packages", `Codename: ${suite}`, "Origin: Debian"];
  const found = await run("apt-get", ["indextargets", "--format", "$(REPO_URI)", ...of]).catch(() => "");
  return found.split("\n", 1).filter((uri) => uri !== "");
}
