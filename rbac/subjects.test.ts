import { describe, expect, it } from "vitest";
import { parseSubjects, readSubjects, SubjectsError } from "./subjects.ts";

const message = (text: string): string => {
  try {
    parseSubjects(text, "subjects.yaml");
  } catch (error) {
    expect(error).toBeInstanceOf(SubjectsError);
    return (error as Error).message;
  }
  throw new Error("accepted");
};

describe("parseSubjects", () => {
  it("reads subjects of each kind, and leaves out roles that nobody is to have", () => {
    const text = `
cni-plugin:
  - {kind: ServiceAccount, namespace: kube-system, name: calico-cni}
viewer: [{kind: Group, name: network}, {kind: User, name: jane}]
editor: []
`;
    expect([...parseSubjects(text, "f")]).toEqual([
      ["cni-plugin", [{ kind: "ServiceAccount", namespace: "kube-system", name: "calico-cni" }]],
      [
        "viewer",
        [
          { kind: "Group", name: "network" },
          { kind: "User", name: "jane" },
        ],
      ],
    ]);
  });

  it.each(["", "---\n", "{}", "# nobody\n"])("takes %j as nobody", (text) => {
    expect(parseSubjects(text, "f").size).toBe(0);
  });

  it.each([
    ["an unknown role", "cni: []", /subjects\.yaml: .*cni/],
    ["the operator's own role", "operator: []", /operator/],
    ["a ServiceAccount without namespace", "viewer: [{kind: ServiceAccount, name: a}]", /viewer\.0\.namespace/],
    ["an unknown kind", "viewer: [{kind: Robot, name: a}]", /viewer\.0\.kind/],
    ["a namespaced group", "viewer: [{kind: Group, name: a, namespace: b}]", /viewer\.0: .*namespace/],
    ["an empty name", "editor: [{kind: User, name: ''}]", /editor\.0\.name: must not be empty/],
    ["no list", "viewer: jane", /viewer: .*array/],
    ["a list of roles", "[viewer]", /the file: .*object/],
    ["no YAML", "viewer: [", /not YAML/],
  ])("refuses %s, and says where and what is expected", (_what, text, expected) => {
    expect(message(text)).toMatch(expected);
    if (!text.endsWith("[")) expect(message(text)).toContain("cni-plugin: [{kind: ServiceAccount");
  });

  it("names every fault at once", () => {
    expect(message("{cni: [], viewer: [{kind: User, name: ''}]}")).toMatch(
      /viewer\.0\.name.*cni|cni.*viewer\.0\.name/s,
    );
  });

  it("says which file cannot be read", async () => {
    await expect(readSubjects("/does/not/exist.yaml")).rejects.toThrow(
      /\/does\/not\/exist\.yaml: cannot be read \(ENOENT\)/,
    );
  });
});
