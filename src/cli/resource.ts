/** Resources as kubectl names them: `TYPE/NAME`, `TYPE NAME`, or what a text alone says. Pure. */
import { parseAddress } from "../net/address.ts";
import { parseCidr } from "../net/cidr.ts";
import { nearest } from "./nearest.ts";
import { UsageError } from "./usage-error.ts";

/** The types, with kubectl's plural and short names. */
const TYPES = {
  pod: ["pod", "pods", "po"],
  node: ["node", "nodes", "no"],
  namespace: ["namespace", "namespaces", "ns"],
  service: ["service", "services", "svc"],
  pool: ["pool", "pools", "ippool", "ippools"],
  block: ["block", "blocks", "ipamblock", "ipamblocks", "cidr"],
  handle: ["handle", "handles", "ipamhandle", "ipamhandles"],
  address: ["address", "ip"],
} as const;

export type ResourceType = keyof typeof TYPES;

export interface Resource {
  /** Undefined for a name alone, and for NAMESPACE/NAME. */
  readonly type: ResourceType | undefined;
  readonly name: string;
}

/**
 * A known type wins over a namespace of that name: `node/web-0` is a node.
 * @param words arguments of a verb: `pod/web-0`, `pod web-0`, `web-0`, `shop/web-0`, `10.0.0.5`, `10.0.0.0/26`
 * @throws UsageError where the words name no resource, or more than one
 */
export function parseResource(words: readonly string[]): Resource {
  const [first = "", second, ...more] = words;
  if (more.length > 0) throw tooMany(words);
  if (second !== undefined) return { type: knownType(first), name: second };
  if (parseAddress(first)) return { type: "address", name: first };
  if (parseCidr(first)) return { type: "block", name: first };
  const slash = first.indexOf("/");
  const type = slash < 0 ? undefined : typeOf(first.slice(0, slash));
  return type === undefined ? { type, name: first } : { type, name: first.slice(slash + 1) };
}

function typeOf(word: string): ResourceType | undefined {
  const names = Object.entries(TYPES) as [ResourceType, readonly string[]][];
  return names.find(([, spellings]) => spellings.includes(word.toLowerCase()))?.[0];
}

/** @throws UsageError where the word is no type */
function knownType(word: string): ResourceType {
  const type = typeOf(word);
  if (type === undefined) throw new UsageError(unknownType(word));
  return type;
}

/** @throws UsageError where a flag asks for the same as the resource: one of them would be ignored */
export function refuseBoth(words: readonly string[], flag: string, given: unknown): void {
  if (given !== undefined)
    throw new UsageError(`${words.join(" ")} and --${flag} exclude each other: give one of them.`);
}

/** Says which types there are, for a word that should be one. */
export function unknownType(word: string): string {
  const types = Object.keys(TYPES);
  const near = nearest(word, types);
  const hint = near === undefined ? "" : ` (did you mean ${near}?)`;
  return `'${word}' is not a resource type${hint}: use TYPE/NAME with one of ${types.join(", ")}`;
}

const tooMany = (words: readonly string[]) =>
  new UsageError(`name one resource, as TYPE/NAME; got ${words.length} words: ${words.join(" ")}`);
