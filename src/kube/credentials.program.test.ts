/** Credentials from real files and real programs; what they open at an API server is tested in rest.cluster.test.ts. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { loadCredentials } from "./credentials.ts";
import { staleTime } from "./exec-plugin.ts";

const SECRET = "s3cret-t0ken";
const root = mkdtempSync(join(tmpdir(), "ipam-operator-credentials-"));
let directory: string;
let count = 0;

beforeEach(() => {
  directory = join(root, String(count++));
  mkdirSync(directory);
});
afterEach(() => vi.unstubAllEnvs());
afterAll(() => rmSync(root, { recursive: true }));

function kubeconfig(user: object, cluster: object = {}): string {
  const config = {
    clusters: [{ name: "c", cluster: { server: "https://api.test:6443/", ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [
      { name: "one", context: { cluster: "c", user: "u", namespace: "ns" } },
      { name: "lost", context: { cluster: "nowhere", user: "u" } },
      { name: "nobody", context: { cluster: "c", user: "ghost" } },
    ],
    "current-context": "one",
  };
  return write("kubeconfig", stringify(config));
}

function write(name: string, content: string, mode = 0o600): string {
  const path = join(directory, name);
  writeFileSync(path, content, { mode });
  return path;
}

/** A credential plugin: notes each run, then does what `script` says. */
function plugin(script: string, more: object = {}): object {
  write("plugin.sh", `#!/bin/sh\necho run >> ${directory}/runs\n${script}\n`, 0o700);
  return { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin.sh", ...more } };
}
const runs = () => readFileSync(join(directory, "runs"), "utf8").split("\n").length - 1;
const prints = (status: object) => `echo '${JSON.stringify({ kind: "ExecCredential", status })}'`;

describe("loadCredentials", () => {
  it("says which cluster and user it uses", async () => {
    const path = kubeconfig({ token: SECRET });
    const credentials = await loadCredentials({ kubeconfig: path });
    expect(credentials).toMatchObject({ server: "https://api.test:6443", namespace: "ns" });
    expect(credentials.description).toBe(`context one of ${path}, user u, at https://api.test:6443`);
    expect(await credentials.headers()).toEqual({ authorization: `Bearer ${SECRET}` });
    expect(credentials.renew()).toBe(false);
  });

  it("shows no credentials of the server's URL", async () => {
    const path = kubeconfig({ token: SECRET }, { server: `https://admin:${SECRET}@api.test/k8s/clusters/c-1` });
    const { server, description } = await loadCredentials({ kubeconfig: path });
    expect(server).toBe("https://api.test/k8s/clusters/c-1");
    expect(description).not.toContain(SECRET);
  });

  it.each([
    [{ context: "two" }, "ContextNotFound", "has no context two; it has: one, lost, nobody"],
    [{ context: "lost" }, "KubeconfigInvalid", "context lost names cluster nowhere, which is missing"],
    [{ context: "nobody" }, "KubeconfigInvalid", "context nobody names user ghost, which is missing"],
    [{ kubeconfig: "/no/such/file" }, "KubeconfigNotFound", "kubeconfig file /no/such/file: there is no such file"],
    [{ kubeconfig: undefined }, "NoCluster", "no cluster given: name a kubeconfig file"],
  ])("with %j says what is missing", async (options, code, message) => {
    const path = kubeconfig({ token: SECRET });
    await expect(loadCredentials({ kubeconfig: path, ...options })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  it.each([
    [`users:\n- name: u\n  user: {token: ${SECRET}\n`, "it is not valid YAML at line"],
    [`- ${SECRET}`, "has no current-context"],
    ["", "it is not a kubeconfig"],
    ["clusters: [{name: c, cluster: {}}]", "clusters[0].cluster.server is missing"],
  ])("an unreadable kubeconfig is named, not quoted", async (text, message) => {
    const error = await loadCredentials({ kubeconfig: write("broken", text) }).catch((reason: Error) => reason);
    expect((error as Error).message).toContain(message);
    expect((error as Error).message).not.toContain(SECRET);
  });
});

describe("files", () => {
  it("F19: reads token, CA and client certificate again when they change, and only then", async () => {
    const files = { tokenFile: "token", "client-certificate": "crt", "client-key": "key" };
    for (const name of ["token", "crt", "key", "ca"]) write(name, `first ${name}\n`);
    const credentials = await loadCredentials({ kubeconfig: kubeconfig(files, { "certificate-authority": "ca" }) });
    const tls = await credentials.tls();
    expect(tls).toEqual({
      ca: Buffer.from("first ca\n"),
      cert: Buffer.from("first crt\n"),
      key: Buffer.from("first key\n"),
    });
    expect(await credentials.headers()).toEqual({ authorization: "Bearer first token" });

    expect(credentials.renew()).toBe(true);
    expect(await credentials.tls()).toBe(tls);
    for (const name of ["token", "ca"]) write(name, `second ${name}\n`);
    expect(credentials.renew()).toBe(true);
    expect(await credentials.headers()).toEqual({ authorization: "Bearer second token" });
    expect((await credentials.tls()).ca).toEqual(Buffer.from("second ca\n"));
  });

  it("notices a change by itself", async () => {
    write("token", "first");
    const credentials = await loadCredentials({ kubeconfig: kubeconfig({ tokenFile: "token" }) });
    await credentials.headers();
    write("token", "second");
    await vi.waitFor(async () => expect(await credentials.headers()).toEqual({ authorization: "Bearer second" }), 5000);
  });

  it.each([
    ["", "it is empty"],
    ["<html>\n<body>\n", "it does not hold a token"],
  ])("names a token file that holds %j", async (text, problem) => {
    write("token", text);
    const credentials = await loadCredentials({ kubeconfig: kubeconfig({ tokenFile: "token" }) });
    await expect(credentials.headers()).rejects.toMatchObject({
      code: "Unauthorized",
      message: `token file ${directory}/token: ${problem}`,
    });
  });

  it("says which file is gone", async () => {
    const credentials = await loadCredentials({ kubeconfig: kubeconfig({ tokenFile: "token" }) });
    await expect(credentials.headers()).rejects.toThrow(`token file ${directory}/token: there is no such file`);
  });
});

describe("in a pod", () => {
  it("uses the ServiceAccount's files", async () => {
    vi.stubEnv("KUBERNETES_SERVICE_HOST", "fd00::1");
    vi.stubEnv("KUBERNETES_SERVICE_PORT", "443");
    const account = join(directory, "var/run/secrets/kubernetes.io/serviceaccount");
    mkdirSync(account, { recursive: true });
    for (const [name, content] of Object.entries({ token: SECRET, "ca.crt": "CA", namespace: "ipam-system" })) {
      writeFileSync(join(account, name), content);
    }
    const credentials = await loadCredentials({ inCluster: true, root: directory });
    expect(credentials).toMatchObject({ server: "https://[fd00::1]", namespace: "ipam-system" });
    expect(credentials.description).toContain("the cluster this pod runs in");
    expect(await credentials.headers()).toEqual({ authorization: `Bearer ${SECRET}` });
    expect(await credentials.tls()).toEqual({ ca: Buffer.from("CA") });
    writeFileSync(join(account, "token"), "rotated");
    credentials.renew();
    expect(await credentials.headers()).toEqual({ authorization: "Bearer rotated" });
  });

  it("says so where there is no pod", async () => {
    vi.stubEnv("KUBERNETES_SERVICE_HOST", undefined);
    await expect(loadCredentials({ inCluster: true })).rejects.toThrow("not in a pod");
  });
});

describe("credential plugin", () => {
  const load = async (script: string, more?: object) =>
    loadCredentials({ kubeconfig: kubeconfig(plugin(script, more)) });

  it("runs once for all that wait, and not again before it must", async () => {
    const credentials = await load(prints({ token: SECRET }));
    const all = await Promise.all([credentials.headers(), credentials.tls(), credentials.headers()]);
    expect(all[0]).toEqual({ authorization: `Bearer ${SECRET}` });
    await credentials.headers();
    expect(runs()).toBe(1);
    credentials.renew();
    await credentials.headers();
    expect(runs()).toBe(2);
  });

  it("runs again before the token expires", async () => {
    const soon = new Date(Date.now() + 1000).toISOString();
    const credentials = await load(prints({ token: SECRET, expirationTimestamp: soon }));
    await credentials.headers();
    await vi.waitFor(async () => {
      await credentials.headers();
      expect(runs()).toBeGreaterThan(1);
    }, 5000);
  });

  it("gets its environment and what it may know of the cluster", async () => {
    const script = `printf '{"status":{"token":"%s %s"}}' "$WHO" "$(printf %s "$KUBERNETES_EXEC_INFO" | base64 | tr -d '\\n')"`;
    const credentials = await load(script, { env: [{ name: "WHO", value: "me" }], provideClusterInfo: true });
    const [, who, info] = (await credentials.headers()).authorization!.split(" ");
    expect(who).toBe("me");
    expect(JSON.parse(Buffer.from(info!, "base64").toString())).toMatchObject({
      kind: "ExecCredential",
      spec: { interactive: false, cluster: { server: "https://api.test:6443" } },
    });
  });

  it("may give a client certificate", async () => {
    const credentials = await load(prints({ clientCertificateData: "CERT", clientKeyData: "KEY" }));
    expect(await credentials.tls()).toEqual({ cert: "CERT", key: "KEY" });
    expect(await credentials.headers()).toEqual({});
  });

  it.each([
    ["echo 'login first' >&2; echo more >&2; exit 3", "failed: login first"],
    ["exit 3", "failed with exit code 3"],
    [`echo '{"token": ${SECRET}'`, "did not print JSON"],
    [`yes ${SECRET}`, "printed more than 1 MiB, the limit for its output"],
    [`echo '{"token":"${SECRET}"}'`, "printed neither a token nor a client certificate"],
    ["echo null", "printed neither a token nor a client certificate"],
    [`echo '{"status":["${SECRET}"]}'`, "printed neither a token nor a client certificate"],
    [prints({ token: 7 }), "printed a status.token that is not a text"],
    [prints({ token: `${SECRET}\u007f` }), "printed a status.token that does not fit into a header"],
    [prints({ token: SECRET, clientKeyData: {} }), "printed a status.clientKeyData that is not a text"],
    [prints({ clientCertificateData: SECRET }), "printed a client certificate without its key"],
    [prints({ token: SECRET, expirationTimestamp: "soon" }), "printed a status.expirationTimestamp that is not a time"],
  ])("that does `%s` is told in its own words, without its secrets", async (script, message) => {
    const credentials = await load(script);
    const error = (await credentials.headers().catch((reason: unknown) => reason)) as Error;
    expect(error).toMatchObject({ code: "Unauthorized" });
    expect(error.message).toBe(`credential plugin ${directory}/plugin.sh ${message}`);
    expect(error.cause).toBeUndefined();
  });

  it("runs again after a failure", async () => {
    const credentials = await load(`[ $(wc -l < ${directory}/runs) -gt 1 ] || exit 1\n${prints({ token: SECRET })}`);
    await expect(credentials.headers()).rejects.toThrow("exit code 1");
    expect(await credentials.headers()).toEqual({ authorization: `Bearer ${SECRET}` });
  });

  it("that is not installed is named with the hint", async () => {
    const credentials = await load("", { command: "no-such-plugin", installHint: "see example.org" });
    await expect(credentials.headers()).rejects.toThrow("no-such-plugin was not found: see example.org");
  });

  it("is stale a minute before the end, or at four fifths of a short life", () => {
    const at = (seconds: number) => ({ expirationTimestamp: new Date(seconds * 1000).toISOString() });
    expect(staleTime(at(3600), 0)).toBe(3_540_000);
    expect(staleTime(at(100), 0)).toBe(80_000);
    expect(staleTime({}, 0)).toBe(Number.POSITIVE_INFINITY);
  });
});
