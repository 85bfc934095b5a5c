/**
 * The errors of the library: one class with a `code`, in the three classes of Calico's design. Callers branch on
 * `code`, never on text. Transient errors stay inside the retry loops; what leaves is validation or
 * stop-and-re-evaluate.
 */
import type { AttributeMap } from "../api/v3.ts";
import { escapeLine } from "../escape.ts";

/** Who holds an address. */
export interface Holder {
  /** The handle it is assigned to. */
  readonly handleID?: string | undefined;
  /** The node it is used on. */
  readonly node?: string | undefined;
  /** Attributes of the active owner. */
  readonly activeOwnerAttrs: AttributeMap;
  /** Attributes of the alternate owner. */
  readonly alternateOwnerAttrs: AttributeMap;
}

/** `validation`: change the request or the configuration. `stop-and-re-evaluate`: look again, then decide anew. */
export type ErrorClass = "transient" | "validation" | "stop-and-re-evaluate";

const CLASSES = {
  /** A configuration that breaks a rule; the message names each that it breaks. */
  IPAMConfigConflict: "validation",
  /** A Windows host where strictAffinity is false. */
  StrictAffinity: "validation",
  /** An argument that cannot mean anything. */
  InvalidArgument: "validation",
  /** autoAssign without an intended use. */
  UseRequired: "validation",
  /** A handle that cannot be the name of an object. */
  InvalidHandle: "validation",
  /** No pool is left to draw from; `details` say why each was passed over. */
  NoQualifiedPool: "validation",
  /** A pool that was asked for does not exist, or is not enabled. */
  PoolNotEnabled: "validation",
  /** The address or range is in no enabled pool. */
  NotInPool: "validation",
  /** The address's pool does not allow the intended use. */
  UseNotAllowed: "validation",
  /** The range is smaller than a block of its pool. */
  InvalidSize: "validation",
  /** The host may not own another block. */
  BlockLimit: "validation",
  /** The configuration forbids claiming blocks, and the host's own are full. */
  NoClaimAllowed: "validation",
  /** Every block of the pools has an owner. */
  NoFreeBlocks: "validation",
  /** Fewer addresses than asked for could be assigned, and allOrNothing was asked for: none is kept. */
  NotAllAssigned: "validation",
  /** The block would share addresses with one of another size. */
  BlockOverlap: "validation",
  /** Strict affinity, and the block is another host's. */
  AffinityMismatch: "validation",
  /** The handle has as many addresses as it may have. */
  MaxAllocReached: "validation",
  /** The handle's addresses are fewer than asked for, and it may get no more. */
  InsufficientIPsByHandle: "validation",
  /** The address is taken, or cools down; `holder` says by whom. */
  AlreadyExists: "validation",
  /** The address is not assigned; or there is no such handle. */
  NotFound: "validation",
  /** The node does not exist. */
  NodeNotFound: "validation",
  /** The address was released and may not be reused yet. */
  InCooldown: "validation",
  /** The address is assigned, but not to this handle. */
  NotAssignedToHandle: "validation",
  /** The alternate owner to swap with is not there. */
  AlternateOwnerEmpty: "validation",
  /** The alternate owner is another pod. */
  AlternateOwnerMismatch: "validation",
  /** What the call has to go by is stored malformed: the selector of a pool, the labels of a node. */
  MalformedObject: "validation",
  /** A stored block contradicts itself. */
  MalformedBlock: "validation",
  /** The address was allocated anew since the number was read. */
  BadSequenceNumber: "stop-and-re-evaluate",
  /** The address belongs to another handle. */
  BadHandle: "stop-and-re-evaluate",
  /** The block has allocations, or addresses that cool down. */
  BlockNotEmpty: "stop-and-re-evaluate",
  /** The owner attributes are not what the caller expected. */
  PreconditionFailed: "stop-and-re-evaluate",
  /** Other writers were first each time. */
  MaxRetries: "stop-and-re-evaluate",
} as const satisfies Record<string, Exclude<ErrorClass, "transient">>;

/** What the library can end in besides success; what each means stands in docs/library.md. */
export type IpamErrorCode = keyof typeof CLASSES;

/** What an error says besides its message. */
interface Facts {
  /** Explanations beyond the message, a sentence each. */
  readonly details?: readonly string[];
  /** The error below it. */
  readonly cause?: unknown;
  /** Who has the address. */
  readonly holder?: Holder | undefined;
  /** What the caller gave. */
  readonly requested?: string | bigint | undefined;
  /** What is stored. */
  readonly expected?: string | bigint | undefined;
}

/** An error of the library. Its message is for people; programs look at `code`. */
export class IpamError extends Error {
  override readonly name: string = "IpamError";
  /** Branch on this, never on the text. */
  readonly code: IpamErrorCode;
  /** Explanations beyond the message, a sentence each. */
  readonly details: readonly string[];
  /** AlreadyExists: who has the address. */
  readonly holder: Holder | undefined;
  /** BadSequenceNumber and BadHandle: what the caller gave. */
  readonly requested: string | bigint | undefined;
  /** BadSequenceNumber and BadHandle: what is stored. */
  readonly expected: string | bigint | undefined;

  constructor(code: IpamErrorCode, message: string, facts: Facts = {}) {
    const { cause, details = [], holder, requested, expected } = Object(facts) as Facts;
    super(escapeMessage(String(message)), cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details.map(escapeLine);
    this.holder = holder;
    this.requested = requested;
    this.expected = expected;
  }

  /** What kind of error the code is. */
  get class(): ErrorClass {
    return CLASSES[this.code];
  }
}

/** A line feed at the very end stays: Calico has one there. */
function escapeMessage(message: string): string {
  return message.endsWith("\n") ? `${escapeLine(message.slice(0, -1))}\n` : escapeLine(message);
}

/** Whether `error` is an IpamError with one of `codes`. */
export function isIpamError(error: unknown, ...codes: IpamErrorCode[]): error is IpamError {
  return error instanceof IpamError && (codes.length === 0 || codes.includes(error.code));
}

/**
 * Internal: the block is another's, another claim of these addresses is not finished, the affinity is out of date, or the
 * handle is being worked on. Never leaves.
 */
export class TransientError extends Error {
  override readonly name = "TransientError";
  readonly class = "transient" satisfies ErrorClass;
  readonly code: "BlockClaimConflict" | "UnfinishedClaim" | "StaleAffinity" | "HandleBusy";

  constructor(code: TransientError["code"], message: string) {
    super(message);
    this.code = code;
  }
}
