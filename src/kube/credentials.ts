/**
 * Who we are to an API server, and how we know it: from a kubeconfig or from a pod's ServiceAccount. Tokens, CA and
 * client certificates kept in files are read again when the files change. The only module that imports client-node,
 * and only when credentials are loaded: the import alone takes a second.
 */
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Cluster, KubeConfig, User } from "@kubernetes/client-node";
import { parse as parseYaml } from "yaml";
import { unreadable, type WatchedFile, watchedFile } from "./credential-files.ts";
import { type ExecSpec, execPlugin } from "./exec-plugin.ts";
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
  /** The server refused what `headers` gave: get it anew next time. */
  renew(): void;
}

export interface CredentialsOptions {
  /** Path of a kubeconfig file. */
  readonly kubeconfig?: string | undefined;
  /** Context in it; default its current one. */
  readonly context?: string | undefined;
  /** The ServiceAccount of the pod we run in. */
  readonly inCluster?: boolean | undefined;
  /** Directory that stands for `/` when the ServiceAccount's files are looked for. */
  readonly root?: string | undefined;
}

/**
 * Finds out how to reach and to authenticate to a cluster; nothing is sent yet.
 * @throws KubeError Unauthorized when the file, the context, its cluster or its user is missing
 */
export async function loadCredentials(options: CredentialsOptions): Promise<Credentials> {
  const source = options.inCluster ? await podSource(options.root ?? "") : await kubeconfigSource(options);
  return buildCredentials(source);
}

/** One cluster and user, chosen. */
interface Source {
  readonly config: KubeConfig;
  readonly cluster: Cluster;
  readonly user: User;
  readonly tokenFile: string | undefined;
  readonly directory: string;
  readonly description: string;
  readonly namespace: string | undefined;
}

async function podSource(root: string): Promise<Source> {
  const config = await newKubeConfig();
  config.loadFromCluster(root);
  if (process.env.KUBERNETES_SERVICE_HOST === undefined) {
    throw invalid("not in a pod: KUBERNETES_SERVICE_HOST is not set; give a kubeconfig instead");
  }
  const [cluster, user] = [config.getCurrentCluster()!, config.getCurrentUser()!];
  const { namespace } = config.getContextObject(config.getCurrentContext())!;
  const description = `the cluster this pod runs in, at ${cluster.server}`;
  const { tokenFile } = user.authProvider.config as { tokenFile: string };
  return { config, cluster, user, tokenFile, directory: "/", description, namespace };
}

async function kubeconfigSource({ kubeconfig, context }: CredentialsOptions): Promise<Source> {
  if (kubeconfig === undefined)
    throw invalid("no cluster given: name a kubeconfig file, or ask for in-cluster credentials");
  const text = await readFile(kubeconfig, "utf8").catch((error: unknown) => {
    throw unreadable(kubeconfig, "kubeconfig", error);
  });
  const directory = dirname(resolve(kubeconfig));
  const config = await parseKubeconfig(kubeconfig, text, directory);
  if (context !== undefined) config.setCurrentContext(context);
  const { cluster, user, namespace, name } = chosen(config, kubeconfig);
  const description = `context ${name} of ${kubeconfig}, user ${user.name}, at ${bare(cluster.server)}`;
  return { config, cluster, user, tokenFile: tokenFileOf(text, user.name), directory, description, namespace };
}

/** A parser's message quotes the lines around the fault, which may hold a token: only the place is told. */
async function parseKubeconfig(path: string, text: string, directory: string): Promise<KubeConfig> {
  const config = await newKubeConfig();
  try {
    config.loadFromString(text);
    config.makePathsAbsolute(directory);
  } catch (error) {
    const { mark } = error as { mark?: { line: number } };
    throw invalid(`kubeconfig ${path} cannot be read${mark ? `: it is not valid YAML at line ${mark.line + 1}` : ""}`);
  }
  return config;
}

async function newKubeConfig(): Promise<KubeConfig> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  return new KubeConfig();
}

