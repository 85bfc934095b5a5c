/** What the machine must have. */
import { afterEach, expect, it, vi } from "vitest";
import { ensureHostPackages } from "./host.ts";

afterEach(() => vi.restoreAllMocks());

it("says that it needs root, and what to do without, before anything is built or installed", async () => {
  vi.spyOn(process, "getuid").mockReturnValue(1000);
  const told: string[] = [];
  await expect(ensureHostPackages((line) => told.push(line))).rejects.toThrow(
    "Making a kind cluster without an image registry needs root: run as root, or use --kind NAME.",
  );
  expect(told).toEqual([]);
});
