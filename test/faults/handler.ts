/** One request's way through the proxy: the faults it meets, then the server's answer to it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import type { Answer } from "./answers.ts";
import type { LoggedRequest } from "./requests.ts";
import type { Fault } from "./script.ts";
import type { Upstream } from "./upstream.ts";

interface Surroundings {
  readonly upstream: Upstream;
  /** What the script has for this request. */
  take(request: LoggedRequest): Fault[];
  /** Hands a watch over once its answer has begun. */
  pass(request: LoggedRequest, fromServer: IncomingMessage, toClient: ServerResponse): void;
}

type Handler = (request: LoggedRequest, message: IncomingMessage, toClient: ServerResponse) => Promise<void>;

export function createHandler({ take, pass, upstream }: Surroundings): Handler {
  return async (request, message, toClient) => {
    const body = await buffer(message);
    const fault = await waitThrough(take(request));
    if (toClient.destroyed) return; // the client has given up while it waited
    if (fault?.kind === "answer") return send(request, toClient, fault.answer);
    if (fault?.kind === "reset" && !fault.afterUpstream) return void toClient.destroy();
    const fromServer = await upstream.forward(message, body, toClient);
    if (fault?.kind === "alter") return send(request, toClient, fault.alter(await wholeAnswer(fromServer)));
    if (fault) return void fromServer.resume().on("end", () => toClient.destroy());
    answer(request, toClient, fromServer.statusCode ?? 502, fromServer.headers);
    if (request.watch) pass(request, fromServer, toClient);
    else fromServer.on("error", () => toClient.destroy()).pipe(toClient);
  };
}

async function wholeAnswer(fromServer: IncomingMessage): Promise<Answer> {
  const { "content-type": type = "" } = fromServer.headers;
  const body = (await buffer(fromServer)).toString();
  return { status: fromServer.statusCode ?? 502, headers: { "content-type": type }, body };
}

function send(
  request: LoggedRequest,
  toClient: ServerResponse,
  { status, headers, body, isCut = false }: Answer,
): void {
  if (!isCut) return void answer(request, toClient, status, headers).end(body);
  const announced = { ...headers, "content-length": String(Buffer.byteLength(body) + 100) };
  answer(request, toClient, status, announced).write(body, () => toClient.destroy());
}

/** Lives through the waits; what is left, if anything, decides the answer. */
async function waitThrough(faults: readonly Fault[]): Promise<Exclude<Fault, { kind: "wait" }> | undefined> {
  for (const fault of faults) {
    if (fault.kind !== "wait") return fault;
    await fault.run();
  }
  return undefined;
}

function answer(request: LoggedRequest, toClient: ServerResponse, status: number, headers: IncomingMessage["headers"]) {
  request.status = status;
  return toClient.writeHead(status, headers);
}
