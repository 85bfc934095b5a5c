import { expect, test } from "vitest";
import { preferredVersion, servedResources, serverVersion } from "./discovery.ts";
import { type KubeClient, KubeError } from "./types.ts";

const answering = (answer: () => unknown) =>
  ({ server: "https://10.0.0.1:6443", getRaw: async () => answer() }) as unknown as KubeClient;

const GROUP = "projectcalico.org";

test.each([
  ["<html>\n<title>Sign in\u001b[2J</title>", '"<html>\\n<title>Sign in\\u001b[2J</title>"'],
  ["", '""'],
  [{}, "{}"],
  [null, "null"],
  [{ resources: null }, '{"resources":null}'],
  [{ resources: [null] }, '{"resources":[null]}'],
  [{ resources: [{ name: 7 }] }, '{"resources":[{"name":7}]}'],
  [{ serial: 2n ** 60n }, '{"serial":1152921504606846976}'],
  ["ü".repeat(100), `"${"ü".repeat(30)}…"`],
])("an answer to discovery that is none is an error that says what came (%#)", async (answer, text) => {
  const client = answering(() => answer);
  const from = "the answer from https://10.0.0.1:6443 is not one of an API server";
  await expect(servedResources(client, GROUP, "v3")).rejects.toMatchObject({
    code: "ServerError",
    message: `cannot read what is served: ${from}: GET /apis/projectcalico.org/v3 gave ${text}`,
  });
  await expect(preferredVersion(client, GROUP)).rejects.toMatchObject({
    code: "ServerError",
    message: `cannot read what is served: ${from}: GET /apis/projectcalico.org gave ${text}`,
  });
  await expect(serverVersion(client)).rejects.toMatchObject({
    code: "ServerError",
    message: `cannot read what is served: ${from}: GET /version gave ${text}`,
  });
});

test("what is served, what is not, and what could not be asked", async () => {
  const list = { resources: [{ name: "ippools" }, { name: "ippools/status" }] };
  const served = new Set(["ippools", "ippools/status"]);
  expect(
    await servedResources(
      answering(() => list),
      GROUP,
      "v3",
    ),
  ).toEqual(served);
  expect(
    await servedResources(
      answering(() => ({ resources: [] })),
      GROUP,
      "v3",
    ),
  ).toEqual(new Set());
  expect(
    await preferredVersion(
      answering(() => ({ preferredVersion: { version: "v3" } })),
      GROUP,
    ),
  ).toBe("v3");
  const failing = (code: "NotFound" | "Forbidden") =>
    answering(() => {
      throw new KubeError(code, code);
    });
  expect(await servedResources(failing("NotFound"), GROUP, "v3")).toBeUndefined();
  expect(await preferredVersion(failing("NotFound"), GROUP)).toBeUndefined();
  await expect(servedResources(failing("Forbidden"), GROUP, "v3")).rejects.toMatchObject({ code: "Forbidden" });
});
