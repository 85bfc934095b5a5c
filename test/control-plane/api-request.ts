/** One plain HTTPS call to an API server, for the control plane itself; the code under test has its own client. */
import { Agent, request } from "node:https";

/** A handshake costs more than most calls do. */
const agent = new Agent({ keepAlive: true });

/** Where an API server is, and how to trust it. */
export interface Endpoint {
  readonly server: string;
  readonly caData: string;
  /** Each call opens a connection of its own. */
  readonly ownConnections?: boolean;
}

export interface ApiResponse {
  readonly status: number;
  readonly body: string;
}

/** Calls `path` with a bearer token; answers with any status, rejects only when there is no answer. */
export function apiRequest(
  endpoint: Endpoint,
  token: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<ApiResponse> {
  const { server, caData, ownConnections } = endpoint;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const options = { method, headers, ca: caData, agent: ownConnections ? false : agent, timeout: 10_000 };
  return new Promise((resolve, reject) => {
    const call = request(new URL(path, server), options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text })).on("error", reject);
    });
    call.on("timeout", () => call.destroy(new Error(`no answer from ${server}${path} within 10 s`)));
    call.on("error", (error: NodeJS.ErrnoException) => {
      // A server that was restarted has closed the connections of before.
      if (call.reusedSocket && error.code === "ECONNRESET") resolve(apiRequest(endpoint, token, method, path, body));
      else reject(error);
    });
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
