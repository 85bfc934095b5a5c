import { describe, expect, test } from "vitest";
import { parseManifests } from "./manifests.ts";

const head = "apiVersion: ipam-operator.io/v1alpha1\nkind: Installation\nmetadata: {name: default}\n";
const installation = (ipam: string) => `${head}spec:\n  managementPolicy: Enforce\n  ipam:\n    ${ipam}\n`;

const bomb = `a: &a [${"x, ".repeat(10)}]\n${[..."bcdefgh"]
  .map((key, at) => `${key}: &${key} [${`*${"abcdefg"[at]}, `.repeat(9)}]\n`)
  .join("")}`;

describe("parseManifests", () => {
  test("reads every document and the line each begins at", () => {
    const pool = "apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata: {name: p}\nspec: {cidr: 10.0.0.0/16}\n";
    const { manifests, problems } = parseManifests(`# a comment\n${installation("strictAffinity: true")}---\n${pool}`);
    expect(problems).toEqual([]);
    expect(manifests.map(({ object, line }) => [object.kind, object.metadata.name, line])).toEqual([
      ["Installation", "default", 3],
      ["IPPool", "p", 11],
    ]);
  });

  test("leaves out what only a server sets", () => {
    const { manifests } = parseManifests(
      `${head.replace("{name: default}", "{name: default, uid: u, resourceVersion: '7', labels: {a: b}}")}` +
        "spec: {managementPolicy: Observe}\nstatus: {conditions: []}\n",
    );
    expect(manifests[0]!.object).toEqual({
      apiVersion: "ipam-operator.io/v1alpha1",
      kind: "Installation",
      metadata: { name: "default", labels: { a: "b" } },
      spec: { managementPolicy: "Observe" },
    });
  });

  test.each([
    [
      "a cap without strict affinity",
      installation("maxBlocksPerHost: 4"),
      7,
      "MaxBlocksPerHost requires StrictAffinity",
    ],
    [
      "both off",
      installation("autoAllocateBlocks: false\n    strictAffinity: false"),
      8,
      "Cannot disable 'StrictAffinity' and 'AutoAllocateBlocks'",
    ],
    ["a misspelt field", installation("strictAfinity: true"), 7, 'unknown field "spec.ipam.strictAfinity"'],
    ["a value out of range", installation("ipCooldownSeconds: 1201"), 7, "spec.ipam.ipCooldownSeconds: "],
    ["a wrong type", installation('strictAffinity: "yes"'), 7, "spec.ipam.strictAffinity: "],
    ["a missing field", `${head}spec:\n  ipam: {}\n`, 4, "spec.managementPolicy: "],
    [
      "another name",
      `${head.replace("default", "main")}spec: {managementPolicy: Observe}\n`,
      3,
      "the only Installation is the one named default",
    ],
    ["another kind", "apiVersion: v1\nkind: Pod\n", 2, "Pod (v1) is not kept here; known are Installation ("],
    [
      "a misspelt kind",
      "apiVersion: projectcalico.org/v3\nkind: IPPol\n",
      2,
      "did you mean IPPool (projectcalico.org/v3)",
    ],
    ["a kind that is a list", "apiVersion: {}\nkind: [IPPool]\n", 2, "apiVersion and kind must be text"],
    [
      "a kind of another version",
      head.replace("v1alpha1", "v9"),
      2,
      "did you mean Installation (ipam-operator.io/v1alpha1)?",
    ],
    ["no object at all", "just words\n", 1, "not a Kubernetes object"],
    ["a list", "- 1\n", 1, "not a Kubernetes object"],
    ["an alias without its anchor", "# first\n---\na: *nope\n", 3, "Unresolved alias"],
    ["an alias bomb", bomb, 1, "Excessive alias count"],
    ["broken YAML", "a: [1\nb: }\n", 2, "not YAML: "],
  ])("%s is a problem with its line", (_, text, line, words) => {
    const { manifests, problems } = parseManifests(text);
    expect(manifests).toEqual([]);
    expect(problems[0]).toEqual({ line, message: expect.stringContaining(words) });
  });

  const cooldown = "spec.ipam.ipCooldownSeconds";
  const mistyped = (type: string) =>
    `${cooldown}: Invalid value: "${type}": ${cooldown} in body must be of type integer: "${type}"`;
  const seconds = "write a whole number of seconds from 0 to 1200, without unit or quotes";
  test.each([
    ["a misspelt top", `${head}specc: {}\n`, 4, 'unknown field "specc"; did you mean spec?'],
    [
      "a misspelt setting",
      installation("strictAfinity: true"),
      7,
      'unknown field "spec.ipam.strictAfinity"; did you mean strictAffinity?',
    ],
    [
      "a field far from any",
      `${head}spec:\n  managementPolicy: Observe\n  colour: red\n`,
      6,
      'unknown field "spec.colour"; known are managementPolicy, ipam',
    ],
    [
      "another language's yes",
      installation("strictAffinity: yes"),
      7,
      'spec.ipam.strictAffinity: Invalid value: "string": spec.ipam.strictAffinity in body must be of type boolean: "string"; ' +
        "write true or false, without quotes",
    ],
    ["a unit", installation("ipCooldownSeconds: 60s"), 7, `${mistyped("string")}; ${seconds}`],
    ["quotes", installation('ipCooldownSeconds: "60"'), 7, `${mistyped("string")}; ${seconds}`],
    ["half a second", installation("ipCooldownSeconds: 1.5"), 7, `${mistyped("number")}; ${seconds}`],
    [
      "too many seconds",
      installation("ipCooldownSeconds: 5000"),
      7,
      `${cooldown}: Invalid value: 5000: ${cooldown} in body should be less than or equal to 1200`,
    ],
    [
      "more than any number, once",
      installation("{strictAffinity: true, maxBlocksPerHost: 1e30}"),
      7,
      "spec.ipam.maxBlocksPerHost: Invalid value: 1e+30: spec.ipam.maxBlocksPerHost in body should be less than or equal to 1000000",
    ],
    ["an empty spec", `${head}spec:\n`, 4, "spec: Required value; write its fields below it, indented"],
    ["no policy", `${head}spec: {}\n`, 4, "spec.managementPolicy: Required value; write Observe, Enforce or Paused"],
    [
      "another policy",
      `${head}spec: {managementPolicy: enforce}\n`,
      4,
      'spec.managementPolicy: Unsupported value: "enforce": supported values: "Observe", "Enforce", "Paused"',
    ],
    [
      "a label that is no text",
      `${head.replace("default}", "default, labels: {a: 1}}")}spec: {managementPolicy: Observe}\n`,
      3,
      "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string; write text, in quotes where it looks like a number or like true or false",
    ],
    ["an unclosed quote", 'a: 1\nb: "x\nc: 2\n', 2, 'not YAML: Missing closing quote "'],
    ["tabs", "a:\n\tb: 1\n\tc: 2\n", 2, "not YAML: Tabs are not allowed as indentation"],
    [
      "a number that kubectl reads otherwise",
      installation("ipCooldownSeconds: 010"),
      7,
      "found 010, which kubectl reads as an octal number; write it without the leading 0",
    ],
    ["a number without end", installation("ipCooldownSeconds: .inf"), 7, `${mistyped("number")}; ${seconds}`],
    ["a bad indent", "a:\n  b: 1\n c: 2\n", 3, "not YAML: All mapping items must start at the same column"],
  ])("%s is explained in one sentence", (_, text, line, message) => {
    expect(parseManifests(text)).toEqual({ manifests: [], problems: [{ line, message }] });
  });

  test("each of two unknown fields is named at its own line", () => {
    const { problems } = parseManifests(installation("autoAllocate: true\n    maxBlockPerHost: 4"));
    expect(problems.map(({ line }) => line)).toEqual([7, 8]);
  });

  test.each([
    ["{cidr: abc}", 'must be of type cidr: "abc"; write a range such as 10.0.0.0/16'],
    ["{cidr: 10.0.0.1/16}", "cidr must be strictly masked"],
    ["{cidr: 10.0.0.0/33}", 'must be of type cidr: "10.0.0.0/33"'],
    ["{cidr: 10.0.0.0/16, blockSize: 40}", "blockSize of an IPv4 pool must be from 20 to 32"],
    ["{cdir: 10.0.0.0/16}", 'unknown field "spec.cdir"; did you mean cidr?'],
  ])("refuses the pool %s with its line", (spec, words) => {
    const text = `apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata: {name: p}\nspec:\n  ${spec}\n`;
    const problems = [{ line: 5, message: expect.stringContaining(words) }];
    expect(parseManifests(text)).toEqual({ manifests: [], problems });
  });

  test.each([
    [
      "IPPool",
      "{cidr: 10.0.0.0/16, ipipMode: always}",
      'ipipMode: Unsupported value: "always": supported values: "Never", "Always", "CrossSubnet"',
    ],
    [
      "IPPool",
      "{cidr: 10.0.0.0/16, allowedUses: [Pods]}",
      'allowedUses[0]: Unsupported value: "Pods": supported values: "Workload", "Tunnel"',
    ],
    [
      "IPPool",
      "{cidr: 10.0.0.0/16, assignmentMode: manual}",
      'assignmentMode: Unsupported value: "manual": supported values: "Automatic", "Manual"',
    ],
    [
      "IPAMConfiguration",
      "{ipCooldownSeconds: 5000}",
      "ipCooldownSeconds: Invalid value: 5000: spec.ipCooldownSeconds in body should be less",
    ],
    [
      "IPAMConfiguration",
      "{maxBlocksPerHost: 2000000}",
      "Invalid value: 2000000: spec.maxBlocksPerHost in body should be less than or equal to 1000000",
    ],
  ])("refuses what the CRD of %s does not list: %s", (kind, spec, words) => {
    const text = `apiVersion: projectcalico.org/v3\nkind: ${kind}\nmetadata: {name: default}\nspec:\n  ${spec}\n`;
    const problems = [{ line: 5, message: expect.stringContaining(words) }];
    expect(parseManifests(text)).toEqual({ manifests: [], problems });
  });

  test("accepts what only the stored configuration can complete", () => {
    expect(parseManifests(installation("autoAllocateBlocks: false")).problems).toEqual([]);
  });

  test("an empty field is none, as for an API server", () => {
    const { manifests, problems } = parseManifests(`${head}spec:\n  managementPolicy: Observe\n  ipam:\n`);
    expect([manifests[0]!.object.spec, problems]).toEqual([{ managementPolicy: "Observe" }, []]);
  });

  test("an empty file and empty documents hold nothing", () => {
    expect(parseManifests("# nothing yet\n---\n")).toEqual({ manifests: [], problems: [] });
  });
});
