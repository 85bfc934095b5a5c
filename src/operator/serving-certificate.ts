/** HTTPS with a certificate that others renew on disk (cert-manager, a mounted Secret): read again when it changes. */
import { join } from "node:path";
import type { SecureContextOptions, Server as TlsServer } from "node:tls";
import type { Logger } from "pino";
import { logTaskFailure, type OnTaskFailure, startTask } from "../kube/background.ts";
import { sleep } from "../kube/backoff.ts";
import { watchedFile } from "../kube/credential-files.ts";
import { errorText } from "./log.ts";
import type { MakeServer } from "./probes.ts";

const LOOK_EVERY_MS = 5_000;

export interface CertificateOptions {
  readonly lookEveryMs?: number;
  /** Called with a failure that is not the files'; the looks then go on. Default: the log. */
  readonly onTaskFailure?: OnTaskFailure;
}

type Pair = Required<Pick<SecureContextOptions, "cert" | "key">>;

/** Makes HTTPS servers with `tls.crt` and `tls.key` of a folder. @throws when they cannot be used now */
export async function openCertificate(
  dir: string,
  log: Logger,
  { onTaskFailure: onFailure = logTaskFailure(log), lookEveryMs = LOOK_EVERY_MS }: CertificateOptions = {},
): Promise<MakeServer> {
  const read = pairReader(dir);
  const { createServer } = await import("node:https");
  const { createSecureContext } = await import("node:tls");
  const pair = await read();
  try {
    createSecureContext(pair);
  } catch (error) {
    throw new Error(`--metrics-cert-dir ${dir}: tls.crt and tls.key are no certificate and its key`, { cause: error });
  }
  return (listener) => {
    const server = createServer(pair, listener);
    const closed = new AbortController();
    const { signal } = closed;
    const look = follow(server, read, pair, log);
    startTask({ task: "metrics", what: "renew the certificate for metrics", signal, onFailure }, async () => {
      for (;;) {
        await sleep(lookEveryMs, signal);
        if (signal.aborted) return;
        await look();
      }
    });
    return server.once("close", () => closed.abort());
  };
}

/** Makes HTTPS servers with a certificate that is made now: callers cannot know it, and are known by their tokens. */
export async function selfSignedServer(name: string): Promise<MakeServer> {
  const { createServer } = await import("node:https");
  const { selfSigned } = await import("./self-signed.ts");
  const pair = selfSigned(name, new Date());
  return (listener) => createServer(pair, listener);
}

/** The same Buffers as long as the files are the same. */
function pairReader(dir: string): () => Promise<Pair> {
  const cert = watchedFile(join(dir, "tls.crt"), "certificate");
  const key = watchedFile(join(dir, "tls.key"), "private key");
  return async () => {
    cert.renew();
    key.renew();
    return { cert: await cert.read(), key: await key.read() };
  };
}

/** Between the writing of the two files they do not fit: then the last pair stays, until the next look. */
function follow(server: TlsServer, read: () => Promise<Pair>, first: Pair, log: Logger): () => Promise<void> {
  let used = first;
  let told = "";
  return async () => {
    try {
      const found = await read();
      if (found.cert !== used.cert || found.key !== used.key) {
        server.setSecureContext(found);
        log.info("Serving metrics with the renewed certificate");
      }
      used = found;
      told = "";
    } catch (error) {
      const text = errorText(error);
      if (text !== told)
        log.warn({ error }, "The certificate for metrics cannot be renewed; the last one stays in use");
      told = text;
    }
  };
}
