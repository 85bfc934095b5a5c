/** A cluster that cannot be reached, or does not know the user: what is told says where, whose, and what to do. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { ipamctl, scratchFile } from "./ipamctl.ts";

/** A server that answers every call with this, and a kubeconfig for it. */
async function serverSaying(status: number, message: string): Promise<{ server: string; kubeconfig: string }> {
  const http = createServer((_request, response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message, code: status }));
  });
  await once(http.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void http.close());
  const server = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return { server, kubeconfig: kubeconfigFor(server) };
}

function kubeconfigFor(server: string): string {
  const path = scratchFile("config");
  const named = { name: "prod", cluster: { server }, context: { cluster: "prod", user: "prod" }, user: { token: "t" } };
  const config = { apiVersion: "v1", kind: "Config", clusters: [named], contexts: [named], users: [named] };
  writeFileSync(path, JSON.stringify({ ...config, "current-context": "prod" }));
  return path;
}

it("credentials that have expired", async () => {
  const { server, kubeconfig } = await serverSaying(401, "Unauthorized");
  for (const args of [["show"], ["gc", "--yes"]]) {
    const ran = await ipamctl([...args, "--kubeconfig", kubeconfig, "--context", "prod"]);
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toContain(
      `${server} does not accept the credentials of the kubeconfig ${kubeconfig}, context prod: they are missing, wrong or expired (401). Log in again`,
    );
  }
});

it("no credentials", async () => {
  const said = 'forbidden: User "system:anonymous" cannot get path "/apis"';
  const { server, kubeconfig } = await serverSaying(403, said);
  const ran = await ipamctl(["show", "--kubeconfig", kubeconfig]);
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toContain(`${server} was given no credentials: the kubeconfig ${kubeconfig} has none`);
});

it("no answer", async () => {
  const kubeconfig = kubeconfigFor("http://127.0.0.1:1");
  const ran = await ipamctl(["check", "--kubeconfig", kubeconfig]);
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toMatch(/^ipamctl: http:\/\/127.0.0.1:1 refuses the connection: check that the address is right/);
  expect(ran.stderr).toContain(`The address is that of the kubeconfig ${kubeconfig}\n`);
});

/** What is promised for a server that cannot be reached. */
const SOON = 2000;

it.each<readonly [what: string, address: string | undefined, sentence: string]>([
  ["a refused connection", "http://127.0.0.1:1", "refuses the connection"],
  ["an unknown host", "https://no-such-host.invalid:6443", "has a name that cannot be resolved"],
  ["a server that speaks no TLS", undefined, "does not speak TLS there"],
])("%s is said within two seconds, the address first, then what to do", async (_what, address, sentence) => {
  const plain = address ?? (await serverSaying(401, "Unauthorized")).server.replace("http:", "https:");
  const kubeconfig = kubeconfigFor(plain);
  const ran = await Promise.race([ipamctl(["show", "--kubeconfig", kubeconfig]), sleep(SOON, undefined)]);
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran!.stderr).toContain(`ipamctl: ${plain} ${sentence}`);
});

it("401 of a list is about credentials, for the library too", async () => {
  const { server, kubeconfig } = await serverSaying(401, "Unauthorized");
  const ran = await ipamctl(["show", "--datastore", "v1", "--kubeconfig", kubeconfig]);
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toContain("does not accept the credentials");
  expect(ran.stderr).not.toMatch(/role|[Gg]rant/);
  expect(server).toContain("127.0.0.1");
});
