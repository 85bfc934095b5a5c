import { expect, test } from "vitest";
import { pool } from "../../../test/support/ipam-data.ts";
import type { KubeObject } from "../../api/meta.ts";
import { createLogger } from "../log.ts";
import { poolReader } from "./group.ts";

test("a pool that cannot be read is named in the log, once for each version of it", () => {
  const lines: string[] = [];
  const read = poolReader(
    createLogger({ level: "info", encoding: "json", sink: { write: (line) => lines.push(line) } }),
  );
  const odd = { ...pool("odd", "10.0.0.0/24"), spec: { cidr: 7 } } as KubeObject;
  expect([read("v3", odd), read("v3", odd)]).toEqual([undefined, undefined]);
  expect(read("v3", pool("sound", "10.0.0.0/24"))).toMatchObject({ metadata: { name: "sound" } });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('IPPool \\"odd\\" cannot be read');
  read("v3", { ...odd });
  expect(lines).toHaveLength(2);
});
