import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { permissions, ROLES, type Role } from "../rbac/permissions.ts";
import { expand } from "../rbac/rules.ts";
import { collectUsage, type TestRun } from "./rbac-coverage.ts";
import { permissionText } from "./support/audit.ts";

const everythingOf = (role: Role): [Role, string[]] => [
  role,
  permissions[role].flatMap((grant) => expand(grant)).map((one) => permissionText(one.verb, one.group, one.resource)),
];

interface Given {
  readonly ran?: readonly string[];
  readonly failed?: number;
  readonly pattern?: RegExp;
  /** What the suites leave, a file each. */
  readonly usage?: readonly [Role, string[]][];
}

/** A run over suites `a` and `b` from beginning to end. */
async function run({ ran = ["a", "b"], failed = 0, pattern, usage = [] }: Given): Promise<void> {
  let dir = "";
  const project: TestRun = {
    config: { testNamePattern: pattern },
    vitest: {
      state: { getFilepaths: () => [...ran], getFailedFilepaths: () => [], getCountOfFailedTests: () => failed },
    },
    provide: (_key, given) => {
      dir = given;
    },
    globTestFiles: async () => ({ testFiles: ["a", "b"] }),
  };
  const check = await collectUsage(project);
  await Promise.all(usage.map((one, index) => writeFile(join(dir, `${index}.json`), JSON.stringify([one]))));
  await check();
}

describe("the check over all suites", () => {
  it("passes when together they used everything", async () => {
    const [role, texts] = everythingOf("operator");
    const halves: [Role, string[]][] = [
      [role, texts.filter((_, index) => index % 2 === 0)],
      [role, texts.filter((_, index) => index % 2 === 1)],
    ];
    await run({ usage: [...halves, ...ROLES.slice(1).map(everythingOf)] });
  });

  it("fails and names what nobody used", async () => {
    const usage = ROLES.filter((role) => role !== "viewer").map(everythingOf);
    await expect(run({ usage })).rejects.toThrow(
      /unusedBecause:\n {2}viewer: get ipaminstallations\.ipam-operator\.io\n/,
    );
  });

  it.each<[string, Given]>([
    ["only some suites ran", { ran: ["a"] }],
    ["only some tests ran", { pattern: /x/ }],
    ["a test failed", { failed: 1 }],
  ])("says nothing when %s", async (_what, given) => {
    await run(given);
  });
});
