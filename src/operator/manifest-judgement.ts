/** Which files of a folder are in force: judged from all of them and from what is stored, anew each time. */
import type { Manifest, ManifestProblem, ParsedManifests } from "./manifests.ts";

export interface Judgement {
  readonly good: ReadonlyMap<string, readonly Manifest[]>;
  /** A refused file keeps what it brought before. */
  readonly refused: ReadonlyMap<string, readonly ManifestProblem[]>;
}

/** What two files must not both hold: `IPPool p`. */
export function keyOf({ kind, metadata }: { kind: string; metadata: { name: string } }): string {
  return `${kind} ${metadata.name}`;
}

/**
 * An object in two files stays with the one it is stored from, else with the first by name: the other is refused.
 * @param owners file that each stored object came from, by `keyOf`
 */
export function judge(files: ReadonlyMap<string, ParsedManifests>, owners: ReadonlyMap<string, string>): Judgement {
  const refused = new Map<string, readonly ManifestProblem[]>();
  for (const [file, parsed] of files) refuse(file, [...parsed.problems, ...twice(parsed.manifests)], refused);
  const holders = holdersOf(files, owners, new Set(refused.keys()));
  for (const [file, { manifests }] of files)
    if (!refused.has(file)) refuse(file, elsewhere(file, manifests, holders), refused);
  const good = [...files].filter(([file]) => !refused.has(file));
  return { good: new Map(good.map(([file, { manifests }]) => [file, manifests])), refused };
}

function refuse(
  file: string,
  problems: readonly ManifestProblem[],
  refused: Map<string, readonly ManifestProblem[]>,
): void {
  if (problems.length > 0) refused.set(file, problems);
}

function twice(manifests: readonly Manifest[]): ManifestProblem[] {
  const lines = new Map<string, number>();
  return manifests.flatMap(({ object, line }) => {
    const first = lines.get(keyOf(object));
    if (first === undefined) lines.set(keyOf(object), line);
    const message = `${keyOf(object)} is also at line ${first} of this file; keep one of them`;
    return first === undefined ? [] : [{ line, message }];
  });
}

/** The one file that each object belongs to. A broken file still holds what it brought before. */
function holdersOf(
  files: ReadonlyMap<string, ParsedManifests>,
  owners: ReadonlyMap<string, string>,
  broken: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const named = new Map(
    [...files].map(([file, { manifests }]) => [file, new Set(manifests.map(({ object }) => keyOf(object)))]),
  );
  const holders = new Map([...owners].filter(([key, file]) => broken.has(file) || named.get(file)?.has(key)));
  for (const [file, { manifests }] of files) {
    if (broken.has(file)) continue;
    for (const { object } of manifests) if (!holders.has(keyOf(object))) holders.set(keyOf(object), file);
  }
  return holders;
}

/** Two files that say different things about one object would take turns for ever. */
function elsewhere(file: string, manifests: readonly Manifest[], holders: ReadonlyMap<string, string>) {
  return manifests.flatMap(({ object, line }) => {
    const holder = holders.get(keyOf(object));
    return holder === file ? [] : [{ line, message: `${keyOf(object)} is also in ${holder}; keep it in one file` }];
  });
}
