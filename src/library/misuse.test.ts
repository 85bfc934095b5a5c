/** Wrong calls from JavaScript: every export, every method, each argument. None ends in a TypeError of the engine. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as library from "../index.ts";
import { createIpam, type Datastore, isIpamError, openEmbedded } from "../index.ts";

type Call = (...args: unknown[]) => unknown;
const WRONG = [
  undefined,
  null,
  7,
  true,
  "",
  "x",
  Symbol("s"),
  [],
  {},
  [null],
  { nope: 1 },
  () => 1,
  new Map(),
  new Date(),
];

async function outcome(call: Call, args: readonly unknown[]): Promise<unknown> {
  try {
    const value = await call(...args);
    if (typeof Object(value).close === "function") await (value as Datastore).close();
    return "value";
  } catch (error) {
    return error;
  }
}

/** What a wrong call may end in: a refusal, or an error of the library that says what it found. */
function expectTold(error: unknown, what: string): void {
  if (error === "value") return;
  expect(error, `${what}: ${String((error as Error).stack)}`).toMatchObject({
    name: expect.stringMatching(/^(IpamError|DatastoreError)$/),
    code: expect.any(String),
  });
}

const ANY_VALUE = ["isDatastoreError", "isIpamError", "partialResult", "emptyAttributeOwner"];
const functions = Object.entries(library).filter(
  (entry): entry is [string, Call & (typeof entry)[1]] => typeof entry[1] === "function" && !/^[A-Z]/.test(entry[0]),
);

