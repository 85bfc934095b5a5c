/**
 * Replays the recorded scenarios of the reference through the library: every answer, every text and everything stored
 * after each step as recorded, but for the differences that are named. And what the library stores and does on the way
 * breaks no invariant.
 */
import { describe, expect, it } from "vitest";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { check } from "../invariants/check.ts";
import { checkHistory } from "../invariants/history.ts";
import { Side } from "./comparable.ts";
import { expectedAnswer, expectedObjects } from "./differences.ts";
import { perform } from "./operations.ts";
import { type Flavour, type Moment, moments, type Step, scenarios, stepsOf } from "./recording.ts";
import { Scene, withOwnNumbers } from "./scenario.ts";

/** Numbers of the differences that each scenario shows. */
const DIFFERENCES: Readonly<Record<string, readonly number[]>> = {
  "assign-ip": [5, 25],
  "block-full": [18],
  cooldown: [18],
  "default-limit-20-blocks": [18],
  "max-blocks-per-host": [18],
  "owner-attributes": [26],
  reservations: [18],
  "tricky-handles-and-hosts": [5],
};

/** Registers the replay of what was recorded with one flavour. `open` gives an empty datastore. */
export function replayScenarios(flavour: Flavour, open: () => Promise<Datastore>): void {
  describe(`recorded with ${flavour}`, () => {
    it.each(scenarios)("%s", async (scenario) => {
      const replay = new Replay(scenario, flavour, new Scene(await open()));
      for (const [index, step] of stepsOf(scenario, flavour).entries()) await replay.step(index, step);
      expect([...replay.numbers].sort((a, b) => a - b)).toEqual(DIFFERENCES[scenario] ?? []);
      expect(checkHistory(replay.scene.recorder.log)).toEqual([]);
    });
  });
}

class Replay {
  readonly scene: Scene;
  /** Of the differences met. */
  readonly numbers = new Set<number>();
  readonly #scenario: string;
  readonly #recorded: ReadonlyMap<number, Moment>;
  readonly #sides = [new Side(), new Side()] as const;
  #last: Moment | undefined;

  constructor(scenario: string, flavour: Flavour, scene: Scene) {
    this.#scenario = scenario;
    this.#recorded = new Map(moments(scenario, flavour).map((moment) => [moment.index, moment]));
    this.scene = scene;
  }

  async step(index: number, step: Step): Promise<void> {
    const isSetUp = step.op.startsWith("Ensure");
    // What the API server refused of the author's own objects was never there.
    if (isSetUp && !step.ok) return;
    const at = `step ${index}: ${step.op} ${JSON.stringify(step.args)}`;
    this.scene.advance(step);
    const own = (await this.scene.stored()).blocks;
    const answer = await perform(this.scene, withOwnNumbers(step, this.#last?.blocks ?? [], own));
    const expected = expectedAnswer(this.#scenario, index, step);
    if (expected.number !== undefined) this.numbers.add(expected.number);
    if (expected.error === undefined) expect(answer.error, at).toBeUndefined();
    else expect(answer.error, at).toMatchObject(expected.error);
    if (!isSetUp) expect(plain(answer.result), at).toEqual(plain(expected.result));
    await this.#compareObjects(index, at);
  }

  async #compareObjects(index: number, at: string): Promise<void> {
    const moment = this.#recorded.get(index);
    if (!moment) return;
    this.#last = moment;
    const stored = await this.scene.stored();
    const { objects, numbers } = expectedObjects(this.#scenario, index, moment);
    for (const number of numbers) this.numbers.add(number);
    const [ours, theirs] = this.#sides;
    expect(ours.comparable(stored), at).toEqual(theirs.comparable(objects));
    expect(check(stored, { mode: "atRest", now: this.scene.now }), at).toEqual([]);
  }
}

/** As JSON has it; sequence numbers start from another moment in each run. */
const plain = (value: unknown) => JSON.parse(JSON.stringify(value ?? null).replaceAll(/"\d{16,}"/g, '"a number"'));
