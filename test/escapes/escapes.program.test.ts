/** Files, names, arguments, variables, plugins and certificates from outside, given to the programs themselves. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createCertificateAuthority } from "../control-plane/certificates.ts";
import { expectPlain, PORTABLE } from "./evil.ts";
import { IPAMCTL, OPERATOR, run } from "./process.ts";

const scratch = mkdtempSync(join(tmpdir(), "escapes-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
/** JSON is YAML, and its escapes bring every character. */
const manifest = (name: string, more: object = {}) =>
  JSON.stringify({
    apiVersion: "projectcalico.org/v3",
    kind: "IPPool",
    metadata: { name },
    spec: { cidr: "10.0.0.0/24" },
    ...more,
  });
const PORTS = ["--health-probe-bind-address=0", "--metrics-bind-address=0"];

describe("the operator on the embedded store", () => {
  it.each(["text", "json"])("folder, file, kind, group, name, fields and values (%s log)", async (encoding) => {
    const folder = join(scratch, `${encoding}${PORTABLE}`);
    mkdirSync(folder);
    const files = {
      kind: manifest("a", { kind: PORTABLE }),
      group: manifest("b", { apiVersion: PORTABLE }),
      name: manifest(PORTABLE),
      field: manifest("c", { [PORTABLE]: 1, spec: { [PORTABLE]: 1, cidr: "10.0.1.0/24" } }),
      value: manifest("d", { spec: { cidr: PORTABLE, nodeSelector: PORTABLE, blockSize: PORTABLE } }),
      syntax: `{"a": ${PORTABLE}`,
      key: `${PORTABLE}: [`,
      sound: manifest("e"),
    };
    for (const [name, content] of Object.entries(files))
      writeFileSync(join(folder, `${name}${PORTABLE}.yaml`), content);
    const store = join(folder, "store.db");
    const args = [...PORTS, `--datastore=embedded:${store}`, `--manifests=${folder}`, `--log-encoding=${encoding}`];
    const env = { KUBECONFIG: PORTABLE, [`IPAM_OPERATOR_${PORTABLE}`]: PORTABLE };
    const { code, text } = await run(OPERATOR, args, { env, until: /To begin|Try it/ });
    expect(code).toBe(0);
    expectPlain(text);
    for (const what of Object.keys(files)) expect(text).toContain(`${what}x\\r`);
  });

  it("a folder that is not there, in the log", async () => {
    const args = [...PORTS, "--datastore=embedded::memory:", `--manifests=/nowhere/${PORTABLE}`];
    const { text } = await run(OPERATOR, args, { until: /To begin|Try it/ });
    expectPlain(text);
  });
});

describe("command lines", () => {
  it.each<[string, string, readonly string[]]>([
    ["an option", OPERATOR, [`--${PORTABLE}`]],
    ["a path", OPERATOR, [`--datastore=embedded:/nowhere/${PORTABLE}/x.db`]],
    ["a kubeconfig", OPERATOR, [`--kubeconfig=/nowhere/${PORTABLE}`]],
    ["an option", IPAMCTL, ["show", `--${PORTABLE}`]],
    ["a bundle", IPAMCTL, ["show", "--bundle", `/nowhere/${PORTABLE}`]],
  ])("%s, %s", async (_what, program, args) => {
    const { code, text } = await run(program, args);
    expect(code).toBeGreaterThan(0);
    expectPlain(text);
  });

  it("a variable, in the help and where it is refused", async () => {
    const help = await run(OPERATOR, ["--help"], { env: { IPAM_OPERATOR_MANIFESTS: PORTABLE } });
    expect(help.code).toBe(0);
    expectPlain(help.text);
    const refused = await run(OPERATOR, [], { env: { IPAM_OPERATOR_LOG_LEVEL: PORTABLE } });
    expect(refused.code).toBe(2);
    expectPlain(refused.text);
  });
});

const PROGRAMS = {
  "the operator, with a log of text": [OPERATOR, "--log-encoding=text", ...PORTS],
  "the operator, with a log of JSON": [OPERATOR, "--log-encoding=json", ...PORTS],
  ipamctl: [IPAMCTL, "show"],
} as const;

describe("a kubeconfig", () => {
  const call = (
    who: keyof typeof PROGRAMS,
    user: object,
    more: { cluster?: object; args?: string[]; until?: RegExp },
  ) => {
    const path = join(mkdtempSync(join(scratch, "kubeconfig-")), PORTABLE);
    const config = {
      clusters: [{ name: PORTABLE, cluster: { server: "https://127.0.0.1:1", ...more.cluster } }],
      users: [{ name: PORTABLE, user }],
      contexts: [{ name: PORTABLE, context: { cluster: PORTABLE, user: PORTABLE, namespace: PORTABLE } }],
      "current-context": PORTABLE,
    };
    writeFileSync(path, JSON.stringify(config));
    const [program, ...args] = PROGRAMS[who];
    return run(program, [...args, "--kubeconfig", path, ...(more.args ?? [])], more);
  };
  const everyone = Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[];

  it.each(everyone)("whose credential plugin writes to standard error; and its names: %s", async (who) => {
    const script = `printf '%s' '${PORTABLE}' >&2; exit 1`;
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "sh", args: ["-c", script] };
    expectPlain((await call(who, { exec }, { until: /credential plugin/ })).text);
  });

  it("whose context does not exist", async () => {
    const { code, text } = await call(
      "the operator, with a log of text",
      { token: "t" },
      { args: [`--context=other${PORTABLE}`] },
    );
    expect(code).toBe(1);
    expectPlain(text);
  });

  it("whose server is another", async () => {
    const authority = await createCertificateAuthority("evil");
    const { certificate, privateKey } = await authority.server({ ip: [], dns: ["x\u001b[2J"] });
    const server = createServer({ cert: certificate, key: privateKey });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const ca = Buffer.from(authority.certificate).toString("base64");
    const cluster = { server: `https://127.0.0.1:${port}`, "certificate-authority-data": ca };
    const { text } = await call("ipamctl", { token: "t" }, { cluster, until: /altnames/ });
    server.close();
    expectPlain(text);
    expect(text).toContain("altnames");
  });
});
