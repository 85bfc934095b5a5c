import { describe, expect, test } from "vitest";
import { parseAddress, parseDuration } from "./option-values.ts";
import { FLAGS, generateFlagsReference, type OperatorOptions, parseOptions, UsageError } from "./options.ts";

const parse = (argv: string[], env: NodeJS.ProcessEnv = {}) => parseOptions(argv, env) as OperatorOptions;

describe("the flags", () => {
  test("have the documented defaults", () => {
    expect(parse([])).toEqual({
      datastore: "auto",
      manifests: "examples",
      metricsBindAddress: { host: undefined, port: 8080 },
      metricsSecure: false,
      healthProbeBindAddress: { host: undefined, port: 8081 },
      inspectBindAddress: "off",
      leaderElect: true,
      leaderElectLeaseDuration: 15_000,
      leaderElectRenewDeadline: 10_000,
      leaderElectRetryPeriod: 2000,
      leaderElectReleaseOnCancel: true,
      concurrent: 2,
      resyncPeriod: 36_000_000,
      reconcileTimeout: 60_000,
      gracefulShutdownTimeout: 25_000,
      kubeApiQps: 50,
      kubeApiBurst: 100,
      watchIdleTimeout: 90_000,
      discoveryPeriod: 30_000,
    });
  });

  test("are also environment variables, and the flag wins", () => {
    const env = { IPAM_OPERATOR_LOG_LEVEL: "debug", IPAM_OPERATOR_LEADER_ELECT: "false", IPAM_OPERATOR_CONCURRENT: "" };
    expect(parse([], env)).toMatchObject({ logLevel: "debug", leaderElect: false, concurrent: 2 });
    expect(parse(["--log-level", "warn", "--leader-elect"], env)).toMatchObject({
      logLevel: "warn",
      leaderElect: true,
    });
  });

  test("do not look at KUBECONFIG", () => {
    expect(parse([], { KUBECONFIG: "/somewhere" }).kubeconfig).toBeUndefined();
  });

  test.each([
    ["embedded:a/b.db", { embedded: "a/b.db" }],
    ["v1", "v1"],
    ["v3", "v3"],
  ])("--datastore %s", (text, wanted) => {
    expect(parse(["--datastore", text]).datastore).toEqual(wanted);
  });

  test.each([
    [["--leader-elect=false"], { leaderElect: false }],
    [["--metrics-bind-address", "0"], { metricsBindAddress: "off" }],
    [["--health-probe-bind-address=[::1]:9"], { healthProbeBindAddress: { host: "::1", port: 9 } }],
    [["--metrics-secure"], { metricsSecure: true }],
    [["--metrics-secure", "--metrics-cert-dir=/c"], { metricsSecure: true, metricsCertDir: "/c" }],
    [["--inspect-bind-address", ":9229"], { inspectBindAddress: { host: "127.0.0.1", port: 9229 } }],
  ])("%j", (argv, wanted) => {
    expect(parse(argv)).toMatchObject(wanted);
  });

  test.each([
    [["--concurrent", "0"], {}, "--concurrent", "from 1 up"],
    [["--log-level=loud"], {}, "--log-level", "trace, debug, info"],
    [["--resync-period", "0s"], {}, "--resync-period", "from 1ms"],
    [["--kubeconfig="], {}, "--kubeconfig", "empty"],
    [["--datastore", "embedded:"], {}, "--datastore", "embedded:FILE"],
    [["--resync-period", "ten"], {}, "--resync-period", "1h30m"],
    [["--metrics-bind-address", "8080"], {}, "--metrics-bind-address", ":PORT"],
    [["--inspect-bind-address", "0.0.0.0:9229"], {}, "--inspect-bind-address", "loopback"],
    [["--leader-elect-lease-duration", "5s"], {}, "--leader-elect-lease-duration", "longer"],
    [["--metrics-cert-dir=/c"], {}, "--metrics-cert-dir", "--metrics-secure"],
    [["--feature-gates=Fast=true"], {}, "--feature-gates", "no gate 'Fast'; this version has none."],
    [["--feature-gates=Fast"], {}, "--feature-gates", "Name=true or Name=false, not 'Fast'"],
    [[], { IPAM_OPERATOR_FEATURE_GATES: "Fast=true" }, "IPAM_OPERATOR_FEATURE_GATES", "this version has none."],
    [["--context", "kind"], {}, "--context", "--kubeconfig"],
    [["--kubeconfig", "k", "--datastore", "embedded:x"], {}, "--kubeconfig", "exclude"],
    [["--datastor", "v1"], {}, "--datastor", "--datastore"],
    [["stray"], {}, "stray", "--help"],
    [[], { IPAM_OPERATOR_CONCURRENT: "many" }, "IPAM_OPERATOR_CONCURRENT", "from 1 up"],
  ])("a mistake is one line that names it: %j %j", (argv, env, where, remedy) => {
    const failure = (() => {
      try {
        return parseOptions(argv, env);
      } catch (error) {
        return error;
      }
    })();
    expect(failure).toBeInstanceOf(UsageError);
    const { message } = failure as UsageError;
    expect(message).toContain(where);
    expect(message).toContain(remedy);
    expect(message).not.toContain("\n");
  });

  test("--version and --help are printed, not run", () => {
    expect(parseOptions(["--version"], {})).toEqual({ print: expect.stringMatching(/^ipam-operator \d+\.\d+\.\d+ /) });
    const help = parseOptions(["--help"], {}) as { print: string };
    expect(help.print).not.toContain("preset");
    expect(help.print).toContain("--leader-elect-renew-deadline <TIME>");
  });

  test("every flag has a row in the reference", () => {
    const page = generateFlagsReference().get("docs/reference/operator-flags.md")!;
    for (const { help } of FLAGS) expect(page).toContain(help);
    expect(page).toContain("| `--kube-api-qps` | `IPAM_OPERATOR_KUBE_API_QPS` | 50 |");
  });
});

test.each([
  ["500ms", 500],
  ["1m30s", 90_000],
  ["1.5h", 5_400_000],
])("the duration %s", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(["0s", "0.5ms", "501h", "596h32m", "999999h"])("no timer holds the duration %s", (text) => {
  expect(() => parseDuration(text)).toThrow("Give a time from 1ms to 500h.");
});

test("a port beyond 65535 is refused", () => {
  expect(() => parseAddress(":65536")).toThrow("PORT");
});
