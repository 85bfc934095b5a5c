/**
 * A reverse proxy in front of a test's real API server, which does to the requests what networks and busy servers do:
 * what is tested stays the real server's behaviour, only the way there is bad.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { join } from "node:path";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { writeKubeconfig } from "../control-plane/kubeconfig.ts";
import { freePorts } from "../control-plane/processes.ts";
import { type Connections, createConnections } from "./connections.ts";
import { createHandler } from "./handler.ts";
import { describeRequest, type LoggedRequest, type Match, matches } from "./requests.ts";
import { createScript, type FaultScript } from "./script.ts";
import { createUpstream } from "./upstream.ts";
import { createWatches, type WatchFaults } from "./watches.ts";

export type { LoggedRequest, Match } from "./requests.ts";

export interface FaultProxy extends FaultScript, WatchFaults {
  /** https URL of the proxy. */
  readonly server: string;
  readonly caData: string;
  /** Path of an admin's kubeconfig that points at the proxy. */
  readonly kubeconfig: string;
  kubeconfigFor(token: string): string;
  /** Every request so far, in the order of arrival. */
  readonly requests: readonly LoggedRequest[];
  /** The requests so far that match. */
  requestsMatching(match: Match): LoggedRequest[];
  /** Connections that clients opened in all, and those open now. */
  readonly connections: { readonly total: number; readonly open: number };
  /** The API server is away: connections are reset and new ones refused, until `acceptAll`. */
  refuseAll(): Promise<void>;
  acceptAll(): Promise<void>;
  /** Forgets every scripted fault and lets new watches through. */
  clear(): void;
  stop(): Promise<void>;
}

/** Starts a proxy for `controlPlane`, without faults; its certificate comes from the same authority. */
export async function startFaultProxy(controlPlane: ControlPlane): Promise<FaultProxy> {
  const { certificate, privateKey } = await controlPlane.certificates.server({ ip: ["127.0.0.1"], dns: ["localhost"] });
  const [port] = (await freePorts(1)) as [number];
  const endpoint = { server: `https://127.0.0.1:${port}`, caData: controlPlane.caData };
  const { take, clear, ...script } = createScript();
  const { pass, ...watches } = createWatches();
  const upstream = createUpstream(controlPlane);
  const requests: LoggedRequest[] = [];

  const serve = createHandler({ take, pass, upstream });

  const server = createServer({ cert: certificate, key: privateKey, keepAliveTimeout: 0, requestTimeout: 0 });
  const connections = createConnections(server);
  server.on("request", (message: IncomingMessage, toClient: ServerResponse) => {
    const request = describeRequest(message, connections.idOf(message.socket));
    requests.push(request);
    serve(request, message, toClient).catch(() => toClient.destroy());
  });
  await listen(server, port);

  const kubeconfigFor = (token: string) =>
    writeKubeconfig(join(controlPlane.dir, `${randomUUID()}.kubeconfig`), endpoint, { token });
  const refuseAll = () => closeNow(server, connections);
  return {
    ...endpoint,
    ...script,
    ...watches,
    kubeconfig: kubeconfigFor(controlPlane.adminToken),
    kubeconfigFor,
    requests,
    requestsMatching: (match) => requests.filter((request) => matches(match, request)),
    connections,
    refuseAll,
    acceptAll: () => listen(server, port),
    clear: () => {
      clear();
      watches.resume();
    },
    stop: async () => {
      await refuseAll();
      upstream.close();
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  if (server.listening) return;
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
}

async function closeNow(server: Server, connections: Connections): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  connections.destroyAll();
  await closed;
}
