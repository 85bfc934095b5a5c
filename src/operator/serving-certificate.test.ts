import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createCertificateAuthority, type Issued } from "../../test/control-plane/certificates.ts";
import { logTaskFailure } from "../kube/background.ts";
import { createLogger } from "./log.ts";
import { type HttpEndpoint, serveHttp } from "./probes.ts";
import { openCertificate } from "./serving-certificate.ts";

let dir: string;
let server: HttpEndpoint | undefined;
const lines: string[] = [];
const log = createLogger({ level: "info", encoding: "json", sink: { write: (line) => lines.push(line) } });
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "ipam-operator-certificate-"));
  lines.length = 0;
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await rm(dir, { recursive: true });
});

const issue = async () => {
  const authority = await createCertificateAuthority("test");
  return { ca: authority.certificate, pair: await authority.server({ ip: ["127.0.0.1"], dns: [] }) };
};
const put = (file: "tls.crt" | "tls.key", text: string) => writeFile(join(dir, file), text);
const putBoth = async ({ certificate, privateKey }: Issued) => {
  await put("tls.crt", certificate);
  await put("tls.key", privateKey);
};
async function serve(): Promise<void> {
  const makeServer = await openCertificate(dir, log, { lookEveryMs: 10 });
  const routes = { "/": () => ({ status: 200, body: "" }) };
  const onTaskFailure = logTaskFailure(log);
  server = await serveHttp({ host: "127.0.0.1", port: 0 }, routes, { makeServer, onTaskFailure });
}
/** Whether a client that trusts `ca` alone is answered. */
const trusted = (ca: string) =>
  new Promise<boolean>((resolve) => {
    const call = request({ host: "127.0.0.1", port: server!.port, ca, agent: false }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode === 200));
    });
    call.on("error", () => resolve(false)).end();
  });

test("a renewed pair is served; half of it, or nonsense, is not, and is said once", async () => {
  const [first, second] = [await issue(), await issue()];
  await putBoth(first.pair);
  await serve();
  expect([await trusted(first.ca), await trusted(second.ca)]).toEqual([true, false]);

  await put("tls.crt", second.pair.certificate);
  await expect.poll(() => lines.join("")).toContain("the last one stays in use");
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(lines).toHaveLength(1);
  expect([await trusted(first.ca), await trusted(second.ca)]).toEqual([true, false]);

  await put("tls.key", second.pair.privateKey);
  await expect.poll(() => trusted(second.ca)).toBe(true);
  expect(lines.join("")).not.toContain("PRIVATE KEY");

  await rm(join(dir, "tls.key"));
  await expect.poll(() => lines.at(-1)).toContain("tls.key: there is no such file");
  expect(await trusted(second.ca)).toBe(true);
});

test("without a usable pair it does not start, and says which file", async () => {
  await expect(serve()).rejects.toThrow(/tls\.crt: there is no such file/);
  const [first, second] = [await issue(), await issue()];
  await putBoth({ ...first.pair, privateKey: second.pair.privateKey });
  await expect(serve()).rejects.toThrow(
    `--metrics-cert-dir ${dir}: tls.crt and tls.key are no certificate and its key`,
  );
});
