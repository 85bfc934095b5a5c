/** Every place in the process where text leaves it, given text from outside. Whole processes are beside this file. */
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { statusOf } from "../../reconcilers/installation/status.ts";
import { INSTALLATION_API_VERSION, type Installation } from "../../src/api/installation.ts";
import { printed } from "../../src/cli/output.ts";
import { createProgress } from "../../src/cli/progress.ts";
import { PAINT_CODES, screenOf } from "../../src/cli/screen.ts";
import { fieldsText, tableText } from "../../src/cli/table.ts";
import { ask } from "../../src/cli/terminal.ts";
import { DatastoreError } from "../../src/datastore/datastore.ts";
import { escapePainted } from "../../src/escape.ts";
import { saidOnce } from "../../src/ipam/context.ts";
import { IpamError } from "../../src/ipam/errors.ts";
import { createEventRecorder } from "../../src/kube/events.ts";
import { type KubeClient, KubeError } from "../../src/kube/types.ts";
import { createConsole } from "../../src/operator/console.ts";
import { createLogger } from "../../src/operator/log.ts";
import { createMetrics } from "../../src/operator/metrics.ts";
import { createMetricsAccess } from "../../src/operator/metrics-access.ts";
import { type Reply, readyReply, serveHttp } from "../../src/operator/probes.ts";
import { aConfiguration, anInstallation, NOW, theSurroundings } from "../support/installations.ts";
import { EVIL, expectPlain } from "./evil.ts";

const paper = () => {
  const written: string[] = [];
  return { write: (text: string) => void written.push(text), text: () => written.join("") };
};
const silent = createLogger({ level: "error", encoding: "json", sink: { write: () => {} } });

describe("the operator's terminal", () => {
  const said = (say: (console: ReturnType<typeof createConsole>) => void, colour = false) => {
    const { write, text } = paper();
    say(createConsole({ write, nextStep: () => [`Next: ${EVIL}`], colour }));
    return text();
  };
  const evilInstallation = (condition: object): Installation => ({
    ...anInstallation({}),
    metadata: { name: EVIL, generation: 1 },
    status: {
      observedGeneration: 1,
      conditions: [{ status: "True", lastTransitionTime: "2026-12-01T00:00:00Z", ...condition } as never],
      warnings: [{ type: "IgnoredConfiguration", message: EVIL }],
      fields: [{ name: "strictAffinity", value: EVIL, source: "Existing" }],
    },
  });

  it.each([
    ["a file that is taken in", { type: "created", file: EVIL, kind: "IPPool", name: EVIL }],
    ["a file that is refused", { type: "refused", file: EVIL, problems: [{ line: 1, message: EVIL }] }],
    ["a file that is accepted again", { type: "accepted", file: EVIL }],
  ] as const)("%s", (_what, event) => {
    expectPlain(said((console) => console.file(EVIL, event)));
  });

  it.each(["Ready", "Stalled"])("the Installation, %s", (type) => {
    for (const reason of ["Observed", "Succeeded", EVIL]) {
      const installation = evilInstallation({ type, reason, message: EVIL });
      expectPlain(said((console) => console.installation(installation)));
    }
  });

  it("an event, and what to try next", () => {
    const regarding = { apiVersion: INSTALLATION_API_VERSION, kind: EVIL, metadata: { name: EVIL } };
    expectPlain(said((console) => console.event(regarding, "Warning", EVIL, EVIL, "")));
    expectPlain(said((console) => console.installation(undefined)));
  });

  it("keeps the program's own colours and lines", () => {
    const event = { type: "refused", file: "a.yaml", problems: [{ message: EVIL }, { message: "b" }] } as const;
    const text = said((console) => console.file("dir", event), true);
    expect(text).toContain("\u001b[31mdir/a.yaml");
    expectPlain(text.replaceAll("\u001b[31m", "").replaceAll("\u001b[39m", ""));
    expect(text).toMatch(/\n {2}dir\/a\.yaml {2}b\n$/);
  });
});

describe("the log", () => {
  const error = new Error(EVIL, { cause: new Error(`cause ${EVIL}`) });
  const lineOf = (encoding: "json" | "text", message = EVIL) => {
    const sink = paper();
    const log = createLogger({ level: "info", encoding, sink });
    log.info({ [EVIL]: EVIL, nested: { [EVIL]: [EVIL] }, error }, message);
    return sink.text();
  };

  it.each(["json", "text"] as const)("is one plain line, as %s", (encoding) => {
    const line = lineOf(encoding);
    expectPlain(line);
    expect(line.split("\n")).toHaveLength(2);
  });

  it("as JSON holds what was logged", () => {
    expect(JSON.parse(lineOf("json"))).toMatchObject({ msg: EVIL, [EVIL]: EVIL, nested: { [EVIL]: [EVIL] } });
  });
});

