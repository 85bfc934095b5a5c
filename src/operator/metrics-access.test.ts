import { describe, expect, test } from "vitest";
import type { KubeObject } from "../api/meta.ts";
import { type KubeClient, KubeError } from "../kube/types.ts";
import { createLogger } from "./log.ts";
import { createMetricsAccess } from "./metrics-access.ts";

const GOOD = "good-token";
const STRANGER = "strangers-token";
const user = { username: "prometheus", uid: "u", groups: ["g"], extra: { k: ["v"] } };

/** An API server that knows two tokens, one of whose users may read; `failing` is what it throws instead. */
function setUp() {
  const asked: KubeObject[] = [];
  const world = { now: 0, failing: undefined as Error | undefined, asked, lines: [] as string[] };
  const answer = ({ kind, spec }: KubeObject) => {
    if (kind === "SubjectAccessReview") return { allowed: (spec as { user: string }).user === "prometheus" };
    const { token } = spec as { token: string };
    if (token === GOOD) return { authenticated: true, user };
    return token === STRANGER ? { authenticated: true, user: { username: "stranger" } } : { error: "unknown" };
  };
  const create: KubeClient["create"] = async (_type, object) => {
    asked.push(object);
    if (world.failing !== undefined) throw world.failing;
    return { ...object, status: answer(object) };
  };
  const log = createLogger({ level: "debug", encoding: "json", sink: { write: (line) => world.lines.push(line) } });
  const admit = createMetricsAccess({ client: { create }, log, now: () => world.now });
  return { world, admit, statusOf: async (token: string) => (await admit(`Bearer ${token}`))?.status };
}

describe("the answers", () => {
  test("a user who may get /metrics is admitted, and asked about as the API server knows it", async () => {
    const { admit, world } = setUp();
    expect(await admit(`bearer ${GOOD}`)).toBeUndefined();
    expect(world.asked).toEqual([
      {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        metadata: { name: "" },
        spec: { token: GOOD },
      },
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        metadata: { name: "" },
        spec: {
          user: "prometheus",
          uid: "u",
          groups: ["g"],
          extra: { k: ["v"] },
          nonResourceAttributes: { path: "/metrics", verb: "get" },
        },
      },
    ]);
  });

  test.each([undefined, "", "Basic dTpw", "Bearer", "Bearer a b"])("%j is 401 without a question", async (header) => {
    const { admit, world } = setUp();
    const reply = await admit(header);
    expect(reply).toMatchObject({ status: 401, headers: { "www-authenticate": "Bearer" } });
    expect(reply?.body).toMatch(/^No bearer token\. .*\n$/);
    expect(world.asked).toEqual([]);
  });

  test("an unknown token is 401, a user without the right 403 that names it and the remedy", async () => {
    const { admit } = setUp();
    expect(await admit("Bearer nonsense")).toMatchObject({ status: 401, body: expect.stringMatching(/^[^\n]+\n$/) });
    const refused = await admit(`Bearer ${STRANGER}`);
    expect(refused?.status).toBe(403);
    expect(refused?.body).toMatch(/^stranger may not read \/metrics\. .*verb get on nonResourceURL \/metrics\.\n$/);
  });
});

describe("what is remembered", () => {
  test("an admission for a minute, a refusal for ten seconds", async () => {
    const { world, statusOf } = setUp();
    const bothAt = async (now: number) => {
      world.now = now;
      await statusOf(GOOD);
      await statusOf(STRANGER);
      return world.asked.length;
    };
    expect(await bothAt(0)).toBe(4);
    expect(await bothAt(9_999)).toBe(4);
    expect(await bothAt(10_000)).toBe(6);
    expect(await bothAt(19_999)).toBe(6);
    expect(await bothAt(59_999)).toBe(8);
    expect(await bothAt(60_000)).toBe(10);
  });

  test("callers at the same time share one question", async () => {
    const { world, statusOf } = setUp();
    await Promise.all([statusOf(GOOD), statusOf(GOOD), statusOf(GOOD)]);
    expect(world.asked).toHaveLength(2);
  });

  test("a flood of tokens is cut off, without hurting who is known, and ends by itself", async () => {
    const { world, statusOf } = setUp();
    await statusOf(GOOD);
    const statuses = await Promise.all(Array.from({ length: 1000 }, (_, index) => statusOf(`flood-${index}`)));
    expect(statuses.filter((status) => status === 401)).toHaveLength(63);
    expect(statuses.filter((status) => status === 429)).toHaveLength(937);
    expect(await statusOf(GOOD)).toBeUndefined();
    world.now = 10_000;
    expect(await statusOf("flood-999")).toBe(401);
  });
});

describe("an API server that cannot be asked", () => {
  test("nobody is served, the reason is logged once with the remedy, and no token is", async () => {
    const { world, admit, statusOf } = setUp();
    world.failing = new KubeError("Forbidden", `cannot create TokenReview: Bearer ${GOOD} refused`);
    expect((await admit(`Bearer ${GOOD}`))?.body).toMatch(/^The API server could not be asked [^\n]*\n$/);
    expect(await statusOf(STRANGER)).toBe(503);
    expect(world.lines).toHaveLength(1);
    expect(world.lines[0]).toContain("kubectl apply -f rbac/operator.yaml");
    expect(world.lines[0]).not.toContain(GOOD);
  });

  test("it goes on by itself, and a new failure is logged again", async () => {
    const { world, statusOf } = setUp();
    const away = new KubeError("Unavailable", "connection refused");
    world.failing = away;
    expect(await statusOf(GOOD)).toBe(503);
    world.failing = undefined;
    world.now = 10_000;
    expect(await statusOf(GOOD)).toBeUndefined();
    world.failing = away;
    expect(await statusOf(STRANGER)).toBe(503);
    expect(world.lines).toHaveLength(2);
  });
});
