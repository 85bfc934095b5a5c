/** Opening a cluster: which one, and what each way to fail ends in. Real sockets; a real API server in api-group.cluster.test.ts. */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttp, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, createServer as createTcp, type Server as TcpServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { selfSigned } from "../operator/self-signed.ts";
import { type ConnectOptions, connectKubernetes } from "./connect.ts";
import type { DatastoreError } from "./datastore.ts";

const root = mkdtempSync(join(tmpdir(), "ipam-operator-connect-"));
afterAll(() => rmSync(root, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

function kubeconfig(server: string, extra: object = {}, name = "config"): string {
  const path = join(root, name);
  const part = { name: "prod", cluster: { server, ...extra }, context: { cluster: "prod", user: "prod" } };
  const named = { ...part, user: { token: "secret" } };
  const config = { apiVersion: "v1", kind: "Config", clusters: [named], contexts: [named], users: [named] };
  writeFileSync(path, JSON.stringify({ ...config, "current-context": "prod" }));
  return path;
}

async function listening(server: Server | TcpServer): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const saying = (status: number, message: string) =>
  listening(
    createHttp((_request, response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message, code: status }));
    }),
  );

const failure = async (options?: ConnectOptions) => {
  const error = await connectKubernetes(options).then(
    (datastore) => datastore.close(),
    (reason: unknown) => reason as DatastoreError,
  );
  expect(error).toMatchObject({ name: "DatastoreError" });
  return error as DatastoreError;
};

describe("which cluster", () => {
  const usual = () => {
    mkdirSync(join(root, "home/.kube"), { recursive: true });
    vi.stubEnv("HOME", join(root, "home"));
    return kubeconfig("https://usual.test", {}, "home/.kube/config");
  };
  const opened = async (options?: ConnectOptions) => {
    const datastore = await connectKubernetes({ apiGroup: "v3", ...options });
    onTestFinished(() => datastore.close());
    return datastore.description;
  };

  it("none is named", async () => {
    vi.stubEnv("KUBECONFIG", undefined);
    vi.stubEnv("HOME", join(root, "nowhere"));
    for (const options of [undefined, {}, { kubeconfig: undefined }, { kubeconfig: "" }]) {
      expect(await failure(options)).toMatchObject({ code: "NoCluster", status: 0 });
    }
    expect((await failure()).message).toContain("no cluster is named: pass kubeconfig, set KUBECONFIG");
  });

  it("the file in the home folder, then KUBECONFIG, then the option", async () => {
    vi.stubEnv("KUBECONFIG", undefined);
    usual();
    expect(await opened()).toBe("projectcalico.org/v3");
    expect(await opened({ kubeconfig: undefined, context: undefined })).toBe("projectcalico.org/v3");
    vi.stubEnv("KUBECONFIG", join(root, "not-here"));
    expect(await failure()).toMatchObject({ code: "KubeconfigNotFound" });
    expect(await opened({ kubeconfig: kubeconfig("https://other.test") })).toBe("projectcalico.org/v3");
  });

  it("KUBECONFIG is a list; files that do not exist are skipped", async () => {
    vi.stubEnv("KUBECONFIG", [join(root, "not-here"), kubeconfig("https://other.test")].join(delimiter));
    expect(await opened()).toBe("projectcalico.org/v3");
    const two = [join(root, "not-here"), join(root, "nor-here")];
    expect(await failure({ kubeconfig: two.join(delimiter) })).toMatchObject({
      code: "KubeconfigNotFound",
      message: `none of the kubeconfig files exists: ${two.join(", ")}`,
    });
  });
});

describe("a kubeconfig that is no good", () => {
  const file = (text: string) => {
    const path = join(root, "text");
    writeFileSync(path, text);
    return path;
  };

  it("is told by what is wrong with it", async () => {
    expect(await failure({ kubeconfig: file("a: [b") })).toMatchObject({
      code: "KubeconfigInvalid",
      message: expect.stringContaining("is not valid YAML at line"),
    });
    expect(await failure({ kubeconfig: root })).toMatchObject({ code: "KubeconfigInvalid" });
    expect(await failure({ kubeconfig: kubeconfig("no url") })).toMatchObject({ code: "KubeconfigInvalid" });
    expect(await failure({ kubeconfig: kubeconfig("https://a.test"), context: "lost" })).toMatchObject({
      code: "ContextNotFound",
      message: expect.stringContaining("has no context lost; it has: prod"),
    });
  });

  it("a pod that is none", async () => {
    vi.stubEnv("KUBERNETES_SERVICE_HOST", undefined);
    expect(await failure({ inCluster: true })).toMatchObject({ code: "NoCluster" });
  });
});

describe("a cluster that cannot be opened", () => {
  it("refuses the connection", async () => {
    const closed = createTcp();
    const port = await listening(closed);
    await new Promise((done) => closed.close(done));
    const path = kubeconfig(`https://127.0.0.1:${port}`);
    expect(await failure({ kubeconfig: path })).toMatchObject({
      code: "Unavailable",
      status: 0,
      message: expect.stringMatching(
        `^cannot open context prod of ${path}, user prod, at https://127.0.0.1:${port}: .*refuses the connection: check`,
      ),
    });
  });

  it("says nothing", async () => {
    const port = await listening(createTcp());
    const path = kubeconfig(`http://127.0.0.1:${port}`);
    expect(await failure({ kubeconfig: path, timeoutMs: 100 })).toMatchObject({
      code: "Unavailable",
      message: expect.stringContaining("no answer within 0.1 s"),
    });
    const signal = AbortSignal.timeout(50);
    const cut = connectKubernetes({ kubeconfig: path, signal }).catch((reason: unknown) => reason);
    expect([await cut]).toEqual([signal.reason]);
  });

  it("has a certificate of an authority that is not trusted", async () => {
    const port = await listening(
      createHttps(selfSigned("localhost", new Date()), (_request, response) => response.end()),
    );
    expect(await failure({ kubeconfig: kubeconfig(`https://127.0.0.1:${port}`) })).toMatchObject({
      code: "UntrustedCertificate",
      message: expect.stringContaining("check the certificate authority and the server's name"),
    });
  });

  it("is behind a proxy that refuses", async () => {
    const proxy = createHttp().on("connect", (_request, socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"));
    const port = await listening(proxy);
    const path = kubeconfig("https://prod.test:6443", { "proxy-url": `http://127.0.0.1:${port}` });
    expect(await failure({ kubeconfig: path })).toMatchObject({
      code: "Unavailable",
      message: expect.stringContaining("cannot be reached through the proxy, which refuses"),
    });
  });

  it.each([
    [401, "Unauthorized", "Renew the token or certificate"],
    [403, 'forbidden: User "jane" cannot get path "/apis"', "Grant this user the ClusterRole system:discovery"],
  ])("answers %i", async (status, said, fix) => {
    const port = await saying(status, said);
    expect(await failure({ kubeconfig: kubeconfig(`http://127.0.0.1:${port}`) })).toMatchObject({
      code: "Unauthorized",
      status,
      message: expect.stringContaining(fix),
    });
  });
});
