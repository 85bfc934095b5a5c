/** What every writing verb does alike: plan, question, act, report. Shown with `release`. */
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { ask } from "../../src/cli/terminal.ts";
import { work } from "../../src/cli/writing/work.ts";
import { DatastoreError } from "../../src/datastore/datastore.ts";
import { handle } from "../support/ipam-data.ts";
import { ipamctl } from "./ipamctl.ts";
import { pod, sound } from "./sound.ts";
import { rowsOf, siteOf, stopsAfter } from "./writing-site.ts";

const leaked = { ...sound, pods: sound.pods!.filter(({ name }) => name !== "web-1") };
const RELEASE = ["release", "10.0.0.4"];

describe("before anything is changed", () => {
  it("the plan is shown and the question asked on standard error; the answer no leaves all as it is", async () => {
    const site = await siteOf(leaked);
    const before = await site.snapshot();
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return "";
    };
    const ran = await site.run(RELEASE, { ask });
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(asked).toEqual(["Release 1 address? [y/N] "]);
    expect(ran.stderr).toContain("planned   release   10.0.0.4");
    expect(ran.stderr).toContain("nothing was changed");
    expect(await site.snapshot()).toEqual(before);
  });

  it("without a terminal it refuses, unless it is told yes", async () => {
    const site = await siteOf(leaked);
    const refused = await site.run(RELEASE, { ask: undefined });
    expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("there is no terminal") });
    expect(await site.codes()).toEqual(["LeakedAddress"]);
    const done = await site.run([...RELEASE, "--yes"], { ask: undefined });
    expect(done).toMatchObject({ code: 0, asked: [] });
    expect(await site.codes()).toEqual([]);
  });

  it("--dry-run gives the plan as the answer, asks nothing and changes nothing", async () => {
    const site = await siteOf(leaked);
    const before = await site.snapshot();
    const ran = await site.run([...RELEASE, "--dry-run", "-o", "json"], { ask: undefined });
    expect(ran).toMatchObject({ code: 0, stderr: "1 planned\n" });
    expect(JSON.parse(ran.stdout)).toMatchObject({
      kind: "Release",
      counts: { planned: 1 },
      items: [{ result: "planned", object: "10.0.0.4", handle: "k8s-pod-network.web-1", sequenceNumbers: ["999"] }],
    });
    expect(await site.snapshot()).toEqual(before);
  });

  it("a bundle is refused", async () => {
    const ran = await ipamctl(["release", "10.0.0.4", "--yes"], { snapshot: leaked });
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("a bundle is a copy") });
  });

  it("stopped at the question, it ends with 130 and nothing done", async () => {
    const site = await siteOf(leaked);
    const stop = new AbortController();
    const io = {
      signal: stop.signal,
      ask: async () => {
        stop.abort(new Error("interrupted"));
        throw stop.signal.reason;
      },
    };
    const ran = await site.run(RELEASE, io);
    expect(ran).toMatchObject({ code: 130, stdout: "" });
    expect(ran.stderr).toContain("nothing was changed\nipamctl: stopped\n");
    expect(await site.codes()).toEqual(["LeakedAddress"]);
  });
});

describe("while it acts", () => {
  it("Ctrl-C ends it after what was begun, and it says what was done", async () => {
    const pods = Array.from({ length: 30 }, (_, index) => `c${index}`);
    const site = await siteOf({ ...sound, pods: [] });
    const stop = new AbortController();
    const steps = pods.map((object) => ({
      action: "do",
      object,
      why: "",
      lane: "one",
      run: async () => {
        if (object === "c9") stop.abort();
        return undefined;
      },
    }));
    const rows = await work(steps, { signal: stop.signal, progress: () => {} });
    expect(rows.filter(({ result }) => result === "done").map(({ object }) => object)).toEqual(pods.slice(0, 10));
    expect(rows.filter(({ result }) => result === "not reached")).toHaveLength(20);
    const ran = await site.run(["release", "--node", "node-a", "-o", "json"], {
      signal: stopsAfter(1),
    });
    expect(ran.code).toBe(130);
    expect(rowsOf(ran).filter((row) => row.startsWith("done"))).not.toHaveLength(0);
    expect(rowsOf(ran).filter((row) => row.startsWith("not reached"))).not.toHaveLength(0);
    expect(ran.stderr).toContain("stopped; what was begun is finished");
    expect((await site.codes()).filter((code) => code !== "LeakedAddress")).toEqual([]);
  });

  it("what would fail for the rest too ends it; another failure does not", async () => {
    const failing = (code: "Unauthorized" | "Invalid") =>
      Array.from({ length: 3 }, (_, index) => ({
        action: "do",
        object: `${index}`,
        why: "",
        lane: "one",
        run: () => Promise.reject(new DatastoreError(code, "IPAMBlock", "b", `${code} it is`)),
      }));
    const options = { signal: new AbortController().signal, progress: () => {} };
    const results = async (code: "Unauthorized" | "Invalid") =>
      (await work(failing(code), options)).map(({ result, why }) => `${result} ${why}`.trim());
    expect(await results("Unauthorized")).toEqual(["failed Unauthorized it is", "not reached", "not reached"]);
    expect(await results("Invalid")).toEqual(Array(3).fill("failed Invalid it is"));
  });
});

it("Ctrl-C is heard between two steps, also on a store that never waits", async () => {
  const ghosts = Array.from({ length: 100 }, (_, index) => handle(`ghost-${index}`, { "10.0.0.0/30": 1 }));
  const site = await siteOf({ ...sound, handles: [...sound.handles, ...ghosts] });
  const stop = new AbortController();
  const ask = async () => {
    setImmediate(() => stop.abort(new Error("interrupted")));
    return "y";
  };
  const ran = await site.run(["gc", "--grace", "0", "-o", "json"], { ask, signal: stop.signal });
  expect(ran).toMatchObject({ code: 130, stderr: expect.stringContaining("stopped; what was begun is finished") });
  const { "not reached": rest, done = 0 } = JSON.parse(ran.stdout).counts;
  expect(rest + done).toBe(100);
  expect(await site.findings()).toHaveLength(rest);
});

describe("the question", () => {
  const never = new AbortController().signal;
  it("is written where talk goes, and the line typed is the answer", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    input.write("yes\n");
    expect(await ask("Sure? ", input, output, never)).toBe("yes");
    expect(String(output.read())).toContain("Sure? ");
  });

  it("is answered by nothing where the input ends", async () => {
    const input = new PassThrough();
    input.end();
    expect(await ask("Sure? ", input, new PassThrough(), never)).toBe("");
  });

  it("is given up on Ctrl-C", async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error("interrupted")), 20);
    await expect(ask("Sure? ", new PassThrough(), new PassThrough(), stop.signal)).rejects.toThrow();
  });
});

it("a pod that has the address keeps it", async () => {
  const site = await siteOf({ ...sound, pods: [...sound.pods!, pod("heir", "node-b", ["10.0.0.4"])] });
  const ran = await site.run([...RELEASE, "--yes", "-o", "json"]);
  expect(ran.code).toBe(1);
  expect(rowsOf(ran)).toEqual(["kept keep 10.0.0.4"]);
});
