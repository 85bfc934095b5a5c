/** The library's public types: none of the older generation's, each documented, each with a name to import it by. */
import { beforeAll, describe, expect, test } from "vitest";
import { type Declared, publicDeclarations } from "./declarations.ts";

let seen: readonly Declared[];
beforeAll(() => {
  seen = publicDeclarations();
}, 180_000);

const where = ({ module, name }: Pick<Declared, "module" | "name">) => `${module} ${name}`;

test("the walk reaches what types name: a method's arguments, a result's parts, a schema", () => {
  const names = seen.map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(["createIpam", "Ipam", "AutoAssignArgs", "HostReservedAttr", "v3Schemas"]),
  );
  expect(seen.length).toBeGreaterThan(80);
});

test("no v1 type is public, by itself or through another type", () => {
  const old = seen.filter(
    ({ module, name }) => /\/(v1|conversion|flavours|resources)$/.test(module) || /^v1/i.test(name),
  );
  // The name of a generation, as the option that chooses one takes it.
  expect(old.map(where)).toEqual(["src/datastore/flavours Flavour"]);
});

/** Parts of another declaration that nobody writes down. */
const NAMELESS = ["V3", "CLASSES", "Facts", "Taker", "ConfigRule", "IPAM_FIELDS"];

test("whoever uses a type can import it", () => {
  const schema = ({ kind, name }: Declared) => kind === "VariableDeclaration" && /^[a-z]/.test(name);
  // A checked function has the type of the one that it checks.
  const exported = new Set(seen.filter((declared) => declared.exported).map(({ name }) => name));
  const nameless = seen.filter(({ name }) => !exported.has(name)).filter((declared) => !schema(declared));
  expect(nameless.map(({ name }) => name).sort()).toEqual([...NAMELESS].sort());
});

describe("documentation", () => {
  /** Schemas describe their fields themselves. The name of an error class is no news. */
  const isPublic = ({ kind, exported }: Declared) => exported || kind === "InterfaceDeclaration";

  test("each public declaration says what it means", () => {
    expect(seen.filter((declared) => isPublic(declared) && declared.doc === "").map(where)).toEqual([]);
  });

  test("each member says what it means", () => {
    const silent = seen.filter(isPublic).flatMap(({ name: type, kind, members }) => {
      const own = members.filter(({ name }) => !(kind === "ClassDeclaration" && name === "name"));
      return own.filter(({ doc }) => doc === "").map(({ name }) => `${type}.${name}`);
    });
    expect(silent).toEqual([]);
  });
});
