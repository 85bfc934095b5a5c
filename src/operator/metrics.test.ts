import { describe, expect, test } from "vitest";
import { createMetrics, generateMetricsReference, METRICS, zeroController } from "./metrics.ts";

describe("metrics", () => {
  test("every series of a controller is there, at zero, before the first reconcile", async () => {
    const metrics = createMetrics();
    zeroController(metrics, "installation", 2);
    const text = await metrics.text();
    for (const result of ["success", "error", "requeue", "requeue_after"]) {
      expect(text).toContain(`controller_runtime_reconcile_total{controller="installation",result="${result}"} 0`);
    }
    expect(text).toContain('controller_runtime_terminal_reconcile_errors_total{controller="installation"} 0');
    expect(text).toContain('controller_runtime_max_concurrent_reconciles{controller="installation"} 2');
    expect(text).toContain('workqueue_depth{name="installation",controller="installation",priority=""} 0');
    expect(text).toContain('workqueue_retries_total{name="installation",controller="installation"} 0');
  });

  test("counts, sets and observes under the table's names", async () => {
    const metrics = createMetrics();
    metrics.count("rest_client_requests_total", { code: "200", method: "GET", host: "10.0.0.1:6443" });
    metrics.set("leader_election_master_status", { name: "ipam-operator" }, 1);
    metrics.observe("controller_runtime_reconcile_time_seconds", { controller: "a" }, 0.02);
    const text = await metrics.text();
    expect(text).toContain('rest_client_requests_total{code="200",method="GET",host="10.0.0.1:6443"} 1');
    expect(text).toContain('leader_election_master_status{name="ipam-operator"} 1');
    expect(text).toContain('controller_runtime_reconcile_time_seconds_bucket{le="0.025",controller="a"} 1');
  });

  test("the process's own numbers are read at each scrape", async () => {
    const metrics = createMetrics();
    const read = async () => Number(/^process_cpu_seconds_total (\S+)$/m.exec(await metrics.text())?.[1]);
    const before = await read();
    for (let until = Date.now() + 30; Date.now() < until; );
    expect(await read()).toBeGreaterThan(before);
    expect(await metrics.text()).toMatch(/^process_resident_memory_bytes [1-9]/m);
  });

  test("two registries do not share counts", async () => {
    const [one, other] = [createMetrics(), createMetrics()];
    one.set("leader_election_master_status", { name: "x" }, 1);
    expect(await other.text()).not.toContain('name="x"');
  });

  test("refreshers run before each scrape", async () => {
    const metrics = createMetrics();
    let scrapes = 0;
    metrics.beforeScrape(() => scrapes++);
    await metrics.text();
    await metrics.text();
    expect(scrapes).toBe(2);
  });

  test("the reference page has a row for each metric", () => {
    const page = generateMetricsReference().get("docs/reference/metrics.md")!;
    for (const { name, help } of METRICS) expect(page).toMatch(new RegExp(`\\| \`${name}\` \\|.*${help.slice(0, 9)}`));
  });
});