describe("what ipamctl prints", () => {
  const output = { kind: "Things", value: { [EVIL]: [EVIL], plain: "é" }, names: [EVIL], text: () => EVIL };

  it.each(["json", "yaml", "name"] as const)("as %s", async (format) => {
    const text = await printed(output, { format, headers: true });
    expectPlain(text);
    if (format === "json") expect(JSON.parse(text)).toMatchObject(output.value);
    const portable = (value: object) => JSON.parse(JSON.stringify(value).replaceAll("\\ud800", ""));
    const whole = { ...output, value: portable(output.value) };
    const yaml = await printed(whole, { format: "yaml", headers: true });
    for (const version of ["1.1", "1.2"] as const) expect(parse(yaml, { version })).toMatchObject(whole.value);
  });

  it("as a table and as fields", () => {
    expectPlain(tableText([EVIL], [{ header: "A", value: (row) => row }], { headers: true }));
    expectPlain(fieldsText([[EVIL, EVIL]]));
  });

  it("as a coloured table: no other control sequence than the painter's, and none of a cell", () => {
    const cell = `${EVIL}${PAINT_CODES.join("")}`;
    const { paint } = screenOf({}, {}, "always");
    const style = { headers: true, paint };
    const table = tableText([cell], [{ header: "A", value: (row) => row, tone: () => "critical" }], style);
    const seen = escapePainted(table, PAINT_CODES);
    expect(PAINT_CODES.filter((code) => seen.includes(code))).toHaveLength(2);
    expectPlain(PAINT_CODES.reduce((text, code) => text.replaceAll(code, ""), seen));
  });

  it("as a question and as progress", async () => {
    const sink = paper();
    const output = { ...sink, isTTY: true } as unknown as NodeJS.WritableStream;
    await ask(EVIL, Readable.from(["y\n"]), output, new AbortController().signal);
    expectPlain(sink.text());
    const line = paper();
    const progress = createProgress({ ...line, isTTY: true }, { silentMs: 0 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    progress.report(EVIL);
    progress.end();
    expectPlain(line.text().replaceAll("\r\u001b[K", ""));
  });
});

describe("HTTP", () => {
  const bodyOf = async (reply: () => Reply | Promise<Reply>) => {
    const { port, close } = await serveHttp(
      { host: "127.0.0.1", port: 0 },
      { "/": reply },
      { onTaskFailure: () => {} },
    );
    try {
      return await (await fetch(`http://127.0.0.1:${port}/`)).text();
    } finally {
      await close();
    }
  };
  const failing = () => {
    throw new Error(EVIL);
  };
  const create: KubeClient["create"] = async (_type, object) => {
    const user = { authenticated: true, user: { username: EVIL } };
    return { ...object, status: object.kind === "TokenReview" ? user : { allowed: false } };
  };

  it.each<[string, () => Reply | Promise<Reply>]>([
    ["what is missing", () => readyReply([() => EVIL])],
    ["a failure", failing],
    ["a user", async () => (await createMetricsAccess({ client: { create }, log: silent })("Bearer t"))!],
  ])("%s", async (_what, reply) => {
    expectPlain(await bodyOf(reply));
  });

  it("metrics", async () => {
    const metrics = createMetrics();
    metrics.count("rest_client_requests_total", { code: EVIL, method: EVIL, host: EVIL });
    expectPlain(await metrics.text());
  });
});

describe("what is written to the cluster", () => {
  it("events", async () => {
    const written: unknown[] = [];
    const create = async (_type: unknown, object: { note: string }) => void written.push(object.note);
    const client = { create } as unknown as KubeClient;
    const recorder = createEventRecorder({ client, log: silent, controller: "c", instance: "i" });
    recorder.event(anInstallation({}), "Warning", "Reason", EVIL, "Action");
    await recorder.flush();
    expectPlain(String(written[0]));
  });

  it("the status of the Installation", () => {
    const status = statusOf({
      installation: anInstallation({ maxBlocksPerHost: 8 }),
      outcome: { reason: "OwnedByOther", message: EVIL },
      stored: aConfiguration({ strictAffinity: true }),
      otherNames: [EVIL],
      drift: { corrected: [], suspended: [] },
      configured: [],
      surroundings: theSurroundings({ datastore: { apiGroup: "v3", chosenBy: EVIL } }),
      now: NOW,
    });
    for (const text of [status.conditions![0]!.message, status.warnings![0]!.message, status.datastore!.chosenBy]) {
      expectPlain(text!);
    }
  });
});

describe("what the library throws and warns of", () => {
  it.each([
    ["its own errors", new IpamError("NotFound", EVIL, { details: [EVIL] })],
    ["errors of the datastore", new DatastoreError("Invalid", "IPPool", "p", EVIL)],
    ["errors of the API server", new KubeError("Forbidden", EVIL)],
  ])("%s", (_what, error: Error) => {
    expectPlain(error.message);
    for (const detail of "details" in error && Array.isArray(error.details) ? error.details : []) expectPlain(detail);
  });

  it("warnings", () => {
    const { write, text } = paper();
    saidOnce(write)(EVIL);
    expectPlain(text());
  });
});
