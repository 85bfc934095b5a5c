/** Every verb that reads, by situation and form: exit code, what stands on standard output, what is said beside it. */
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { VERBS } from "../../src/cli/verbs.ts";
import { emptySnapshot, type Snapshot } from "../../src/judgement/snapshot.ts";
import { affinity, handle } from "../support/ipam-data.ts";
import { bundleOf, ipamctl } from "./ipamctl.ts";
import { pod, sound } from "./sound.ts";

const { nodes: _n, namespaces: _s, pods: _p, services: _v, events: _e, ...dataAlone } = sound;
const SITUATIONS = {
  sound,
  troubled: {
    ...sound,
    affinities: [...sound.affinities, affinity("node-b", "10.0.0.0/30")],
    handles: [...sound.handles, handle("ghost", { "10.0.0.0/30": 1 })],
    pods: [...sound.pods!, pod("web-9", "node-b", [], { askedPools: ["none"] })],
  },
  empty: emptySnapshot(sound.takenAt),
  blind: { ...dataAlone, unread: [{ part: "pods", reason: "may not list pods" }] },
} satisfies Record<string, Snapshot>;
type Situation = keyof typeof SITUATIONS;

/** Kind of the JSON document, and the exit code by situation. */
type Row = readonly [args: readonly string[], kind: string, codes: Readonly<Record<Situation, number>>];

const fine = { sound: 0, troubled: 0, empty: 0, blind: 0 };
const TABLE: readonly Row[] = [
  [["show"], "PoolList", fine],
  [["show", "--blocks"], "BlockList", fine],
  [["show", "--ip", "10.0.0.0"], "Address", fine],
  [["show", "--node", "node-a"], "AddressList", fine],
  [["show", "--borrowed"], "AddressList", fine],
  [["show", "--cooldown"], "AddressList", fine],
  [["show", "--configuration"], "Configuration", fine],
  [["show", "--map"], "PoolMapList", fine],
  [["top"], "Top", fine],
  [["plan", "--pods-per-node", "3"], "Plan", fine],
  [["check"], "CheckReport", { sound: 0, troubled: 3, empty: 0, blind: 1 }],
  [["why", "--node", "node-b"], "Why", { sound: 0, troubled: 0, empty: 3, blind: 0 }],
  [["why", "web-9"], "Why", { sound: 1, troubled: 3, empty: 1, blind: 1 }],
];
const cases = TABLE.flatMap(([args, kind, codes]) =>
  (Object.keys(SITUATIONS) as Situation[]).map(
    (situation) => [args.join(" "), situation, kind, codes[situation]] as const,
  ),
);
/** What a person sees as an empty table is nothing. */
const ESCAPE = "\u001b";

describe("a verb that reads", () => {
  it.each(cases)("%s, %s data", async (command, situation, kind, code) => {
    const place = ["--bundle", await bundleOf(SITUATIONS[situation])];
    const run = (format: string) => ipamctl([...command.split(" "), "-o", format, ...place], { env: {} });
    const json = await run("json");
    expect(json.code).toBe(code);
    if (code === 1 && kind === "Why") {
      expect(json).toMatchObject({
        stdout: "",
        stderr: expect.stringMatching(/^(not looked at: .*\n)?ipamctl: .+\n$/),
      });
      return;
    }
    const document = JSON.parse(json.stdout);
    expect(document).toMatchObject({ apiVersion: "ipamctl.ipam-operator.io/v1alpha1", kind });
    const others = {
      yaml: await run("yaml"),
      table: await run("table"),
      wide: await run("wide"),
      name: await run("name"),
    };
    for (const ran of Object.values(others)) {
      const said = ran.stdout === "" ? ran.stderr.replace("No resources found\n", "") : ran.stderr;
      expect([ran.code, said]).toEqual([code, json.stderr]);
    }
    expect(parse(others.yaml.stdout)).toEqual(document);
    expect(others.name.stdout.split("\n").slice(0, -1)).not.toContain("");
    expect(others.wide.stdout.length).toBeGreaterThanOrEqual(others.table.stdout.length);
    const isNeeded = !/^(top|show(?! --ip))/.test(command);
    const said =
      situation === "blind" && isNeeded ? /not looked at: pods \(may not list pods\)/ : /^(?!.*not looked at)/s;
    expect(json.stderr).toMatch(said);
  });

  it.each(cases.filter(([, situation]) => situation === "troubled"))(
    "%s is plain text, whatever is asked of colours",
    async (command) => {
      const place = ["--bundle", await bundleOf(SITUATIONS.troubled)];
      const run = (env: NodeJS.ProcessEnv) => ipamctl([...command.split(" "), ...place], { env });
      const plain = await run({ NO_COLOR: "1" });
      expect(await run({ FORCE_COLOR: "3", TERM: "xterm-256color" })).toEqual(plain);
      expect(plain.stdout + plain.stderr).not.toContain(ESCAPE);
    },
  );

  it("SEC-03: names may be anything, also in answers and causes", async () => {
    const evil = "node\u001b[2J\nb";
    const snapshot = { ...sound, pods: [...sound.pods!, pod("web-9", evil, [], { askedPools: ["__proto__"] })] };
    const ran = await ipamctl(["why", "web-9"], { snapshot });
    expect(ran.code).toBe(3);
    expect(ran.stdout).not.toContain(ESCAPE);
    for (const verb of ["top", "check"]) {
      expect((await ipamctl([verb], { snapshot })).stdout).not.toContain(ESCAPE);
    }
  });

  it("takes a bundle, the forms, and where to look, as every other does", () => {
    const reading = VERBS.filter(({ name }) => ["show", "why", "top", "plan", "check"].includes(name));
    expect(reading).toHaveLength(5);
    for (const { flags } of reading) {
      const names = flags.map((flag) => flag.flags.split(" ").find((word) => word.startsWith("--")));
      expect(names).toEqual(
        expect.arrayContaining(["--bundle", "--output", "--kubeconfig", "--context", "--datastore"]),
      );
    }
  });

  it.each([
    [["wyh", "web-0"], "Did you mean why?"],
    [["tpo"], "Did you mean top?"],
    [["why", "--nod", "x"], "Did you mean --node?"],
    [["plan", "--pod-per-node", "3"], "Did you mean --pods-per-node?"],
    [["top", "--hour", "3"], "Did you mean --hours?"],
  ])("%j is told the nearest", async (args, message) => {
    const ran = await ipamctl(args, { snapshot: sound });
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  });

  it("a cause that is none is told the nearest, too", async () => {
    const ran = await ipamctl(["explain", "Strictaffinty"]);
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("did you mean StrictAffinity?") });
  });
});
