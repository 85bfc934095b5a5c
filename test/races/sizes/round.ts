/** What a racer over block sizes is asked to do in one round. */
import type { RacerOptions } from "../racing.ts";
import type { Ground } from "./grounds.ts";

export interface Round extends RacerOptions, Pick<Ground, "base" | "addresses" | "most"> {
  /** Calls to make, those already in the journal included. */
  readonly calls: number;
  /** UIDs of the pools that the round starts with. */
  readonly pools: readonly string[];
  /** The one pool to draw from; otherwise all. */
  readonly draws?: string;
  /** Makes affinity strict and loose again. */
  readonly toggles: boolean;
  /** How likely each write of a block or an affinity kills the process: before it, during it or after it. */
  readonly deadliness: number;
}
