/**
 * Where the product departs from the recordings on purpose, by number of the list of differences: 5 errors that are no
 * lost race leave at once, before anything is claimed in vain; 18 handles count what they have; 25 addresses always have
 * their block's prefix length; 26 owner attributes change for one address only. Where addresses cool down, a message more
 * says so. And what of an error can be compared.
 */
import { expect } from "vitest";
import { mapValues } from "../../src/api/fields.ts";
import type { IPAMBlock } from "../../src/api/v3.ts";
import { handleAt } from "../invariants/model.ts";
import type { StoredObjects } from "./comparable.ts";
import type { Step } from "./recording.ts";

/** What is expected in place of what was recorded; what is left out stays. */
interface Departure {
  /** None: there is only more said. */
  readonly number?: number;
  readonly result?: unknown;
  readonly error?: object;
}

const refusedHandle: Departure = { number: 5, result: { v4: null, v6: null }, error: { code: "InvalidHandle" } };

const NONE_LEFT = "No IPs available in pools: [10.0.0.0/29]";
const COOLING = "1 address cooling down, next at 2026-11-29T16:00:03Z";

const ANSWERS: Readonly<Record<string, Readonly<Record<number, Departure>>>> = {
  "assign-ip": {
    14: {
      number: 25,
      result: {
        v4: { ipVersion: 4, ips: ["10.0.0.5/30"], msgs: null, numRequested: 1 },
        v6: { ipVersion: 6, ips: ["fd00::5/124"], msgs: null, numRequested: 1 },
      },
    },
    15: {
      number: 5,
      result: {
        v4: {
          ipVersion: 4,
          ips: [],
          msgs: null,
          numRequested: 2,
          partialFulfillmentError: "Assigned 0 out of 2 requested IPv4 addresses",
        },
        v6: null,
      },
      error: { code: "InsufficientIPsByHandle" },
    },
  },
  cooldown: {
    12: {
      result: {
        v4: {
          ipVersion: 4,
          ips: ["10.0.0.4/29", "10.0.0.5/29", "10.0.0.6/29", "10.0.0.7/29"],
          msgs: [NONE_LEFT, COOLING],
          numRequested: 5,
          partialFulfillmentError: `Assigned 4 out of 5 requested IPv4 addresses; ${NONE_LEFT}; ${COOLING}`,
        },
        v6: null,
      },
    },
  },
  "tricky-handles-and-hosts": {
    ...Object.fromEntries([5, 7, 9, 11, 15, 17, 19, 21].map((step) => [step, refusedHandle])),
    24: { number: 5, error: { code: "InvalidArgument" } },
  },
};

/** The answer to expect of a step, and the number of the difference where it is not the recorded one. */
export function expectedAnswer(scenario: string, index: number, step: Step) {
  const departure = ANSWERS[scenario]?.[index];
  return {
    number: departure?.number,
    result: departure?.result ?? step.result ?? null,
    error: departure?.error ?? (step.error && expectedError(step.error)),
  };
}