function chosen(config: KubeConfig, path: string) {
  const name = config.getCurrentContext();
  if (!name) throw invalid(`kubeconfig ${path} has no current-context: name a context`);
  const context = config.getContexts().find((candidate) => candidate.name === name);
  const known = config.getContexts().map((candidate) => candidate.name);
  if (!context) throw invalid(`kubeconfig ${path} has no context ${name}; it has: ${known.join(", ") || "none"}`);
  const cluster = config.getCluster(context.cluster);
  if (!cluster?.server)
    throw invalid(`kubeconfig ${path}: context ${name} names cluster ${context.cluster}, which is missing`);
  const user = config.getUser(context.user);
  if (!user) throw invalid(`kubeconfig ${path}: context ${name} names user ${context.user}, which is missing`);
  return { name, cluster, user, namespace: context.namespace };
}

/** client-node knows `token-file` only; kubectl's name for it is `tokenFile`. */
function tokenFileOf(text: string, userName: string): string | undefined {
  const { users = [] } = parseYaml(text) as { users?: { name: string; user?: { tokenFile?: string } }[] };
  return users.find(({ name }) => name === userName)?.user?.tokenFile;
}

function buildCredentials({
  config,
  cluster,
  user,
  tokenFile,
  directory,
  description,
  namespace,
}: Source): Credentials {
  const token = tokenFile ? watchedFile(resolve(directory, tokenFile), "token") : undefined;
  const plugin = user.exec ? execPlugin(located(user.exec, directory), clusterInfo(cluster)) : undefined;
  const ca = part(cluster.caFile, cluster.caData, "CA");
  const cert = part(user.certFile, user.certData, "client certificate");
  const key = part(user.keyFile, user.keyData, "client key");
  let material: TlsMaterial = {};
  return {
    server: bare(cluster.server),
    description,
    namespace,
    proxyUrl: cluster.proxyUrl || undefined,
    async tls() {
      const own = await plugin?.get();
      const found = {
        ...(cluster.tlsServerName && { servername: cluster.tlsServerName }),
        ...(cluster.skipTLSVerify && { rejectUnauthorized: false }),
        ...defined({
          ca: await ca?.read(),
          cert: own?.clientCertificateData ?? (await cert?.read()),
          key: own?.clientKeyData ?? (await key?.read()),
        }),
      };
      if (!same(material, found)) material = found;
      return material;
    },
    async headers() {
      const authorization = await authorizationOf();
      return defined({ authorization, "impersonate-user": user.impersonateUser });
    },
    renew() {
      for (const file of [token, ca, cert, key]) file?.renew();
      plugin?.renew();
    },
  };

  async function authorizationOf(): Promise<string | undefined> {
    if (token) return `Bearer ${(await token.read()).toString("utf8").trim()}`;
    if (user.token) return `Bearer ${user.token}`;
    if (user.username) return `Basic ${Buffer.from(`${user.username}:${user.password}`).toString("base64")}`;
    const own = await plugin?.get();
    if (own?.token) return `Bearer ${own.token}`;
    return user.authProvider ? providerAuthorization(config) : undefined;
  }
}

/** OIDC and the cloud providers of old kubeconfigs: left to client-node. */
async function providerAuthorization(config: KubeConfig): Promise<string | undefined> {
  const options: { headers: Record<string, string> } = { headers: {} };
  await config.applyToHTTPSOptions(options);
  return options.headers.Authorization;
}

function part(file: string | undefined, data: string | undefined, purpose: string): WatchedFile | undefined {
  if (file) return watchedFile(file, purpose);
  if (!data) return undefined;
  const content = Buffer.from(data, "base64");
  return { read: async () => content, renew: () => {} };
}

function located(spec: ExecSpec, directory: string): ExecSpec {
  return spec.command.includes("/") ? { ...spec, command: resolve(directory, spec.command) } : spec;
}

function clusterInfo(cluster: Cluster): object {
  return {
    server: cluster.server,
    "tls-server-name": cluster.tlsServerName,
    "insecure-skip-tls-verify": cluster.skipTLSVerify,
    "certificate-authority-data": cluster.caData,
  };
}

/** The URL without user, password and path tail: it is shown to people. */
function bare(server: string): string {
  const url = new URL(server);
  url.username = "";
  url.password = "";
  return url.href.replace(/\/$/, "");
}

function defined<V>(record: Record<string, V | null | undefined>): Record<string, V> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value != null)) as Record<string, V>;
}

function same(a: TlsMaterial, b: TlsMaterial): boolean {
  const keys = ["ca", "cert", "key", "servername", "rejectUnauthorized"] as const;
  return keys.every((key) => a[key] === b[key]);
}

function invalid(message: string): KubeError {
  return new KubeError("Unauthorized", message);
}
