/** Command lines that can be read and cannot be meant: what is wrong is told, and nothing is looked at or done. */
import { expect, it } from "vitest";
import { VERSION } from "../../src/version.ts";
import { ipamctl, storeOf } from "./ipamctl.ts";
import { situation } from "./situations.ts";
import { sound } from "./sound.ts";

it.each([
  [["--contxt", "prod", "show"], "unknown option '--contxt'"],
  [["show", "--bloks"], "See 'ipamctl show --help'."],
  [["shw"], "See 'ipamctl --help'."],
  [["why", "service/web"], "run: ipamctl show service/web"],
  [["why", "node/node-a", "--node", "node-b"], "node/node-a and --node exclude each other"],
  [["show", "node/node-a", "--node", "node-b"], "node/node-a and --node exclude each other"],
  [["show", "10.0.0.1", "--ip", "10.0.0.2"], "10.0.0.1 and --ip exclude each other"],
  [["show", "--node", ""], "--node has an empty value"],
  [["gc", "--yes", "--context", ""], "--context has an empty value"],
  [["release", "--yes", "--handle", ""], "--handle has an empty value"],
  [["why", "--node", "--datastore", "embedded:/nowhere"], "--node has no value: '--datastore' stands in its place"],
  [["release", "--from-report", "--datastore", "embedded:/nowhere"], "--from-report has no value: '--datastore'"],
  [["why", "web-0", "--node", "node-a"], "name a pod or a node, not both"],
  [["why"], "name a pod, or a node as node/NAME"],
  [["split", "2", "--name", "a", "--cidr", "10.0.0.0/8"], "say which pool in one way"],
  [["repair", "OrphanHandle", "--restore", "a.jsonl"], "or --restore FILE: one of them"],
  [["repair", "poolexhausted"], "PoolExhausted is a cause of `why`, and no finding of `check`"],
  [["check", "--ignore", "Reserved"], "Reserved is a cause of `why`"],
])("%j", async (args, message) => {
  const ran = await ipamctl(args);
  expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  expect(ran.stderr).not.toMatch(/\n {4}at /);
});

it("--version prints the version of the program, by the name it was called by", async () => {
  expect(await ipamctl(["--version"], { program: "kubectl ipam" })).toEqual({
    code: 0,
    stdout: `kubectl ipam ${VERSION}\n`,
    stderr: "",
  });
});

it.each([
  ["--no-headers -o wide show", "show --no-headers -o wide"],
  ["--output=name show --blocks", "show --output=name --blocks"],
  ["--node node-a show", "show --node node-a"],
  ["--node why show", "show --node why"], // the value of a flag is no verb
  ["--cooldown show", "show --cooldown"], // the flag of this name takes a value in another verb
])("flags before the verb: %s", async (before, after) => {
  const [first, second] = await Promise.all(
    [before, after].map((line) => ipamctl(line.split(" "), { snapshot: sound })),
  );
  expect(first).toEqual(second);
  expect(first!.code).toBe(0);
});

it("a node that is asked for as a pod", async () => {
  const ran = await ipamctl(["why", "node-b"], { snapshot: sound });
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining("ask with --node node-b") });
});

it("an empty table says that it is the answer, and a name that is near", async () => {
  expect(await ipamctl(["show", "--pod", "nobody"], { snapshot: sound })).toEqual({
    code: 0,
    stdout: "",
    stderr: "No resources found\n",
  });
  const near = await ipamctl(["show", "--node", "nod-b", "-o", "json"], { snapshot: sound });
  expect(near.stderr).toBe("there is no node nod-b: did you mean node-b?\n");
  expect(JSON.parse(near.stdout)).toMatchObject({ items: [] });
});

it("a store has no lock, so a split on it tells nobody to unlock", async () => {
  const place = ["--datastore", `embedded:${await storeOf(await situation().snapshot({ pools: sound.pools }))}`];
  const ran = await ipamctl(["split", "2", "--name", "p4", "--yes", ...place]);
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("split-p4-1") });
  expect(ran.stderr).not.toContain("unlock");
});
