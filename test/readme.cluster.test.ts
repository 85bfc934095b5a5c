/** The README's commands, taken from its text and run one after the other as a newcomer would. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "./control-plane/control-plane.ts";
import { type RunningOperator, startOperator } from "./operator/operator-process.ts";
import { examplesOf, linesOf } from "./support/page-examples.ts";

const commands = readFileSync(join(import.meta.dirname, "../README.md"), "utf8")
  .replace(/^```[\s\S]*?^```$/gm, "")
  .split("\n")
  .filter((line) => line.startsWith("    "))
  .map((line) => line.trim());
/** Packing, and installing elsewhere, is what the tests of the package do. */
const PACKED = 'npm install --prefix ~/ipam-try "$(npm pack --silent)"';
const scripts = (JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> }).scripts;

let cluster: ControlPlane;
let operator: RunningOperator | undefined;
beforeAll(async () => {
  cluster = await startControlPlane();
});
afterAll(async () => {
  await operator?.stop();
  await cluster?.stop();
});

/** `npm start` is `node src/main.ts`; the user's kubeconfig is this server's admin. */
async function npmStart(flags: string): Promise<void> {
  const args = flags.replace("~/.kube/config", cluster.kubeconfig).split(" ").filter(Boolean);
  const store = args.length === 0 ? { IPAM_OPERATOR_DATASTORE: `embedded:${join(cluster.dir, "readme.db")}` } : {};
  operator = await startOperator(args, { env: store });
}

/** `npm run --silent ipamctl --` is `node src/cli/main.ts`. */
const IPAMCTL = "npm run --silent ipamctl -- ";
async function ipamctl(command: string): Promise<string> {
  const args = ["src/cli/main.ts", ...command.slice(IPAMCTL.length).split(" ")];
  const env = { PATH: process.env["PATH"], KUBECONFIG: cluster.kubeconfig };
  const ran = await promisify(execFile)(process.execPath, args, { env }).catch((error) => error);
  expect([undefined, 3], ran.stderr).toContain(ran.code); // 3: it has findings
  return ran.stdout;
}

const kubectlOf = (command: string) => command.replaceAll("'", "").split(" ").slice(1);

it("has the commands this test knows how to run, and no others", () => {
  const known = /^(npm ci && npm (start|test)|npm start -- --kubeconfig .*|kubectl .*|npm run --silent ipamctl -- .*)$/;
  expect(commands.length).toBeGreaterThan(8);
  expect(commands.filter((command) => !known.test(command))).toEqual([PACKED]);
});

it("npm test, which runs this, is the unit and then the cluster tests", () => {
  expect(scripts).toMatchObject({ start: "node src/main.ts", test: "npm run test:unit && npm run test:cluster" });
});

it("ipamctl finds what is wrong on the example cluster", async () => {
  const [check = ""] = commands.filter((command) => command.includes("--bundle"));
  expect(await ipamctl(check)).toMatch(/LeakedAddress/);
});

it("the program of ten lines prints an address", async () => {
  const [program = ""] = examplesOf("README.md");
  expect(program.trim().split("\n").length).toBeLessThanOrEqual(10);
  expect(await linesOf(program)).toEqual([expect.stringMatching(/^\[ '10\.0\.0\.\d+\/26' \]$/)]);
});

it("npm start shows the reconciled configuration of the example", async () => {
  await npmStart("");
  await expect.poll(() => operator?.stdout.join("\n")).toMatch(/maxBlocksPerHost +8 +from your Installation/);
  expect(await operator?.stop("SIGINT")).toMatchObject({ code: 0 });
});

it("five minutes on a real cluster", async () => {
  for (const command of commands.filter((line) => !line.startsWith("npm ci"))) {
    if (command === PACKED) continue;
    if (command.startsWith(IPAMCTL)) await ipamctl(command);
    else if (command.startsWith("npm start -- ")) await npmStart(command.slice("npm start -- ".length));
    else await cluster.kubectlOk(kubectlOf(command));
    if (command.includes("get events")) await expect.poll(() => cluster.kubectlOk(kubectlOf(command))).toMatch(/Drift/);
  }
  const path = "jsonpath={.spec.ipCooldownSeconds}";
  const cooldown = () => cluster.kubectlOk(["get", "ipamconfigurations.projectcalico.org", "default", "-o", path]);
  await expect.poll(cooldown).toBe("60");
});
