/**
 * How we authenticate to an API server. Tokens, CA and client certificates kept in files are read again when the files
 * change, and a credential plugin runs again before what it gave expires.
 */
import { resolve } from "node:path";
import { readToken, type WatchedFile, watchedFile } from "./credential-files.ts";
import { type ExecPlugin, type ExecSpec, execPlugin } from "./exec-plugin.ts";
import { type Identity, kubeconfigIdentity, podIdentity, serverUrl } from "./kubeconfig.ts";
import { KubeError } from "./types.ts";

/** What TLS needs. The same object as long as nothing changed. */
export interface TlsMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

export interface Credentials {
  /** URL of the API server, without credentials. */
  readonly server: string;
  /** Which cluster and user, and where that was read: for people. */
  readonly description: string;
  /** Namespace of the context or of the pod. */
  readonly namespace: string | undefined;
  readonly proxyUrl: string | undefined;
  tls(): Promise<TlsMaterial>;
  /** Headers that authenticate a request. @throws KubeError Unauthorized that says what is missing */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** The server refused what `headers` gave: get it anew next time. False where there is nothing to get anew. */
  renew(): boolean;
}

export interface CredentialsOptions {
  /** Path of a kubeconfig file; several are read as one, as kubectl does with those of KUBECONFIG. */
  readonly kubeconfig?: string | readonly string[] | undefined;
  /** Context in it; default its current one. */
  readonly context?: string | undefined;
  /** The ServiceAccount of the pod we run in. */
  readonly inCluster?: boolean | undefined;
  /** Stands before the paths of the ServiceAccount's files. Default none. */
  readonly root?: string | undefined;
}

/**
 * Finds out how to reach and to authenticate to a cluster; nothing is sent yet.
 * @throws KubeError NoCluster, KubeconfigNotFound, KubeconfigInvalid, ContextNotFound
 */
export async function loadCredentials(options: CredentialsOptions): Promise<Credentials> {
  if (options.inCluster) return new IdentityCredentials(await podIdentity(options.root ?? ""));
  if (options.kubeconfig === undefined)
    throw new KubeError("NoCluster", "no cluster given: name a kubeconfig file, or ask for in-cluster");
  return new IdentityCredentials(await kubeconfigIdentity(options.kubeconfig, options.context));
}

class IdentityCredentials implements Credentials {
  readonly server: string;
  readonly description: string;
  readonly namespace: string | undefined;
  readonly proxyUrl: string | undefined;
  readonly #identity: Identity;
  readonly #files: Readonly<Partial<Record<"token" | "ca" | "cert" | "key", WatchedFile>>>;
  readonly #plugin: ExecPlugin | undefined;
  #tls: TlsMaterial = {};

  constructor(identity: Identity) {
    const { cluster, user, tokenFile, directory } = identity;
    this.server = serverUrl(cluster.server);
    this.description = identity.description;
    this.namespace = identity.namespace;
    this.proxyUrl = cluster.proxyUrl || undefined;
    this.#identity = identity;
    this.#files = defined({
      token: tokenFile ? watchedFile(resolve(directory, tokenFile), "token") : undefined,
      ca: cluster.caFile ? watchedFile(cluster.caFile, "CA") : undefined,
      cert: user.certFile ? watchedFile(user.certFile, "client certificate") : undefined,
      key: user.keyFile ? watchedFile(user.keyFile, "client key") : undefined,
    });
    this.#plugin = user.exec ? execPlugin(located(user.exec, directory), clusterInfo(cluster)) : undefined;
  }

  async tls(): Promise<TlsMaterial> {
    const { cluster, user } = this.#identity;
    const { ca, cert, key } = this.#files;
    const own = await this.#plugin?.get();
    const found: TlsMaterial = defined({
      ca: decoded(cluster.caData) ?? (await ca?.read()),
      cert: own?.clientCertificateData ?? decoded(user.certData) ?? (await cert?.read()),
      key: own?.clientKeyData ?? decoded(user.keyData) ?? (await key?.read()),
      servername: cluster.tlsServerName,
      rejectUnauthorized: cluster.skipTLSVerify ? false : undefined,
    });
    if (!sameMaterial(this.#tls, found)) this.#tls = found;
    return this.#tls;
  }

  async headers(): Promise<Readonly<Record<string, string>>> {
    const authorization = await this.#authorization();
    return defined({ authorization, "impersonate-user": this.#identity.user.impersonateUser });
  }

  renew(): boolean {
    const renewable = [...Object.values(this.#files), ...(this.#plugin ? [this.#plugin] : [])];
    for (const source of renewable) source.renew();
    return renewable.length > 0;
  }

  async #authorization(): Promise<string | undefined> {
    const { user } = this.#identity;
    if (this.#files.token) return `Bearer ${await readToken(this.#files.token)}`;
    if (user.token) return `Bearer ${user.token}`;
    if (user.username) return `Basic ${Buffer.from(`${user.username}:${user.password}`).toString("base64")}`;
    if (user.authProvider) return this.#identity.providerAuthorization();
    const token = (await this.#plugin?.get())?.token;
    return token && `Bearer ${token}`;
  }
}

/** A plugin's relative path is relative to the kubeconfig; a bare name is looked for in PATH. */
function located(spec: ExecSpec, directory: string): ExecSpec {
  return spec.command.includes("/") ? { ...spec, command: resolve(directory, spec.command) } : spec;
}

/** What a plugin that asks for it is told of the cluster, under the names of ExecCredential. */
function clusterInfo(cluster: Identity["cluster"]): object {
  return {
    server: cluster.server,
    "tls-server-name": cluster.tlsServerName,
    "insecure-skip-tls-verify": cluster.skipTLSVerify,
    "certificate-authority-data": cluster.caData,
    "proxy-url": cluster.proxyUrl,
  };
}

function decoded(base64: string | undefined): string | undefined {
  return base64 ? Buffer.from(base64, "base64").toString("utf8") : undefined;
}

function defined<R extends Record<string, unknown>>(record: R): { [K in keyof R]?: NonNullable<R[K]> } {
  const present = Object.entries(record).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return Object.fromEntries(present) as { [K in keyof R]?: NonNullable<R[K]> };
}

/** Contents are compared by identity where they come from files, which give the same Buffer until they change. */
function sameMaterial(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key;
}
