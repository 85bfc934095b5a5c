/** A store that writing verbs are run on one after the other, with a cluster around it that tests describe. */
import { runProgram } from "../../src/cli/program.ts";
import type { Io } from "../../src/cli/session.ts";
import { takeSnapshot } from "../../src/cli/snapshot/take.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openCopy } from "../../src/datastore/embedded.ts";
import type { Finding } from "../../src/judgement/finding.ts";
import { judge } from "../../src/judgement/judge.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { type Ran, storeOf } from "./ipamctl.ts";
import { NOW } from "./sound.ts";

/** What only a cluster has. */
const AROUND = ["nodes", "namespaces", "pods", "services", "clusterInformation", "controllers", "events"] as const;
type Around = Partial<Pick<Snapshot, (typeof AROUND)[number] | "unread">>;

export interface Site {
  /** Of the store's file. */
  readonly place: readonly string[];
  /** What is around the store from now on. */
  around(change: Around): void;
  /** Runs a verb; questions are answered with yes unless `io` says otherwise. */
  run(args: readonly string[], io?: Partial<Io>): Promise<Ran & { readonly asked: readonly string[] }>;
  /** What is stored and around now. */
  snapshot(): Promise<Snapshot>;
  /** Codes of what is wrong now. */
  codes(): Promise<string[]>;
  findings(): Promise<Finding[]>;
  /** Changes the store as somebody else would. */
  change(work: (store: Datastore) => Promise<unknown>): Promise<void>;
}

const never = new AbortController().signal;

export async function siteOf(initial: Snapshot): Promise<Site> {
  const path = await storeOf(initial);
  let around: Around = Object.fromEntries(AROUND.map((part) => [part, initial[part]]));
  const take: typeof takeSnapshot = async (at, options) => ({ ...(await takeSnapshot(at, options)), ...around });
  const place = ["--datastore", `embedded:${path}`];
  const snapshot = () => take({ kind: "embedded", path }, { signal: never, now: () => NOW, env: {} });
  const findings = async () => judge(await snapshot(), { now: NOW });
  return {
    place,
    snapshot,
    findings,
    codes: async () => [...new Set((await findings()).map(({ code }) => code))],
    around: (change) => {
      around = { ...around, ...change };
    },
    change: async (work) => {
      const store = openCopy(path);
      await work(store).finally(() => store.close());
    },
    run: async (args, io = {}) => {
      let [stdout, stderr] = ["", ""];
      const asked: string[] = [];
      const ask = async (question: string) => {
        asked.push(question);
        return "y";
      };
      const code = await runProgram([...args, ...place], {
        stdout: { write: (text) => (stdout += text) },
        stderr: { write: (text) => (stderr += text) },
        env: { HOME: "/nonexistent" },
        now: () => NOW,
        signal: never,
        ask,
        take,
        ...io,
      });
      return { code, stdout, stderr, asked };
    },
  };
}

/** The rows of a writing verb's JSON, short: `done release 10.0.0.4`. */
export function rowsOf({ stdout }: Pick<Ran, "stdout">): string[] {
  const { items } = JSON.parse(stdout) as { items: { result: string; action: string; object: string }[] };
  return items.map(({ result, action, object }) => `${result} ${action} ${object}`);
}

/** A signal that aborts once so many steps may have begun: looked at before the plan is shown, and before each step. */
export function stopsAfter(steps: number): AbortSignal {
  const stop = new AbortController();
  let looked = 0;
  return new Proxy(stop.signal, {
    get: (signal, key) => {
      if (key === "aborted" && looked++ >= steps) stop.abort(new Error("interrupted"));
      const value = Reflect.get(signal, key, signal);
      return typeof value === "function" ? value.bind(signal) : value;
    },
  });
}
