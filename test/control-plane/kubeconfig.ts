/** Kubeconfig files, as kubectl and every client library read them. */
import { writeFileSync } from "node:fs";
import { stringify } from "yaml";
import type { Endpoint } from "./api-request.ts";
import type { Issued } from "./certificates.ts";

/** How a kubeconfig's user proves who it is. */
export type Credentials = { readonly token: string } | Issued;

/** Writes a kubeconfig with one cluster, one user and one context to `path`, and returns `path`. */
export function writeKubeconfig(path: string, endpoint: Endpoint, credentials: Credentials): string {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "test", cluster: { server: endpoint.server, "certificate-authority-data": base64(endpoint.caData) } },
    ],
    users: [{ name: "test", user: userOf(credentials) }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    "current-context": "test",
  };
  writeFileSync(path, stringify(config), { mode: 0o600 });
  return path;
}

function userOf(credentials: Credentials) {
  if ("token" in credentials) return { token: credentials.token };
  return {
    "client-certificate-data": base64(credentials.certificate),
    "client-key-data": base64(credentials.privateKey),
  };
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
