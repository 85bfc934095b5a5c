/** The import rules of docs/architecture.md: a layer imports only what stands to its left. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");

/** Per layer what it may import besides itself. The wiring (main, operator/cluster, operator/embedded) may import all. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  "src/escape": [],
  "src/net": [],
  "src/api": ["src/net", "src/kube/types.ts"],
  "src/kube": ["src/api/meta.ts", "src/operator/events.ts", "src/escape.ts"],
  "src/datastore": ["src/net", "src/api", "src/kube", "src/escape.ts"],
  "src/ipam": ["src/net", "src/api", "src/datastore", "src/escape.ts"],
  "src/library": ["src/api", "src/datastore", "src/ipam"],
  "src/judgement": ["src/net", "src/api", "src/datastore", "src/ipam"],
  "src/cli": [
    ...["src/net", "src/api", "src/kube", "src/datastore", "src/ipam", "src/judgement"],
    ...["src/escape.ts", "src/version.ts", "src/operator/manifests.ts"],
  ],
  reconcilers: ["src/net", "src/api", "src/kube", "src/datastore", "src/ipam", "src/operator", "src/escape.ts", "rbac"],
  rbac: ["src/api"],
};
/** Packages that only these files may import. */
const KEPT_TO: Record<string, readonly string[]> = {
  "ipaddr.js": ["src/net/"],
  "@kubernetes/client-node": ["src/kube/kubeconfig.ts"],
  "@marcbachmann/cel-js": ["src/api/admission/"],
  "node:sqlite": ["src/datastore/"],
  undici: ["src/kube/"],
};

const files = ["src", "reconcilers", "rbac"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => join(folder, name)),
);

function importsOf(file: string): string[] {
  const source = readFileSync(join(root, file), "utf8");
  const found = source.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g);
  return [...found].map(([, name = ""]) =>
    name.startsWith(".") ? relative(root, join(root, dirname(file), name)) : name,
  );
}
const within = (file: string, places: readonly string[]) =>
  places.some((place) => file === place || file.startsWith(place.endsWith("/") ? place : `${place}/`));

describe("imports", () => {
  it.each(Object.entries(MAY_IMPORT))("%s imports only what stands to its left", (layer, allowed) => {
    const wrong = files
      .filter((file) => within(file, [layer]) || file === `${layer}.ts`)
      .flatMap((file) => importsOf(file).map((name) => ({ file, name })))
      .filter(({ name }) => name.endsWith(".ts") && !within(name, [layer, ...allowed]))
      .map(({ file, name }) => `${file} imports ${name}`);
    expect(wrong).toEqual([]);
  });

  it.each(Object.entries(KEPT_TO))("%s is imported only where it belongs", (name, places) => {
    const importers = files.filter((file) => importsOf(file).includes(name));
    expect(importers.length).toBeGreaterThan(0);
    expect(importers.filter((file) => !within(file, places))).toEqual([]);
  });
});

/** Text from outside is escaped where it leaves the process: each place that writes is known, and calls src/escape.ts. */
describe("writes to a stream", () => {
  const RAW = /process\.(?:stdout|stderr)\b|\bconsole\.(?:log|info|warn|error|debug)\(/;
  const writers = files.filter((file) => RAW.test(readFileSync(join(root, file), "utf8")));

  it("are in the programs' entries, the log and the operator's terminal alone", () => {
    const known = ["src/cli/main.ts", "src/main.ts", "src/operator/embedded.ts", "src/operator/log.ts"];
    expect(writers.sort()).toEqual(known);
  });

  it("escape, or give the stream to what does", () => {
    const escapes = (file: string) => importsOf(file).includes("src/escape.ts");
    const behind = { "src/operator/embedded.ts": "src/operator/console.ts" } as Readonly<Record<string, string>>;
    expect(writers.map((file) => behind[file] ?? file).filter((file) => !escapes(file))).toEqual([]);
  });
});

/** Set arithmetic on addresses stands once; allocation, counts and findings are thin callers of it. */
describe("sets of addresses", () => {
  const SETS = "src/net/address-set.ts";
  const sourceOf = (file: string) => readFileSync(join(root, file), "utf8");
  const whereFound = (pattern: RegExp) => files.filter((file) => pattern.test(sourceOf(file)));
  /** The names that a file imports from the one module. */
  const takenFrom = (file: string) =>
    [...sourceOf(file).matchAll(/import (?:type )?\{([^}]*)\} from "[^"]*net\/address-set\.ts"/g)]
      .flatMap(([, names = ""]) => names.split(","))
      .map((name) => name.replace(/^\s*type /, "").trim());
  const takers = (...names: string[]) => files.filter((file) => takenFrom(file).some((name) => names.includes(name)));

  it("are combined and counted for reservations and utilization alone", () => {
    const counting = takers("union", "intersection", "sizeOf", "sizeOfDifference");
    expect(counting.sort()).toEqual(["src/ipam/reserved.ts", "src/ipam/utilization.ts"]);
  });

  it("are values to everyone else: nobody makes or names a range of one", () => {
    expect(takers("AddressRange")).toEqual([]);
    expect(whereFound(/\bfirst: \w.*\blast: \w/)).toEqual([SETS]);
  });

  it("have their ends computed with where they are made, and where a walk skips a covered stretch", () => {
    const ends = whereFound(/\.(?:first|last)\b(?!\()\s*[-+<>]|[-+<>]=?\s*\w+\.(?:first|last)\b(?!\()/);
    expect(ends.sort()).toEqual(["src/ipam/block-order.ts", SETS]);
  });

  it("say what a reservation covers in src/ipam/reserved.ts; src/judgement only asks whether an entry is a range", () => {
    const readers = whereFound(/\.reservedCIDRs\b/);
    expect(readers.sort()).toEqual(["src/ipam/reserved.ts", "src/judgement/families/pools.ts"]);
  });
});
