/** Which Debian packages files of this machine are from; elsewhere nobody knows, and the bill of materials lacks them. */
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

/** The packages that the files are from, each once, by name. All are asked for at once: dpkg reads all it knows each time. */
export function packagesOf(paths: readonly string[]): DebianPackage[] {
  const files = paths.map((path) => realpathSync(path));
  // Debian has moved /lib to /usr/lib, and not all packages know.
  const known = [...files, ...files.map((file) => file.replace(/^\/usr(?=\/lib)/, ""))];
  const owners = new Set(query("--search", ...new Set(known)).flatMap((line) => line.split(": ")[0]!.split(", ")));
  if (owners.size === 0) return [];
  return query("--show", ...owners)
    .map(packageIn)
    .filter(({ copyright }) => existsSync(copyright))
    .sort((a, b) => a.name.localeCompare(b.name));
}

function packageIn(line: string): DebianPackage {
  const [qualified = "", version = ""] = line.split("\t");
  const [name = "", architecture] = qualified.split(":");
  const copyright = `/usr/share/doc/${name}/copyright`;
  return { name, version, copyright, ...(architecture !== undefined && { architecture }) };
}

/** The lines that it prints of what it knows, also where it does not know all; none where there is no dpkg. */
function query(...args: readonly string[]): string[] {
  const { stdout } = spawnSync("dpkg-query", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return (stdout ?? "").split("\n").filter((line) => line !== "" && !line.startsWith("diversion "));
}
