import { describe, expect, test } from "vitest";
import { parseManifests } from "./manifests.ts";

const withMetadata = (metadata: string, name = "p") =>
  parseManifests(
    `apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata:\n  name: ${name}\n  ${metadata}\nspec: {cidr: 10.0.0.0/16}\n`,
  );
const long = "a".repeat(64);

describe("metadata of a manifest", () => {
  test.each([
    ["nmae: x", "unknown field metadata.nmae; did you mean name?"],
    ["labels: {bad key: x}", 'metadata.labels: the key "bad key" cannot be used; write at most 63 letters'],
    ["labels: {a/b/c: x}", 'the key "a/b/c" cannot be used'],
    ["labels: {Not.A.Domain/a: x}", 'the key "Not.A.Domain/a" cannot be used'],
    [`labels: {${long}: x}`, `the key "${long}" cannot be used`],
    ["labels: {a: two words}", 'metadata.labels.a: found "two words"; write at most 63 letters'],
    ["labels: {a: -x}", 'metadata.labels.a: found "-x"; write'],
    ["annotations: {two words: x}", 'metadata.annotations: the key "two words" cannot be used'],
  ])("%s is refused as an API server would", (metadata, words) => {
    const problems = [{ line: 5, message: expect.stringContaining(words) }];
    expect(withMetadata(metadata)).toEqual({ manifests: [], problems });
  });

  test.each(["Pool", "a_b", "-a", "a..b", `${long}${long}${long}${long}`])("the name %s is refused", (name) => {
    const message = expect.stringContaining(`metadata.name: found "${name}"; write at most 253 lowercase letters`);
    expect(withMetadata("labels: {}", name)).toEqual({ manifests: [], problems: [{ line: 4, message }] });
  });

  test("what copied objects have is taken", () => {
    const copied =
      "labels: {app.kubernetes.io/name: x, a: '', B_c.d: V-1}\n  annotations: {Example.com/a: 'any text', b: ''}\n  " +
      "finalizers: [a/b]\n  ownerReferences: []\n  generateName: p-\n  generation: 3\n  uid: u";
    expect(withMetadata(copied).problems).toEqual([]);
  });
});
