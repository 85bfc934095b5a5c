import { describe, expect, test } from "vitest";
import { INSTALLATION_API_VERSION, type Installation } from "../api/installation.ts";
import type { Condition } from "../api/meta.ts";
import { createConsole } from "./console.ts";

function setUp(options: { colour?: boolean } = {}) {
  let text = "";
  const write = (part: string) => {
    text += part;
  };
  const console = createConsole({ write, nextStep: (object) => [object ? "Try this." : "Begin so."], ...options });
  const said = () => {
    const all = text;
    text = "";
    return all;
  };
  return { console, said };
}

const now = "2026-11-29T00:00:00Z";
function condition(type: string, status: Condition["status"], reason: string, message: string): Condition {
  return { type, status, reason, message, lastTransitionTime: now };
}
function installation(cooldown: string, conditions: Condition[], generation = 1): Installation {
  return {
    apiVersion: INSTALLATION_API_VERSION,
    kind: "Installation",
    metadata: { name: "default", generation },
    spec: { managementPolicy: "Enforce" },
    status: {
      observedGeneration: 1,
      conditions,
      fields: [
        { name: "strictAffinity", value: "true", source: "Installation" },
        { name: "ipCooldownSeconds", value: cooldown, source: "Default" },
      ],
    },
  };
}
const ready = (message: string) => [condition("Ready", "True", "Succeeded", message)];

describe("the console", () => {
  test("shows the configuration, where each value comes from, and once what to try next", () => {
    const { console, said } = setUp();
    console.installation(installation("0", ready("all is as written")));
    const first = said();
    expect(first).toContain("Installation default is ready: everything is as it says.\n");
    expect(first).toContain("  strictAffinity     true      from your Installation\n");
    expect(first).toContain("  ipCooldownSeconds  0         default, not managed\n");
    expect(first).toContain("Try this.");
    console.installation(installation("60", ready("changed one field")));
    const second = said();
    expect(second).toContain("default, not managed  (was 0)");
    expect(second).not.toContain("Try this.");
  });

  test("says the same thing once, and nothing of a state that is not about the newest spec", () => {
    const { console, said } = setUp();
    console.installation(installation("0", ready("fine")));
    said();
    console.installation(installation("0", ready("fine")));
    console.installation(installation("0", ready("old news"), 2));
    expect(said()).toBe("");
  });

  test("a state that needs explaining is explained", () => {
    const { console, said } = setUp();
    console.installation(installation("0", [condition("Ready", "True", "Observed", "Enforce would change x")]));
    expect(said()).toContain("Installation default is ready (Observed): Enforce would change x");
  });

  test.each(["Observe", "Paused"] as const)(
    "under %s a stored value is told apart from what the Installation says",
    (policy) => {
      const { console, said } = setUp();
      const found = installation("60", ready("looked at"));
      const ipam = { ipCooldownSeconds: 90, strictAffinity: true };
      const fields = [
        { name: "strictAffinity", value: "true", source: "Default" },
        { name: "ipCooldownSeconds", value: "60", source: "Existing" },
        { name: "maxBlocksPerHost", value: "20", source: "Existing" },
      ] as const;
      console.installation({
        ...found,
        spec: { managementPolicy: policy, ipam },
        status: { ...found.status, fields: [...fields] },
      });
      const text = said();
      expect(text).toContain("  strictAffinity     true      default; your Installation says the same\n");
      expect(text).toContain("  ipCooldownSeconds  60        found stored; your Installation says 90\n");
      expect(text).toContain("  maxBlocksPerHost   20        found stored, not managed\n");
    },
  );

  test("a default is told apart from what the Installation says", () => {
    const { console, said } = setUp();
    const spec = { managementPolicy: "Observe", ipam: { ipCooldownSeconds: 90 } } as const;
    console.installation({ ...installation("0", ready("looked at")), spec });
    expect(said()).toContain("  ipCooldownSeconds  0         default; your Installation says 90\n");
    const changed = { ...spec, ipam: { ipCooldownSeconds: 80 } };
    console.installation({ ...installation("0", ready("looked at")), spec: changed });
    expect(said()).toContain("your Installation says 80\n");
  });

  test("a stalled Installation asks for its user, and says why", () => {
    const { console, said } = setUp();
    const conditions = [
      condition("Ready", "False", "InvalidSpec", "x"),
      condition("Stalled", "True", "InvalidSpec", "set strictAffinity: true"),
    ];
    console.installation(installation("0", conditions));
    expect(said()).toContain("Installation default needs you (InvalidSpec): set strictAffinity: true");
  });

  test("a missing Installation is explained", () => {
    const { console, said } = setUp();
    console.installation(undefined);
    expect(said()).toMatch(/There is no Installation. The stored configuration stays as it is.*\n\nBegin so\./s);
    console.installation(installation("0", ready("fine")));
    expect(said()).toContain("Try this.");
    console.installation(undefined);
    expect(said()).not.toContain("Begin so.");
  });

  test("a refused file names file, line and rule, and that the last good state holds", () => {
    const { console, said } = setUp();
    console.file("examples", { type: "refused", file: "a.yaml", problems: [{ line: 7, message: "the rule" }] });
    expect(said()).toBe(
      "examples/a.yaml is refused; what was there before stays in force:\n  examples/a.yaml:7  the rule\n",
    );
    console.file("examples", { type: "accepted", file: "a.yaml" });
    expect(said()).toBe("examples/a.yaml is accepted again.\n");
    console.file("examples", { type: "created", file: "a.yaml", kind: "Installation", name: "default" });
    expect(said()).toBe("examples/a.yaml: Installation default taken in.\n");
  });

  test("warnings are said, ordinary events are not: the status says the same", () => {
    const { console, said } = setUp();
    const object = installation("0", []);
    console.event(object, "Normal", "Succeeded", "done", "Reconcile");
    expect(said()).toBe("");
    console.event(object, "Warning", "Drift", "ipCooldownSeconds was changed", "Reconcile");
    expect(said()).toBe("Warning: ipCooldownSeconds was changed [Drift, Installation default]\n");
  });

  test("colours only when asked", () => {
    const { console, said } = setUp({ colour: true });
    console.installation(installation("0", ready("fine")));
    expect(said()).toContain("\u001b[32m");
  });
});
