/** A program of a user, compiled in strict mode against the packed package: what TypeScript must refuse, and what it must take. */
import {
  type AutoAssignArgs,
  type CacheOptions,
  type ConnectOptions,
  cachedDatastore,
  createIpam,
  type Datastore,
  DatastoreError,
  type IPPool,
  type IpamOptions,
  isDatastoreError,
  openEmbedded,
  openKubernetes,
} from "ipam-operator";

const maybe = <T>(value: T): T | undefined => value;

export const cluster: ConnectOptions = {
  kubeconfig: process.env["KUBECONFIG"],
  context: maybe("a"),
  inCluster: maybe(false),
  apiGroup: maybe("v1" as const),
  signal: maybe(AbortSignal.abort()),
  timeoutMs: maybe(1),
};
export const several: ConnectOptions = { kubeconfig: ["/a", "/b"] };
// @ts-expect-error: the option is kubeconfig
export const misspelt: ConnectOptions = { kubeConfig: "/a" };

export const cache: CacheOptions = { signal: maybe(AbortSignal.abort()), onError: maybe(() => {}) };
export const ask: AutoAssignArgs = { intendedUse: "Workload", num4: maybe(1), handleID: maybe("h") };
export const options = (datastore: Datastore): IpamOptions => ({
  datastore,
  clock: maybe(() => new Date()),
  hostname: maybe("a"),
  warn: maybe(() => {}),
});

const apiVersion = "projectcalico.org/v3";
const metadata = { name: "pods" };

export async function store(datastore: Datastore): Promise<IPPool> {
  // @ts-expect-error: the field is blockSize
  await datastore.create({ apiVersion, kind: "IPPool", metadata, spec: { cidr: "10.0.0.0/24", blocksize: 28 } });
  // @ts-expect-error: the field is reservedCIDRs
  await datastore.create({ apiVersion, kind: "IPReservation", metadata, spec: { reservedCidrs: [] } });
  const settings = { strictAffinity: true };
  // @ts-expect-error: the field is strictAffinity
  await datastore.create({ apiVersion, kind: "IPAMConfiguration", metadata, spec: { strictaffinity: true } });
  await datastore.create({ apiVersion, kind: "IPAMConfiguration", metadata, spec: settings });
  await datastore.list("IPPool", { signal: maybe(AbortSignal.abort()), labels: maybe({ a: "b" }) });
  // @ts-expect-error: there is no such kind
  await datastore.get("IPpool", "pods");
  return datastore.create({ apiVersion, kind: "IPPool", metadata, spec: { cidr: "10.0.0.0/24", blockSize: 28 } });
}

export async function run(): Promise<void> {
  const datastore = cachedDatastore(openEmbedded(":memory:"));
  // @ts-expect-error: the field is handleID
  await createIpam({ datastore }).autoAssign({ intendedUse: "Workload", num4: 1, handleId: "h" });
  await openKubernetes().catch((error: unknown) => {
    if (isDatastoreError(error, "KubeconfigNotFound", "UntrustedCertificate")) return error.status;
    // @ts-expect-error: there is no such code
    return isDatastoreError(error, "Unauthorised") || error instanceof DatastoreError;
  });
}
