/** The CEL of the CRDs' rules: the engine with the functions that Kubernetes adds to the language. */
import { Environment } from "@marcbachmann/cel-js";
import { type Address, type IpVersion, parseAddress } from "../../net/address.ts";
import { type Cidr, cidrOf, contains, parseCidr } from "../../net/cidr.ts";
import { copy } from "../fields.ts";

/** `ip()` of a range. */
class Ip {
  readonly version: IpVersion;
  constructor(version: IpVersion) {
    this.version = version;
  }
}

/** A range as CEL has it: with its host bits. */
class Range {
  readonly address: Address;
  readonly masked: Cidr;
  constructor(address: Address, prefix: number) {
    this.address = address;
    this.masked = cidrOf(address, prefix);
  }
}

type Program = (context: { readonly self: unknown; readonly oldSelf: unknown }) => unknown;

const programs = new Map<string, Program>();
let environment: Environment | undefined;

/** Whether a rule holds. @throws where it cannot be evaluated on these values */
export function holds(rule: string, self: unknown, oldSelf: unknown): boolean {
  let program = programs.get(rule);
  if (program === undefined) {
    environment ??= kubernetesEnvironment();
    program = environment.parse(rule) as Program;
    programs.set(rule, program);
  }
  return program({ self: withIntegers(self), oldSelf: withIntegers(oldSelf) }) === true;
}

/** Whole numbers are CEL's `int`, which the engine has as bigint. */
const withIntegers = (value: unknown) =>
  copy(value, (leaf) => (Number.isInteger(leaf) ? BigInt(leaf as number) : leaf));

function kubernetesEnvironment(): Environment {
  return new Environment()
    .registerVariable("self", "dyn")
    .registerVariable("oldSelf", "dyn")
    .registerType("Ip", { ctor: Ip, fields: {} })
    .registerType("Range", { ctor: Range, fields: {} })
    .registerFunction("isCIDR(string): bool", (text: string) => parseCidr(text) !== undefined)
    .registerFunction("cidr(string): Range", rangeOf)
    .registerFunction(
      "Range.masked(): Range",
      ({ masked }: Range) => new Range({ ...masked, value: masked.base }, masked.prefix),
    )
    .registerFunction("Range.prefixLength(): int", ({ masked }: Range) => BigInt(masked.prefix))
    .registerFunction("Range.ip(): Ip", ({ address }: Range) => new Ip(address.version))
    .registerFunction("Ip.family(): int", ({ version }: Ip) => BigInt(version))
    .registerFunction("Range.containsCIDR(string): bool", ({ masked }: Range, text: string) =>
      contains(masked, rangeOf(text).masked),
    )
    .registerOperator("Range == Range", (a: Range, b: Range) => isSame(a, b));
}

function rangeOf(text: string): Range {
  const [address = ""] = text.split("/", 1);
  const [range, first] = [parseCidr(text), parseAddress(address)];
  if (range === undefined || first === undefined) throw new Error(`"${text}" is not a CIDR`);
  return new Range(first, range.prefix);
}

function isSame(a: Range, b: Range): boolean {
  return (
    a.address.version === b.address.version &&
    a.address.value === b.address.value &&
    a.masked.prefix === b.masked.prefix
  );
}
