/** Several kubeconfig files are one, as kubectl reads those of KUBECONFIG. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { loadCredentials } from "./credentials.ts";

const root = mkdtempSync(join(tmpdir(), "ipam-operator-kubeconfig-"));
afterAll(() => rmSync(root, { recursive: true }));

interface Parts {
  readonly clusters?: Readonly<Record<string, string>>;
  readonly users?: Readonly<Record<string, object>>;
  readonly contexts?: Readonly<Record<string, readonly [cluster: string, user: string]>>;
  readonly current?: string;
}

function write(name: string, { clusters = {}, users = {}, contexts = {}, current = "" }: Parts): string {
  const path = join(root, name);
  mkdirSync(dirname(path), { recursive: true });
  const config = {
    clusters: Object.entries(clusters).map(([name, server]) => ({ name, cluster: { server } })),
    users: Object.entries(users).map(([name, user]) => ({ name, user })),
    contexts: Object.entries(contexts).map(([name, [cluster, user]]) => ({ name, context: { cluster, user } })),
    "current-context": current,
  };
  writeFileSync(path, stringify(config));
  return path;
}

const first = write("a/first", { clusters: { c: "https://first.test" }, contexts: { one: ["c", "u"] } });
const second = write("b/second", {
  clusters: { c: "https://second.test", d: "https://other.test" },
  users: { u: { token: "of-second" }, w: { tokenFile: "token" } },
  contexts: { one: ["d", "u"], two: ["d", "w"] },
  current: "one",
});

describe("several kubeconfig files", () => {
  it("of each name the first file that has it counts; the current context is the first that is set", async () => {
    const credentials = await loadCredentials({ kubeconfig: [first, second] });
    expect(credentials.server).toBe("https://first.test");
    expect(credentials.description).toContain(`context one of ${first}:${second}, user u`);
    expect(await credentials.headers()).toEqual({ authorization: "Bearer of-second" });
  });

  it("file names are relative to the file that they stand in", async () => {
    writeFileSync(join(root, "b/token"), "from-file");
    const credentials = await loadCredentials({ kubeconfig: [first, second], context: "two" });
    expect(credentials.server).toBe("https://other.test");
    expect(await credentials.headers()).toEqual({ authorization: "Bearer from-file" });
  });

  it("one that is not there is passed over; where none is, that is told", async () => {
    const credentials = await loadCredentials({ kubeconfig: [join(root, "none"), second] });
    expect(credentials.server).toBe("https://other.test");
    const none = loadCredentials({ kubeconfig: ["/no/a", "/no/b"] });
    await expect(none).rejects.toThrow("none of the kubeconfig files exists: /no/a, /no/b");
  });

  it("are a list, or one text as in KUBECONFIG", async () => {
    const joined = [join(root, "none"), first, "", second].join(delimiter);
    expect((await loadCredentials({ kubeconfig: joined })).server).toBe("https://first.test");
  });

  it("a context that none has is told with those that there are", async () => {
    const lost = loadCredentials({ kubeconfig: [first, second], context: "three" });
    await expect(lost).rejects.toThrow("has no context three; it has: one, two");
  });
});

describe("a kubeconfig, or a file that it names, that is larger than any", () => {
  const load = (kubeconfig: string) => loadCredentials({ kubeconfig });
  const file = (name: string, text: string) => {
    const path = join(root, name);
    writeFileSync(path, text);
    return path;
  };

  it.each([
    [
      "keys",
      `users:\n${Array.from({ length: 200_000 }, (_, at) => `  k${at}: v\n`).join("")}`,
      "it holds more than 25,000 keys",
    ],
    ["nesting", "[".repeat(100_000), "it is nested more than 100 levels deep"],
  ])("of %s", async (_what, text, words) => {
    const path = file("large", text);
    await expect(load(path)).rejects.toThrow(`kubeconfig ${path} cannot be read: ${words}`);
  });

  it("without end", async () => {
    await expect(load("/dev/zero")).rejects.toThrow("kubeconfig file /dev/zero: it cannot be read (larger than 3 MiB)");
  });

  it("whose token has no end", async () => {
    const path = write("token", {
      clusters: { c: "https://first.test" },
      users: { u: { tokenFile: "/dev/zero" } },
      contexts: { one: ["c", "u"] },
      current: "one",
    });
    await expect((await load(path)).headers()).rejects.toThrow(
      "token file /dev/zero: it cannot be read (larger than 1 MiB)",
    );
  });
});
