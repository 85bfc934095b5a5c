/** Plans a split, or what is left of one that was cut off. */
import type { IPPool } from "../../api/v3.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import { type Pool, poolsOf } from "../../ipam/pools.ts";
import { type Cidr, formatCidr, parseCidr, size } from "../../net/cidr.ts";
import type { Session } from "../session.ts";
import { UsageError } from "../usage-error.ts";
import type { Given } from "../verb.ts";
import { carryOut, type WriteOptions } from "../writing/carry-out.ts";
import type { Kept, Plan } from "../writing/plan.ts";
import type { Workplace } from "../writing/workplace.ts";
import { markOf } from "./mark.ts";
import { countOf, type Part, partName, partPool, partsOf } from "./parts.ts";
import { createStep, deleteStep, disableStep } from "./steps.ts";

interface Options extends WriteOptions {
  readonly name?: string;
  readonly cidr?: string;
}

export async function run(session: Session, given: Given): Promise<number> {
  const options = given.options as Options;
  const count = countOf(given.arguments[0]!);
  const { name, cidr: text } = options;
  if ((name === undefined) === (text === undefined))
    throw new UsageError("say which pool in one way: --name POOL, or --cidr CIDR.");
  const cidr = text === undefined ? undefined : parseCidr(text);
  if (text !== undefined && cidr === undefined) throw new UsageError(`--cidr '${text}' is not a CIDR.`);
  const plan = async (workplace: Workplace) => {
    const planned = await planOf(workplace.datastore, count, { name, cidr }, session.told);
    const { state } = await workplace.lock();
    return state === "locked" ? { ...planned, afterwards: UNLOCK } : planned;
  };
  return carryOut(session, { verb: "split", options, lock: "locked", plan });
}

type Asked = { readonly name: string | undefined; readonly cidr: Cidr | undefined };

const UNLOCK = "the datastore may be unlocked now: calicoctl datastore migrate unlock";

async function planOf(datastore: Datastore, count: number, asked: Asked, told: Session["told"]): Promise<Plan> {
  const pools = poolsOf((await datastore.list("IPPool")).items);
  const isAsked = ({ name, cidr }: Pool) =>
    asked.cidr === undefined ? name === asked.name : formatCidr(cidr) === formatCidr(asked.cidr);
  const pool = pools.find(isAsked);
  if (pool === undefined) return alreadySplit(pools, asked, count);
  const begun = markOf(pool.source)?.parts;
  if (begun !== undefined && begun !== count) {
    throw new Error(
      told(
        `pool "${pool.name}" is being cut into ${begun} already. Finish that: ipamctl split ${begun} --name ${pool.name}`,
      ),
    );
  }
  const parts = partsOf(pool, count);
  const there = parts.filter((part) => isThere(pools, part));
  const disabled = disabledBefore(pool.source, pools, there);
  return {
    kind: "Split",
    title: `Cut pool "${pool.name}" (${formatCidr(pool.cidr)}) into ${count}`,
    steps: [
      ...(begun === undefined ? [disableStep(datastore, pool.source, count)] : []),
      ...parts
        .filter((part) => !there.includes(part))
        .map((part) => createStep(datastore, partPool(pool.source, part, disabled))),
      deleteStep(datastore, pool.source),
    ],
    kept: there.map(keptPart),
    notes: there.length > 0 || begun !== undefined ? ["goes on with the split that was begun"] : [],
  };
}

const keptPart = ({ name }: Part): Kept => ({ action: "create", object: `IPPool/${name}`, why: "is there already" });

/** @throws Error where another pool has the name */
function isThere(pools: readonly Pool[], { name, cidr }: Part): boolean {
  const found = pools.find((pool) => pool.name === name);
  if (found === undefined) return false;
  if (formatCidr(found.cidr) === cidr) return true;
  throw new Error(
    `IPPool "${name}" exists, with the range ${formatCidr(found.cidr)} and not ${cidr}: it is no part of this split`,
  );
}

/** calicoctl leaves no mark: then the parts that it made say what the pool was. */
function disabledBefore(source: IPPool, pools: readonly Pool[], there: readonly Part[]): boolean | undefined {
  const mark = markOf(source);
  if (mark !== undefined) return mark.disabled;
  const made = pools.find(({ name }) => name === there[0]?.name);
  return made === undefined ? source.spec.disabled : made.source.spec.disabled;
}

/** @throws Error where it is not, and there is no such pool */
function alreadySplit(pools: readonly Pool[], { name, cidr }: Asked, count: number): Plan {
  const parts = pools.filter((pool) =>
    cidr === undefined ? isPartOf(pool, name!, count) : isNthOf(pool, cidr, count),
  );
  if (parts.length !== count) {
    throw new Error(
      `there is no IPPool ${cidr ? `with the range ${formatCidr(cidr)}` : `"${name}"`}; ipamctl show lists them`,
    );
  }
  return { kind: "Split", title: "", steps: [], kept: parts.map((pool) => keptPart({ name: pool.name, cidr: "" })) };
}

function isPartOf(pool: Pool, name: string, count: number): boolean {
  return Array.from({ length: count }, (_, index) => partName(name, index, count)).includes(pool.name);
}

function isNthOf({ name, cidr }: Pool, whole: Cidr, count: number): boolean {
  const isInside = cidr.version === whole.version && size(cidr) * BigInt(count) === size(whole);
  return isInside && name.startsWith("split-") && cidr.base >= whole.base && cidr.base < whole.base + size(whole);
}
