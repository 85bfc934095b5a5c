import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { KubeObject } from "../api/meta.ts";
import { type KubeClient, KubeError } from "../kube/types.ts";
import { createLogger } from "./log.ts";
import { createMetricsAccess } from "./metrics-access.ts";

const GOOD = "good-token";
const STRANGER = "strangers-token";
const ODD = "token-of-an-odd-answer";
const user = { username: "prometheus", uid: "u", groups: ["g"], extra: { k: ["v"] } };

/** An API server that knows two tokens, one of whose users may read; `failing` is what it throws instead. */
function setUp() {
  const asked: KubeObject[] = [];
  const world = {
    failing: undefined as Error | undefined,
    slowMs: 0,
    odd: undefined as unknown,
    asked,
    lines: [] as string[],
  };
  const answer = ({ kind, spec }: KubeObject) => {
    if (kind === "SubjectAccessReview") return { allowed: (spec as { user: string }).user === "prometheus" };
    const { token } = spec as { token: string };
    if (token === ODD) return world.odd;
    if (token.startsWith(GOOD)) return { authenticated: true, user };
    return token === STRANGER ? { authenticated: true, user: { username: "stranger" } } : { error: "unknown" };
  };
  const create: KubeClient["create"] = async (_type, object) => {
    asked.push(object);
    if (world.slowMs > 0) await new Promise((resolve) => setTimeout(resolve, world.slowMs));
    if (world.failing !== undefined) throw world.failing;
    return { ...object, status: answer(object) };
  };
  const log = createLogger({ level: "debug", encoding: "json", sink: { write: (line) => world.lines.push(line) } });
  const admit = createMetricsAccess({ client: { create }, log });
  const statusOf = async (token: string, source = "10.0.0.1") =>
    (await advanced(admit(`Bearer ${token}`, source)))?.status;
  return { world, admit, statusOf };
}

/** Once the queue has had its turn. */
async function advanced<T>(answer: Promise<T>): Promise<T> {
  await vi.advanceTimersByTimeAsync(1);
  return answer;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the answers", () => {
  test.each([
    [undefined, "status: Invalid input: expected object, received undefined"],
    ["yes", "status: Invalid input: expected object, received string"],
    [{ authenticated: "true" }, "status.authenticated: Invalid input: expected boolean, received string"],
    [{ authenticated: true, user: null }, "status.user: Invalid input: expected object, received null"],
    [{ authenticated: true, user: { ...user, groups: "g" } }, "status.user.groups: Invalid input"],
  ])("a review answered with the status %j is a failure that is named", async (odd, problem) => {
    const { world, statusOf } = setUp();
    world.odd = odd;
    expect(await statusOf(ODD)).toBe(503);
    expect(world.lines.join()).toContain(`the API server answered a TokenReview wrongly: ${problem}`);
  });

  test("a user who may get /metrics is admitted, and asked about as the API server knows it", async () => {
    const { admit, world } = setUp();
    expect(await advanced(admit(`bearer ${GOOD}`))).toBeUndefined();
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
    expect(await advanced(admit("Bearer nonsense"))).toMatchObject({
      status: 401,
      body: expect.stringMatching(/^[^\n]+\n$/),
    });
    const refused = await advanced(admit(`Bearer ${STRANGER}`));
    expect(refused?.status).toBe(403);
    expect(refused?.body).toMatch(/^stranger may not read \/metrics\. .*verb get on nonResourceURL \/metrics\.\n$/);
  });
});

describe("what is remembered", () => {
  test("an admission for a minute, a refusal for ten seconds", async () => {
    const { world, statusOf } = setUp();
    expect([await statusOf(GOOD), await statusOf(STRANGER)]).toEqual([undefined, 403]);
    expect(world.asked).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(9_000);
    expect([await statusOf(GOOD), await statusOf(STRANGER)]).toEqual([undefined, 403]);
    expect(world.asked).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([await statusOf(GOOD), await statusOf(STRANGER)]).toEqual([undefined, 403]);
    expect(world.asked).toHaveLength(6);
  });

  test("an admission in use is renewed before it ends, without making anyone wait", async () => {
    const { world, admit, statusOf } = setUp();
    await statusOf(GOOD);
    world.slowMs = 3_000;
    for (let scrape = 0; scrape < 10; scrape++) {
      await vi.advanceTimersByTimeAsync(30_000);
      expect(await admit(`Bearer ${GOOD}`)).toBeUndefined();
    }
  });

  test("an admission ends after a minute where the API server cannot be asked or says no", async () => {
    const { world, statusOf } = setUp();
    await statusOf(GOOD);
    world.failing = new KubeError("Unavailable", "connection refused");
    await vi.advanceTimersByTimeAsync(59_000);
    expect(await statusOf(GOOD)).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await statusOf(GOOD)).toBe(503);
  });

  test("callers at the same time share one question", async () => {
    const { world, statusOf } = setUp();
    await Promise.all([statusOf(GOOD), statusOf(GOOD), statusOf(GOOD)]);
    expect(world.asked).toHaveLength(2);
  });
});