describe("each exported function", () => {
  it.each(
    functions.filter(
      ([name]) => ![...ANY_VALUE, "openKubernetes", "effectiveConfig", "configViolations"].includes(name),
    ),
  )(
    "%s without arguments, with null and with a number is an InvalidArgument that names the argument",
    async (name, call) => {
      for (const args of [[], [null], [7], [null, null, null]]) {
        const error = await outcome(call as Call, args);
        expect(isIpamError(error, "InvalidArgument"), `${name}(${args}): ${String(error)}`).toBe(true);
        expect((error as Error).message).toMatch(new RegExp(`^${name}: \\w+`));
      }
    },
  );

  it.each(functions)("%s takes whatever comes without a TypeError", async (name, call) => {
    for (const first of WRONG) {
      for (const args of [[first], [first, first], ["x", first], ["10.0.0.0/24", first], ["a", "b", first]]) {
        if (name === "openEmbedded" && typeof args[0] === "string" && args[0] !== "") args[0] = ":memory:";
        if (
          name === "openKubernetes" &&
          (args[0] === undefined || !/Symbol|^[^{]/.test(JSON.stringify(args[0]) ?? "S"))
        )
          continue;
        expectTold(await outcome(call as Call, args), `${name}(${args.map((arg) => typeof arg)})`);
      }
    }
  });

  it.each(ANY_VALUE)("%s takes any value", async (name) => {
    for (const value of WRONG)
      expect(await outcome(Object.fromEntries(functions)[name] as Call, [value])).toBe("value");
  });

  it.each([library.IpamError, library.DatastoreError])("%o can be made of anything", (Class) => {
    for (const value of WRONG)
      expect(
        new (Class as unknown as new (...args: unknown[]) => Error)(value, value, value, value, {}),
      ).toBeInstanceOf(Error);
  });
});

describe("misspelt options", () => {
  it.each<[string, string, Call]>([
    ["openEmbedded", 'options has no field "clok"', () => openEmbedded(":memory:", { clok: 1 } as object)],
    [
      "openKubernetes",
      'options has no field "kubeConfig"',
      () => library.openKubernetes({ kubeConfig: "/a" } as object),
    ],
    [
      "openKubernetes",
      "options.kubeconfig must be a path or a list",
      () => library.openKubernetes({ kubeconfig: 7 } as object),
    ],
    [
      "createIpam",
      "options.datastore must be a datastore, as openEmbedded",
      () => createIpam({ datastore: library.openKubernetes({ kubeconfig: "/none" }).catch(() => 0) } as never),
    ],
    [
      "createIpam",
      'options has no field "hostName"',
      () => createIpam({ datastore: openEmbedded(":memory:"), hostName: "a" } as never),
    ],
    [
      "cachedDatastore",
      'options has no field "onerror"',
      () => library.cachedDatastore(openEmbedded(":memory:"), { onerror() {} } as object),
    ],
    [
      "configViolations",
      'options has no field "windows"',
      () => library.configViolations(library.DEFAULT_CONFIG, { windows: true } as object),
    ],
  ])("of %s: %s", async (_name, words, call) => {
    expect(await outcome(call, [])).toMatchObject({ code: "InvalidArgument", message: expect.stringContaining(words) });
  });
});

describe.each(["embedded", "cached"])("each method of a datastore (%s)", (form) => {
  const opened = () => {
    const store = openEmbedded(":memory:");
    return form === "embedded" ? store : library.cachedDatastore(store);
  };
  const METHODS = [
    "get",
    "list",
    "listNames",
    "create",
    "update",
    "delete",
    "watch",
    "updateStatus",
    "blocksOf",
    "blocksOverlapping",
  ] as const;

  it.each(METHODS)("%s", async (method) => {
    const store = opened();
    const call = (store[method] as Call | undefined)?.bind(store);
    if (call === undefined) return;
    for (const args of [[], [null], [7], ["Nope"], [{}], [{ kind: "Nope", metadata: { name: "a" } }]]) {
      const error = await outcome(call, args);
      if (method === "blocksOf" && args[0] === "Nope") continue;
      expect(isIpamError(error, "InvalidArgument"), `${method}(${JSON.stringify(args)}): ${String(error)}`).toBe(true);
      expect((error as Error).message).toMatch(new RegExp(`^datastore.${method}: (kind|object|affinity|range)`));
    }
    for (const kind of ["IPPool", "IPAMBlock", "Installation"]) {
      for (const wrong of WRONG) {
        const object = { kind, metadata: { name: "default", resourceVersion: wrong }, spec: wrong, status: wrong };
        for (const args of [[kind, wrong], [kind, "a", wrong], [object], [{ ...object, spec: {} }, wrong]]) {
          if (method === "watch" && args.length < 2) continue;
          expectTold(await outcome(call, args), `${method} of ${kind} with ${String(typeof wrong)}`);
        }
      }
    }
    await store.close();
  });

  it("names what a kind may be, and a misspelt option", async () => {
    const store = opened();
    await expect(store.get("IPpool" as "IPPool", "a")).rejects.toThrow(
      "datastore.get: kind must be one of IPAMBlock, ",
    );
    await expect(store.list("IPPool", { label: {} } as object)).rejects.toThrow(
      'datastore.list: options has no field "label"',
    );
    await store.close();
  });
});

describe("each method of the library", () => {
  const store = openEmbedded(":memory:");
  const ipam = createIpam({ datastore: store });
  const NEED_NOTHING = ["getUtilization", "getIPAMConfig"];

  it.each(Object.entries(ipam))("%s", async (name, method) => {
    for (const args of [[], [null], [7], [null, null, null, null]]) {
      if (NEED_NOTHING.includes(name) && args.length === 0) continue;
      expect(await outcome(method as Call, args), name).toMatchObject({ code: "InvalidArgument" });
    }
    for (const first of WRONG) {
      for (const args of [
        [first],
        [first, first],
        ["x", first],
        ["10.0.0.0/24", first, first],
        ["10.0.0.1", "h", first],
      ]) {
        expectTold(await outcome(method as Call, args), name);
      }
    }
  });
});

describe("objects that break their schema, for a cluster", () => {
  const folder = mkdtempSync(join(tmpdir(), "misuse-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const kubeconfig = join(folder, "config");
  const named = {
    name: "a",
    cluster: { server: "https://127.0.0.1:1" },
    context: { cluster: "a", user: "a" },
    user: {},
  };
  writeFileSync(
    kubeconfig,
    JSON.stringify({ clusters: [named], contexts: [named], users: [named], "current-context": "a" }),
  );
  const signal = AbortSignal.abort(new library.IpamError("MaxRetries", "it would have been sent"));

  it.each(["v1", "v3"] as const)("%s", async (apiGroup) => {
    const store = await library.openKubernetes({ kubeconfig, apiGroup });
    for (const kind of ["IPPool", "IPAMBlock", "BlockAffinity", "IPAMHandle", "IPReservation", "IPAMConfiguration"]) {
      for (const wrong of WRONG) {
        const spec = { cidr: wrong, allocations: wrong, attributes: wrong, handleID: wrong, block: wrong, node: wrong };
        for (const object of [
          { kind, metadata: { name: "default" }, spec },
          { kind, metadata: { name: "default", labels: wrong, resourceVersion: wrong }, spec: {} },
        ]) {
          for (const method of ["create", "update", "delete"] as const) {
            expectTold(
              await outcome(store[method] as Call, [object, { signal }]),
              `${method} ${kind} ${String(wrong)}`,
            );
          }
        }
      }
    }
    await store.close();
  });
});
