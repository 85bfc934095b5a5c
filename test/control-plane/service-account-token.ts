/** Tokens of ServiceAccounts, from the API server's own TokenRequest interface. */
import { apiRequest, type Endpoint } from "./api-request.ts";

export interface TokenOptions {
  /** Makes namespace and ServiceAccount where they are missing. */
  readonly create?: boolean;
}

/** A token for the ServiceAccount `namespace`/`name`, valid for two hours. */
export async function requestServiceAccountToken(
  endpoint: Endpoint,
  adminToken: string,
  { namespace, name, create = false }: TokenOptions & { readonly namespace: string; readonly name: string },
): Promise<string> {
  const post = async (path: string, body: unknown, accepted: readonly number[]) => {
    const answer = await apiRequest(endpoint, adminToken, "POST", path, body);
    if (!accepted.includes(answer.status)) throw new Error(`POST ${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body);
  };
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  if (create) {
    await post("/api/v1/namespaces", { metadata: { name: namespace } }, [201, 409]);
    await post(accounts, { metadata: { name } }, [201, 409]);
  }
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 7200 } };
  return (await post(`${accounts}/${name}/token`, request, [201])).status.token;
}
