/** Runs a Lua script on a value, as Argo CD runs health scripts: the value is the global `obj`, made of plain tables. */
import { LuaFactory } from "wasmoon";

export async function runLua(script: string, obj: unknown): Promise<unknown> {
  const lua = await new LuaFactory().createEngine();
  try {
    return await lua.doString(`obj = ${literal(obj)}\n${script}`);
  } finally {
    lua.global.close();
  }
}

/** A value of JSON as Lua writes it; what is null is absent, as in a table. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return "nil";
  if (Array.isArray(value)) return `{ ${value.map(literal).join(", ")} }`;
  if (typeof value === "object")
    return `{ ${Object.entries(value)
      .map(([name, member]) => `[${text(name)}] = ${literal(member)}`)
      .join(", ")} }`;
  return typeof value === "string" ? text(value) : String(value);
}

/** Each byte by its number: no character needs an escape of its own. */
const text = (value: string) =>
  `"${[...Buffer.from(value)].map((byte) => `\\${String(byte).padStart(3, "0")}`).join("")}"`;
