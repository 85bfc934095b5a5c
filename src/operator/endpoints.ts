/** Opens the probe, metrics and inspector endpoints that the flags ask for. */
import type { Logger } from "pino";
import type { OnTaskFailure } from "../kube/background.ts";
import { errorText } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import type { ScrapeGuard } from "./metrics-access.ts";
import type { OperatorOptions } from "./options.ts";
import {
  type BindAddress,
  healthReply,
  type MakeServer,
  monitorLoop,
  type ReadyCheck,
  type Routes,
  readyReply,
  serveHttp,
} from "./probes.ts";

export interface EndpointsOptions {
  readonly options: Pick<OperatorOptions, "metricsBindAddress" | "healthProbeBindAddress" | "inspectBindAddress">;
  readonly metrics: Metrics;
  readonly ready: readonly ReadyCheck[];
  readonly log: Logger;
  readonly onTaskFailure: OnTaskFailure;
  /** What stands before /metrics; absent: plain HTTP, for everybody. */
  readonly guard?: ScrapeGuard | undefined;
  /** A port in use: an error (a cluster's kubelet would find no probe), or only a line in the log. */
  readonly required: boolean;
}

/**
 * @returns closes all of them
 * @throws when one that is required cannot be served; the others are closed again then
 */
export async function openEndpoints({
  options,
  metrics,
  ready,
  log,
  onTaskFailure,
  guard,
  required,
}: EndpointsOptions): Promise<() => Promise<void>> {
  const loop = monitorLoop();
  const probes: Routes = { "/healthz": () => healthReply(loop), "/readyz": () => readyReply(ready) };
  const scrape: Routes = {
    "/metrics": async ({ headers, socket }) =>
      (await guard?.admit(headers.authorization, socket.remoteAddress)) ?? {
        status: 200,
        body: await metrics.text(),
        contentType: metrics.contentType,
      },
  };
  const open = (what: string, flag: string, address: BindAddress | "off", routes: Routes, make?: MakeServer) =>
    address === "off"
      ? undefined
      : openOne({ what, flag, address, routes, log, onTaskFailure, required, makeServer: make });
  const opened = await Promise.allSettled([
    open("probes", "--health-probe-bind-address", options.healthProbeBindAddress, probes),
    open("metrics", "--metrics-bind-address", options.metricsBindAddress, scrape, guard?.makeServer),
    options.inspectBindAddress === "off" ? undefined : inspect(options.inspectBindAddress),
  ]);
  const close = async () => {
    loop.stop();
    await Promise.all(opened.map((one) => (one.status === "fulfilled" ? one.value?.close() : undefined)));
  };
  const failed = opened.find(({ status }) => status === "rejected") as PromiseRejectedResult | undefined;
  if (failed === undefined) return close;
  await close();
  throw failed.reason;
}

interface Endpoint extends Pick<EndpointsOptions, "log" | "onTaskFailure" | "required"> {
  readonly what: string;
  readonly flag: string;
  readonly address: BindAddress;
  readonly routes: Routes;
  readonly makeServer: MakeServer | undefined;
}

async function openOne({ what, flag, address, routes, makeServer, log, onTaskFailure, required }: Endpoint) {
  try {
    const server = await serveHttp(address, routes, { makeServer, onTaskFailure });
    log.info({ port: server.port }, `Serving ${what}: ${Object.keys(routes).join(", ")}`);
    return server;
  } catch (error) {
    const remedy = `choose another with ${flag}, or 0 for none`;
    const message = `Cannot serve ${what} on port ${address.port}: ${errorText(error)}; ${remedy}`;
    if (required) throw new Error(message, { cause: error });
    log.warn(message);
    return undefined;
  }
}

async function inspect({ host, port }: BindAddress): Promise<undefined> {
  const { open } = await import("node:inspector");
  open(port, host);
  return undefined;
}
