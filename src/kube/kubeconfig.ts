/**
 * Which cluster and user: chosen from a kubeconfig, or this pod's ServiceAccount. The only module that imports
 * client-node, and only when it is asked: the import alone takes a second.
 */
import { existsSync } from "node:fs";
import { delimiter, dirname, resolve } from "node:path";
import type { Cluster, KubeConfig, User } from "@kubernetes/client-node";
import { fileWithin } from "./bounded.ts";
import { filesOf } from "./cluster-choice.ts";
import { unreadable } from "./credential-files.ts";
import { KubeError } from "./types.ts";
import { LARGEST_YAML, parseYaml, YamlTooLarge, yamlDocuments } from "./yaml.ts";

/** One cluster and user, chosen; file names in it are absolute, but for `tokenFile` and the plugin's command. */
export interface Identity {
  readonly cluster: Cluster;
  readonly user: User;
  readonly tokenFile: string | undefined;
  /** What relative file names stand in. */
  readonly directory: string;
  readonly description: string;
  readonly namespace: string | undefined;
  /** Authorization header of an OIDC or cloud provider of an old kubeconfig, which client-node knows to ask. */
  providerAuthorization(): Promise<string | undefined>;
}

/**
 * The ServiceAccount of the pod we run in. `root` stands before its files' paths.
 * @throws KubeError NoCluster outside of a pod
 */
export async function podIdentity(root: string): Promise<Identity> {
  if (process.env.KUBERNETES_SERVICE_HOST === undefined) {
    throw new KubeError("NoCluster", "not in a pod (KUBERNETES_SERVICE_HOST is not set): give a kubeconfig instead");
  }
  const config = await newKubeConfig();
  config.loadFromCluster(root);
  const [cluster, user] = [config.getCurrentCluster()!, config.getCurrentUser()!];
  const { tokenFile } = user.authProvider.config as { tokenFile: string };
  return {
    cluster,
    user: { name: user.name },
    tokenFile,
    directory: "/",
    description: `the cluster this pod runs in, at ${cluster.server}`,
    namespace: config.getContextObject(config.currentContext)?.namespace,
    providerAuthorization: async () => undefined,
  };
}

/**
 * A context of a kubeconfig file; the current one where none is named. Several files, a list or texts joined as in KUBECONFIG,
 * are one as kubectl reads them: of each name the first file that has it counts, and files that do not exist are skipped.
 * @throws KubeError KubeconfigNotFound, KubeconfigInvalid, ContextNotFound
 */
export async function kubeconfigIdentity(
  paths: string | readonly string[],
  context: string | undefined,
): Promise<Identity> {
  const named = filesOf(paths);
  const files = named.length === 1 ? [await readKubeconfig(named[0]!)] : await readAll(named);
  const config = files.length === 1 ? files[0]!.config : await merged(files);
  const path = files.map((file) => file.path).join(delimiter);
  if (context !== undefined) config.setCurrentContext(context);
  const { name, cluster, user, namespace } = chosen(config, path);
  const { text, directory } = files.find((file) => file.config.getUser(user.name) !== null)!;
  return {
    cluster,
    user,
    tokenFile: tokenFileOf(text, user.name),
    directory,
    description: `context ${name} of ${path}, user ${user.name}, at ${serverUrl(cluster.server)}`,
    namespace,
    providerAuthorization: () => providerAuthorization(config),
  };
}

/**
 * A server's URL without user and password: it is shown to people.
 * @throws KubeError KubeconfigInvalid when it is not a URL
 */
export function serverUrl(server: string): string {
  if (!URL.canParse(server)) throw invalid("the kubeconfig's server is not a URL such as https://10.0.0.1:6443");
  const url = new URL(server);
  url.username = "";
  url.password = "";
  return url.href.replace(/\/$/, "");
}

/** The error of a kubeconfig that lacks something. */
export function invalid(message: string): KubeError {
  return new KubeError("KubeconfigInvalid", message);
}

async function newKubeConfig(): Promise<KubeConfig> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  return new KubeConfig();
}