describe("refused tokens do not keep a permitted one out", () => {
  const inDate = (name: string) => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    return `${name}.${part({ exp: Date.now() / 1000 + 3600 })}.signature`;
  };
  /** 1,000 new tokens a second from `source`, until `end`. */
  const flood = (admit: ReturnType<typeof setUp>["admit"], source: string, token = (name: string) => name) => {
    let count = 0;
    const statuses: (number | undefined)[] = [];
    const timer = setInterval(() => {
      for (let one = 0; one < 20; one++) {
        const answer = admit(`Bearer ${token(`junk-${source}-${count++}`)}`, source);
        answer.then((reply) => statuses.push(reply?.status)).catch(() => {});
      }
    }, 20);
    return { statuses, end: () => clearInterval(timer) };
  };
  /** One scrape of a caller that waits ten seconds, as Prometheus does. */
  const scrape = async (admit: ReturnType<typeof setUp>["admit"], token: string, source: string) => {
    let status: number | undefined;
    const answer = admit(`Bearer ${token}`, source).then((reply) => {
      status = reply?.status ?? 200;
    });
    for (let waited = 0; waited < 10_000 && status === undefined; waited += 100) await vi.advanceTimersByTimeAsync(100);
    return status === undefined ? "late" : answer.then(() => status);
  };

  test("64 of them, and then a permitted one of the same caller", async () => {
    const { admit } = setUp();
    const junk = Array.from({ length: 64 }, (_, index) => admit(`Bearer junk-${index}`, "10.0.0.9"));
    expect(await scrape(admit, inDate(GOOD), "10.0.0.9")).toBe(200);
    expect(await scrape(admit, GOOD, "10.0.0.1")).toBe(200);
    await vi.advanceTimersByTimeAsync(5_000);
    await Promise.all(junk);
  });

  test.each([0, 500, 2_000])("a flood of 1,000 a second, at %d ms a review", async (slowMs) => {
    const { admit, world } = setUp();
    world.slowMs = slowMs;
    const elsewhere = flood(admit, "10.0.0.9", inDate);
    const here = flood(admit, "10.0.0.1");
    const began = performance.now();
    await vi.advanceTimersByTimeAsync(2_000);
    for (let round = 0; round < 2; round++) {
      // Another token of the same caller, as a rotated one is.
      expect(await scrape(admit, inDate(`${GOOD}-${round}`), "10.0.0.1"), `scrape ${round}`).toBe(200);
      expect(await scrape(admit, inDate(`${GOOD}-other-${round}`), `10.0.1.${round}`), `caller ${round}`).toBe(200);
    }
    const seconds = (performance.now() - began) / 1000;
    expect(world.asked.length, "calls to the API server").toBeLessThan(15 * (seconds + 1));
    elsewhere.end();
    here.end();
    await vi.advanceTimersByTimeAsync(30_000);
    expect([...new Set([...elsewhere.statuses, ...here.statuses])].sort()).toEqual([401, 429]);
  });

  test("one that was permitted is answered at once, however many come", async () => {
    const { admit, statusOf } = setUp();
    await statusOf(GOOD, "10.0.0.9");
    const { end } = flood(admit, "10.0.0.9", inDate);
    for (const seconds of [1, 1, 3]) {
      await vi.advanceTimersByTimeAsync(seconds * 1000);
      expect(await statusOf(GOOD, "10.0.0.9")).toBeUndefined();
    }
    end();
  });
});

describe("an API server that cannot be asked", () => {
  test("nobody is served, the reason is logged once with the remedy, and no token is", async () => {
    const { world, admit, statusOf } = setUp();
    world.failing = new KubeError("Forbidden", `cannot create TokenReview: Bearer ${GOOD} refused`);
    expect((await advanced(admit(`Bearer ${GOOD}`)))?.body).toMatch(/^The API server could not be asked [^\n]*\n$/);
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
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await statusOf(GOOD)).toBeUndefined();
    world.failing = away;
    expect(await statusOf(STRANGER)).toBe(503);
    expect(world.lines).toHaveLength(2);
  });
});
