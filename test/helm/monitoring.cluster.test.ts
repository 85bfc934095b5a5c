/** What the chart renders for those who watch the operator, and for those who keep it from the network. */
import { expect, test } from "vitest";
import { only } from "./helm.ts";
import { optionsOf, rendered } from "./rendered.ts";

test("no metrics: neither flag, port, nor service port", async () => {
  const objects = await rendered({ metrics: { enabled: false }, networkPolicy: { enabled: true } });
  expect(await optionsOf({ metrics: { enabled: false } })).toMatchObject({ metricsBindAddress: "off" });
  const portsOf = (ports: { name: string }[]) => ports.map(({ name }) => name);
  expect(portsOf(only(objects, "Deployment")["spec"].template.spec.containers[0].ports)).toEqual(["probes"]);
  expect(portsOf(only(objects, "Service")["spec"].ports)).toEqual(["probes"]);
  expect(JSON.stringify(only(objects, "NetworkPolicy")["spec"].ingress)).not.toContain("metrics");
});

const monitored = { serviceMonitor: { enabled: true } };

test("by default: HTTPS with a certificate that each pod makes, and the right to read for whoever is named", async () => {
  const readers = [
    { kind: "ServiceAccount", namespace: "monitoring", name: "prometheus" },
    { kind: "Group", name: "on-call" },
  ] as const;
  const values = { metrics: { ...monitored, readers: [...readers] } };
  const options = await optionsOf(values);
  expect(options).toMatchObject({ metricsSecure: true });
  expect(options.metricsCertDir).toBeUndefined();
  const objects = await rendered(values);
  expect(only(objects, "Deployment")["spec"].template.spec.volumes).toBeUndefined();
  const [endpoint] = only(objects, "ServiceMonitor")["spec"].endpoints;
  const bearerTokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token";
  expect(endpoint).toMatchObject({ scheme: "https", bearerTokenFile, tlsConfig: { insecureSkipVerify: true } });
  const ofReader = objects.filter(({ metadata }) => metadata.name === "ipam-operator:metrics-reader");
  expect(ofReader.find(({ kind }) => kind === "ClusterRole")).toMatchObject({
    rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }],
  });
  expect(ofReader.find(({ kind }) => kind === "ClusterRoleBinding")).toMatchObject({
    roleRef: { kind: "ClusterRole", name: "ipam-operator:metrics-reader" },
    subjects: [readers[0], { ...readers[1], apiGroup: "rbac.authorization.k8s.io" }],
  });
});

test("plain HTTP for everybody where it is asked for", async () => {
  const metrics = { ...monitored, secure: false };
  expect(await optionsOf({ metrics })).toMatchObject({ metricsSecure: false });
  const [endpoint] = only(await rendered({ metrics }), "ServiceMonitor")["spec"].endpoints;
  expect(endpoint).toEqual({ port: "metrics", interval: "30s" });
});

test("a given certificate: the flags, the volume, and a ServiceMonitor that trusts it", async () => {
  const secure = { certSecret: "metrics-tls" };
  expect(await optionsOf({ metrics: secure })).toMatchObject({ metricsSecure: true });
  const objects = await rendered({
    metrics: { ...secure, serviceMonitor: { enabled: true, endpoint: { interval: "1m" } } },
  });
  const { volumes, containers } = only(objects, "Deployment")["spec"].template.spec;
  const [volume] = volumes;
  expect(volume.secret.secretName).toBe("metrics-tls");
  const mount = { name: volume.name, mountPath: (await optionsOf({ metrics: secure })).metricsCertDir, readOnly: true };
  expect(containers[0].volumeMounts).toEqual([mount]);
  const [endpoint] = only(objects, "ServiceMonitor")["spec"].endpoints;
  expect(endpoint).toMatchObject({
    scheme: "https",
    interval: "1m",
    tlsConfig: {
      serverName: "ipam-operator.ipam-operator.svc",
      ca: { secret: { name: "metrics-tls", key: "ca.crt" } },
    },
  });
});

