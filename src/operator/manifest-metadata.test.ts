import { describe, expect, test } from "vitest";
import { parseManifests } from "./manifests.ts";

const withMetadata = (metadata: string, name = "p") =>
  parseManifests(
    `apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata:\n  name: ${name}\n  ${metadata}\nspec: {cidr: 10.0.0.0/16}\n`,
  );
const long = "a".repeat(64);

describe("metadata of a manifest", () => {
  test.each([
    ["nmae: x", 'unknown field "metadata.nmae"; did you mean name?'],
    ["labels: {bad key: x}", 'metadata.labels: Invalid value: "bad key": name part must consist of'],
    ["labels: {a/b/c: x}", 'metadata.labels: Invalid value: "a/b/c": a valid label key must consist of'],
    [
      "labels: {Not.A.Domain/a: x}",
      'metadata.labels: Invalid value: "Not.A.Domain/a": prefix part a lowercase RFC 1123 subdomain',
    ],
    [`labels: {${long}: x}`, `metadata.labels: Invalid value: "${long}": name part must be no more than 63 bytes`],
    ["labels: {a: two words}", 'metadata.labels: Invalid value: "two words": a valid label must be'],
    ["labels: {a: -x}", 'metadata.labels: Invalid value: "-x": a valid label must be'],
    ["annotations: {two words: x}", 'metadata.annotations: Invalid value: "two words": name part must'],
  ])("%s is refused as an API server would", (metadata, words) => {
    const problems = [{ line: 5, message: expect.stringContaining(words) }];
    expect(withMetadata(metadata)).toEqual({ manifests: [], problems });
  });

  test.each(["Pool", "a_b", "-a", "a..b", `${long}${long}${long}${long}`])("the name %s is refused", (name) => {
    const message = expect.stringContaining(`metadata.name: Invalid value: "${name}": `);
    expect(withMetadata("labels: {}", name)).toEqual({ manifests: [], problems: [{ line: 4, message }] });
  });

  test("what copied objects have is taken", () => {
    const copied =
      "labels: {app.kubernetes.io/name: x, a: '', B_c.d: V-1}\n  annotations: {Example.com/a: 'any text', b: ''}\n  " +
      "finalizers: [a/b]\n  ownerReferences: []\n  generateName: p-\n  generation: 3\n  uid: u";
    expect(withMetadata(copied).problems).toEqual([]);
  });
});