interface KubeconfigFile {
  readonly path: string;
  readonly text: string;
  readonly directory: string;
  readonly config: KubeConfig;
}

async function readKubeconfig(path: string): Promise<KubeconfigFile> {
  const content = await fileWithin(path, LARGEST_YAML).catch((error: unknown) => {
    const { message, cause } = unreadable(path, "kubeconfig", error);
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw new KubeError(isMissing ? "KubeconfigNotFound" : "KubeconfigInvalid", message, { cause });
  });
  const text = content.toString();
  const directory = dirname(resolve(path));
  return { path, text, directory, config: await parseKubeconfig(path, text, directory) };
}

async function readAll(paths: readonly string[]): Promise<KubeconfigFile[]> {
  const there = paths.filter((path) => existsSync(path));
  if (there.length === 0) {
    throw new KubeError("KubeconfigNotFound", `none of the kubeconfig files exists: ${paths.join(", ")}`);
  }
  return Promise.all(there.map(readKubeconfig));
}

async function merged(files: readonly KubeconfigFile[]): Promise<KubeConfig> {
  const configs = files.map((file) => file.config);
  const config = await newKubeConfig();
  config.loadFromOptions({
    clusters: firstOfEachName(configs.flatMap((one) => one.getClusters())),
    users: firstOfEachName(configs.flatMap((one) => one.getUsers())),
    contexts: firstOfEachName(configs.flatMap((one) => one.getContexts())),
    currentContext: configs.map((one) => one.getCurrentContext()).find(Boolean),
  });
  return config;
}

function firstOfEachName<T extends { readonly name: string }>(all: readonly T[]): T[] {
  return all.filter(({ name }, at) => all.findIndex((other) => other.name === name) === at);
}

/** A parser's message quotes the lines around the fault, which may hold a token: only the place is told. */
async function parseKubeconfig(path: string, text: string, directory: string): Promise<KubeConfig> {
  const config = await newKubeConfig();
  try {
    yamlDocuments(text); // first: it is bounded
    config.loadFromString(text);
    config.makePathsAbsolute(directory);
  } catch (error) {
    throw invalid(`kubeconfig ${path} cannot be read: ${kubeconfigFault(error)}`);
  }
  return config;
}

function kubeconfigFault(error: unknown): string {
  if (error instanceof YamlTooLarge) return `it ${error.message}`;
  const { mark, message } = error as { mark?: { line: number }; message: string };
  if (mark) return `it is not valid YAML at line ${mark.line + 1}`;
  return message.endsWith(" is missing") ? message : "it is not a kubeconfig";
}

function chosen(config: KubeConfig, path: string) {
  const name = config.getCurrentContext();
  if (!name) throw new KubeError("ContextNotFound", `kubeconfig ${path} has no current-context: name a context`);
  const known = config.getContexts().map((candidate) => candidate.name);
  if (!known.includes(name)) {
    const others = known.join(", ") || "none";
    throw new KubeError("ContextNotFound", `kubeconfig ${path} has no context ${name}; it has: ${others}`);
  }
  const context = config.getContextObject(name)!;
  const cluster = config.getCluster(context.cluster);
  if (!cluster) throw invalid(`kubeconfig ${path}: context ${name} names cluster ${context.cluster}, which is missing`);
  const user = config.getUser(context.user);
  if (!user) throw invalid(`kubeconfig ${path}: context ${name} names user ${context.user}, which is missing`);
  return { name, cluster, user, namespace: context.namespace };
}

/** client-node knows `token-file` only; kubectl's name for it is `tokenFile`. */
function tokenFileOf(text: string, userName: string): string | undefined {
  const { users } = parseYaml(text) as { users: { name: string; user?: { tokenFile?: string } }[] };
  return users.find(({ name }) => name === userName)?.user?.tokenFile;
}

async function providerAuthorization(config: KubeConfig): Promise<string | undefined> {
  const options: { headers: Record<string, string> } = { headers: {} };
  await config.applyToHTTPSOptions(options);
  return options.headers.Authorization;
}
