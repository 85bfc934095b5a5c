/** What no role may ever hold, whatever the table comes to say. */
import { describe, expect, it } from "vitest";
import { ROLES } from "./permissions.ts";
import { permissionsOf } from "./rules.ts";

describe.each(ROLES)("%s", (role) => {
  const held = permissionsOf(role, ["v1", "v3"]);

  it("holds something, and neither escalate, bind, impersonate nor a wildcard", () => {
    expect(held.length).toBeGreaterThan(0);
    const forbidden = ["escalate", "bind", "impersonate", "*"];
    expect(
      held.filter(({ verb, group, resource }) => [verb, group, resource].some((it) => forbidden.includes(it))),
    ).toEqual([]);
  });
});

it("viewer, which is part of `view`, only reads, and of the cluster's own objects only what tells who uses an address", () => {
  const held = permissionsOf("viewer");
  expect(held.filter(({ verb }) => !["get", "list", "watch"].includes(verb))).toEqual([]);
  const core = new Set(held.flatMap(({ group, resource }) => (group === "" ? [resource] : [])));
  expect([...core].sort()).toEqual(["events", "namespaces", "nodes", "pods", "services"]);
});
