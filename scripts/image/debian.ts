/** Which Debian package a file of this machine is from; elsewhere nobody knows, and the bill of materials lacks it. */
import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  /** Absent for a package that is the same on all. */
  readonly architecture?: string;
  /** Path of its licences. */
  readonly copyright: string;
}

export function packageOf(path: string): DebianPackage | undefined {
  const file = realpathSync(path);
  // Debian has moved /lib to /usr/lib, and not all packages know.
  const owner = query("--search", file) ?? query("--search", file.replace(/^\/usr/, ""));
  const shown = owner && query("--show", owner.split(": ")[0]!);
  if (!shown) return undefined;
  const [qualified = "", version = ""] = shown.split("\t");
  const [name = "", architecture] = qualified.split(":");
  const copyright = `/usr/share/doc/${name}/copyright`;
  if (!existsSync(copyright)) return undefined;
  return { name, version, copyright, ...(architecture !== undefined && { architecture }) };
}

/** Undefined where there is no dpkg, or it knows nothing. */
function query(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync("dpkg-query", args, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}
