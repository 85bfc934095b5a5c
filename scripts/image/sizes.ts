/** How big the image's content is, and what of it is big. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

export interface Size {
  readonly path: string;
  readonly bytes: number;
}

/** Every file below `folder`, the biggest first. */
export async function sizesIn(folder: string): Promise<Size[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const sizes = files.map(async (file) => ({ path: file.slice(folder.length + 1), bytes: (await stat(file)).size }));
  return (await Promise.all(sizes)).sort((a, b) => b.bytes - a.bytes);
}

export const totalOf = (sizes: readonly Size[]): number => sizes.reduce((sum, { bytes }) => sum + bytes, 0);

/** A line for each of the biggest, and for all together. */
export function sizesText(sizes: readonly Size[]): string {
  const big = sizes.filter(({ bytes }) => bytes >= 500_000);
  const lines = [...big, { path: `all ${sizes.length} files`, bytes: totalOf(sizes) }];
  return lines.map(({ path, bytes }) => `${(bytes / 1e6).toFixed(1).padStart(8)} MB  ${path}`).join("\n");
}