test("service, budget and policy select the operator's pods, and not the test's", async () => {
  const objects = await rendered({ networkPolicy: { enabled: true } });
  const labels = only(objects, "Deployment")["spec"].template.metadata.labels;
  const selectors = [
    only(objects, "Service")["spec"].selector,
    only(objects, "PodDisruptionBudget")["spec"].selector.matchLabels,
    only(objects, "NetworkPolicy")["spec"].podSelector.matchLabels,
    only(objects, "Deployment")["spec"].selector.matchLabels,
  ];
  for (const selector of selectors) {
    expect(labels).toMatchObject(selector);
    expect(only(objects, "Pod").metadata.labels).not.toMatchObject(selector);
  }
});

test("the network policy lets in probes and scrapes, and out to DNS and the API server only", async () => {
  const from = [{ namespaceSelector: { matchLabels: { name: "monitoring" } } }];
  const objects = await rendered({ networkPolicy: { enabled: true, apiServerPorts: [8443], metricsFrom: from } });
  const { ingress, egress } = only(objects, "NetworkPolicy")["spec"];
  expect(ingress).toEqual([{ ports: [{ port: "probes" }] }, { ports: [{ port: "metrics" }], from }]);
  expect(egress).toEqual([
    {
      ports: [
        { port: 53, protocol: "UDP" },
        { port: 53, protocol: "TCP" },
      ],
    },
    { ports: [{ port: 8443 }] },
  ]);
});

test("the alerts look at this release's series, and the one about leaders only where there is an election", async () => {
  const alertsOf = async (enabled: boolean) => {
    const metrics = { prometheusRule: { enabled: true } };
    const objects = await rendered({ replicas: 1, leaderElection: { enabled }, metrics });
    return only(objects, "PrometheusRule")["spec"].groups[0].rules as { alert: string; expr: string }[];
  };
  const alerts = await alertsOf(true);
  const ours = '{namespace="ipam-operator", job="ipam-operator"';
  for (const { expr } of alerts) expect(expr.split("{")).toHaveLength(expr.split(ours).length);
  const names = alerts.map(({ alert }) => alert);
  expect(names).toContain("IpamOperatorNoLeader");
  const without = (await alertsOf(false)).map(({ alert }) => alert);
  expect(without).toEqual(names.filter((name) => name !== "IpamOperatorNoLeader"));
});

test("the dashboard is found by Grafana's sidecar, and is JSON", async () => {
  const objects = await rendered({ metrics: { dashboard: { enabled: true, labels: { team: "network" } } } });
  const { metadata, data } = only(objects, "ConfigMap");
  expect(metadata.labels).toMatchObject({ grafana_dashboard: "1", team: "network" });
  expect(JSON.parse(data["ipam-operator.json"])).toMatchObject({ uid: "ipam-operator", title: "ipam-operator" });
});

test("more labels reach the objects that a Prometheus selects", async () => {
  const labels = { release: "prometheus" };
  const objects = await rendered({
    metrics: { serviceMonitor: { enabled: true, labels }, prometheusRule: { enabled: true, labels } },
  });
  for (const kind of ["ServiceMonitor", "PrometheusRule"]) {
    expect(only(objects, kind).metadata.labels).toMatchObject(labels);
  }
  const { selector } = only(objects, "ServiceMonitor")["spec"];
  expect(only(objects, "Service").metadata.labels).toMatchObject(selector.matchLabels);
});

test("text that looks like a truth value or a number stays text", async () => {
  const annotations = { "a.example/b": "true", c: "1" };
  const objects = await rendered({ service: { annotations }, serviceAccount: { annotations } });
  for (const kind of ["Service", "ServiceAccount"]) {
    expect(only(objects, kind).metadata.annotations).toEqual(annotations);
  }
});
