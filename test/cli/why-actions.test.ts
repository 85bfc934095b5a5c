/** TRY-40: `why` leads with the true cause, and what it says to run clears that cause: done here, state by state. */
import { expect, it } from "vitest";
import { CAUSES, type CauseCode } from "../../src/judgement/why/codes.ts";
import { NOW } from "./sound.ts";
import { carryOut, nextAddresses, whyOn } from "./why-site.ts";
import { STATES } from "./why-states.ts";
import { siteOf } from "./writing-site.ts";

/** A block that is drained goes step by step. */
const MOST_ROUNDS = 4;

it.each(STATES.map((state) => [state.code, state.what, state] as const))("%s: %s", async (code, _what, state) => {
  const site = await siteOf(state.snapshot);
  const first = await whyOn(site, state.asked);
  expect(first.causes[0], first.summary).toMatchObject({ code });
  if (state.wait !== undefined) {
    const later = new Date(NOW.getTime() + state.wait * 1000);
    expect((await whyOn(site, state.asked, later)).state).not.toBe("fails");
    return;
  }
  let answer = first;
  for (let round = 0; answer.state === "fails" && round < MOST_ROUNDS; round++) {
    if (state.person && round === 0) await state.person(site);
    else await carryOut(site, answer.causes[0]!.command);
    answer = await whyOn(site, state.asked);
  }
  expect(answer.causes, answer.summary).toEqual([]);
  if (state.asked === undefined) expect(await nextAddresses(site)).toHaveLength(1);
});

it("every cause that a stored object shows is in the table", () => {
  const outside: readonly CauseCode[] = ["OtherIPAM", "NotAddresses"];
  const missing = (Object.keys(CAUSES) as CauseCode[]).filter(
    (code) => !outside.includes(code) && !STATES.some((state) => state.code === code),
  );
  expect(missing).toEqual([]);
});

it("no block of a node without blocks is called full", async () => {
  for (const state of STATES) {
    const site = await siteOf(state.snapshot);
    const { causes } = await whyOn(site, state.asked);
    for (const { message } of causes)
      expect(message).not.toMatch(/\b0 blocks (are|that are) full|which are full.*owns no/);
  }
});