/** Codes of the reference's error types. Plain ones are told by their text. */
const CODES: readonly (readonly [type: RegExp, code: string])[] = [
  [/ErrorBadSequenceNumber/, "BadSequenceNumber"],
  [/ErrorBadHandle/, "BadHandle"],
  [/ErrorResourceUpdateConflict/, "PreconditionFailed"],
  [/ErrorResourceAlreadyExists/, "AlreadyExists"],
  [/Node\(/, "NodeNotFound"],
  [/ErrorResourceDoesNotExist/, "NotFound"],
  [/ErrorIPInCooldown/, "InCooldown"],
  [/errBlockNotEmpty/, "BlockNotEmpty"],
  [/invalidSizeError/, "InvalidSize"],
];

/**
 * The reference's text to the letter. Where it wraps an error of its own, the message is the one that says more: of a bad
 * sequence number or handle the inner one (ruling 23), of a precondition the outer, and the inner is among the details.
 */
function expectedError({ type, message, chain = [] }: NonNullable<Step["error"]>): object {
  const [, code] = CODES.find(([pattern]) => [...chain, type, message].some((text) => pattern.test(text))) ?? [];
  // The client's and the API server's words only, and refused by them: there is none of the reference's to keep.
  if (type === "errors.ErrorDatastoreError") return { code: expect.stringMatching(/^(Invalid|NotFound)$/) };
  const [innerType, inner = ""] = /^(\S+): (.*)$/s.exec(chain[0] ?? "")?.slice(1) ?? [];
  const details = code === "PreconditionFailed" ? { details: [inner] } : {};
  const isInner = code === "BadSequenceNumber" || code === "BadHandle";
  const words = innerType === "*errors.StatusError" ? ownWords(message) : textOf(isInner ? inner : message);
  return { name: "IpamError", ...(code && { code }), ...details, message: words };
}

/** What the API server said stands after the reference's own words, and is the server's: it may be left out. */
function ownWords(message: string) {
  const [own] = message.split(" with error: ", 1);
  return expect.stringMatching(new RegExp(`^(${literally(own!)}|${literally(message)})$`));
}

const literally = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Sequence numbers start from another moment in each run. */
function textOf(message: string) {
  const parts = message.split(/\d{16,}/).map(literally);
  return parts.length === 1 ? message : expect.stringMatching(new RegExp(`^${parts.join("\\d{16,}")}$`));
}

/** The objects to expect after a step, and the numbers of the differences that made them others than recorded. */
export function expectedObjects(scenario: string, index: number, recorded: StoredObjects) {
  const numbers = new Set<number>();
  const counted = exactCounts(recorded);
  if (`${counted.handles.map(usage)}` !== `${recorded.handles.map(usage)}`) numbers.add(18);
  if (scenario === "assign-ip" && index >= 15)
    return { numbers: numbers.add(5), objects: withoutBlock(counted, "10.0.0.8/30") };
  if (scenario === "owner-attributes" && index === 23) return { numbers: numbers.add(26), objects: unshared(counted) };
  return { numbers, objects: counted };
}

const usage = ({ spec }: StoredObjects["handles"][number]) => JSON.stringify(spec.block);

/** 18 */
function exactCounts(objects: StoredObjects): StoredObjects {
  const held = (handleID: string, cidr: string) => {
    const block = objects.blocks.find(({ spec }) => spec.cidr === cidr);
    return (
      block?.spec.allocations.filter((_, ordinal) => handleAt(block.spec, ordinal) === handleID).length || undefined
    );
  };
  const handles = objects.handles.map((handle) => {
    const { handleID, block } = handle.spec;
    const counts = mapValues(block, (_, cidr) => held(handleID, cidr)) as Record<string, number>;
    return { ...handle, spec: { ...handle.spec, block: counts } };
  });
  return { ...objects, handles: handles.filter(({ spec }) => Object.keys(spec.block).length > 0) };
}

/** 5: a block that the reference claims in vain. */
function withoutBlock({ blocks, affinities, ...rest }: StoredObjects, cidr: string): StoredObjects {
  const isOther = ({ spec }: { readonly spec: { readonly cidr: string } }) => spec.cidr !== cidr;
  return { ...rest, blocks: blocks.filter(isOther), affinities: affinities.filter(isOther) };
}

/** 26: ordinal 2 keeps the entry that 0 and 2 shared, and 0 gets the changed one. */
function unshared({ blocks, ...rest }: StoredObjects): StoredObjects {
  const [block] = blocks as [IPAMBlock];
  const [vm, changed] = block.spec.attributes;
  const kept = { ...changed, secondary: { ...vm!.secondary } };
  const spec = { ...block.spec, allocations: [2, 0, 1, null], attributes: [vm!, kept, changed!] };
  return { ...rest, blocks: [{ ...block, spec }] };
}
