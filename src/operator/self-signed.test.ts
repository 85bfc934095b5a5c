import { X509Certificate } from "node:crypto";
import { request } from "node:https";
import type { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { serveHttp } from "./probes.ts";
import { selfSigned } from "./self-signed.ts";
import { selfSignedServer } from "./serving-certificate.ts";

test("it is valid from an hour ago for ten years, for its name, and signed by its own key", () => {
  const certificate = new X509Certificate(selfSigned("pod-1", new Date("2026-12-01T12:00:00Z")).cert);
  expect(certificate.checkHost("pod-1")).toBe("pod-1");
  expect(certificate.subject).toBe("CN=ipam-operator");
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  const times = [certificate.validFromDate, certificate.validToDate];
  expect(times).toEqual([new Date("2026-12-01T11:00:00Z"), new Date("2036-12-01T12:00:00Z")]);
});

test("each is another", () => {
  const [one, other] = [selfSigned("a", new Date()), selfSigned("a", new Date())];
  expect(new X509Certificate(one.cert).serialNumber).not.toBe(new X509Certificate(other.cert).serialNumber);
  expect(one.key).not.toBe(other.key);
});

test("it is served over HTTPS", async () => {
  const makeServer = await selfSignedServer("localhost");
  const server = await serveHttp(
    { host: "127.0.0.1", port: 0 },
    { "/": () => ({ status: 200, body: "" }) },
    { makeServer, onTaskFailure: () => {} },
  );
  const served = await new Promise<string | undefined>((resolve, reject) => {
    const call = request(
      { host: "127.0.0.1", port: server.port, rejectUnauthorized: false, agent: false },
      (response) => {
        const { subjectaltname } = (response.socket as TLSSocket).getPeerCertificate();
        response.resume().on("end", () => resolve(subjectaltname));
      },
    );
    call.on("error", reject).end();
  });
  await server.close();
  expect(served).toBe("DNS:localhost");
});
