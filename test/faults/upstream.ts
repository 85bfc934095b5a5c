/** The way from the proxy to the real API server. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import type { Endpoint } from "../control-plane/api-request.ts";

export interface Upstream {
  /** Sends the client's request on; resolves when the server's answer begins. Given up when the client goes away. */
  forward(message: IncomingMessage, body: Buffer, toClient: ServerResponse): Promise<IncomingMessage>;
  close(): void;
}

export function createUpstream({ server, caData }: Endpoint): Upstream {
  const agent = new Agent({ ca: caData, keepAlive: true });
  return {
    forward: (message, body, toClient) =>
      new Promise((resolve, reject) => {
        const options = { agent, method: message.method ?? "GET", headers: headersOf(message, body) };
        const call = request(new URL(message.url ?? "/", server), options, resolve);
        call.on("error", reject);
        toClient.on("close", () => call.destroy());
        call.end(body);
      }),
    close: () => agent.destroy(),
  };
}

/** The client's headers without those that belong to its own connection; the body is whole here, so its length is known. */
function headersOf(message: IncomingMessage, body: Buffer) {
  const { host: _host, connection: _connection, "transfer-encoding": _encoding, ...headers } = message.headers;
  return body.length > 0 ? { ...headers, "content-length": String(body.length) } : headers;
}
