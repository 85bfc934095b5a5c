/**
 * One measured process: runs a verb of ipamctl, or only lists the same objects, and prints milliseconds since the start of
 * the process and the most memory it had. `node bench/reading-child.ts list|VERB embedded|bundle|cluster PATH`.
 */
import { runProgram } from "../src/cli/program.ts";

const [what = "", place = "", path = ""] = process.argv.slice(2);
const KINDS = ["IPAMBlock", "BlockAffinity", "IPAMHandle", "IPAMConfiguration", "IPPool", "IPReservation"] as const;

/** Holds what it has listed, as a program that is to look at it must. */
async function list(): Promise<readonly unknown[]> {
  if (place === "bundle") return listBundle();
  const { openEmbedded } = await import("../src/datastore/embedded.ts");
  const { connectKubernetes } = await import("../src/datastore/connect.ts");
  const store = place === "embedded" ? openEmbedded(path) : await connectKubernetes({ kubeconfig: path });
  const all: unknown[] = [];
  for (const kind of KINDS) all.push((await store.list(kind)).items);
  await store.close();
  return all;
}

/** Every object is read by its schema, as those of a store or an API server are. */
async function listBundle(): Promise<readonly unknown[]> {
  const { readBundle } = await import("../src/cli/snapshot/bundle.ts");
  const options = { signal: new AbortController().signal, now: () => new Date(), env: {} };
  return Object.values(await readBundle(path, options));
}

const FLAGS: Readonly<Record<string, readonly string[]>> = {
  embedded: ["--datastore", `embedded:${path}`],
  bundle: ["--bundle", path],
  cluster: ["--kubeconfig", path],
};

let printed = 0;

async function verb(): Promise<number> {
  const more = what === "check" ? ["--second-look", "0"] : [];
  const io = {
    stdout: { write: (text: string) => (printed += text.length) },
    stderr: { write: (text: string) => process.stderr.write(text) },
    env: {},
    now: () => new Date(),
    signal: new AbortController().signal,
  };
  return runProgram([what, ...more, ...FLAGS[place]!], io);
}

const held = what === "list" ? await list() : await verb();
const milliseconds = performance.now();
const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
const cpuSeconds = (userCPUTime + systemCPUTime) / 1e6;
console.log(JSON.stringify({ milliseconds, cpuSeconds, maxRssMb: maxRSS / 1024 }));
/** `check` ends with 1 where pods may not be read; what shows must have shown something. */
process.exit(held === 2 || (what !== "list" && what !== "check" && printed === 0) ? 1 : 0);
