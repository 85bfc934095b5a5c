/** Which move a racer makes next. */
import { assignIP, autoAssign, recover, release, takeVm } from "./address-moves.ts";
import { claim, collectCold, configure, emptyPool, reserve } from "./other-moves.ts";
import { isVm, pick, type Racing } from "./racing.ts";
import { migrate } from "./vm-moves.ts";

const MOST_HELD = 10;
const WEIGHTS = [
  [40, autoAssign],
  [26, release],
  [12, assignIP],
  [7, takeVm],
  [8, claim],
  [3, reserve],
  [3, collectCold],
  [1, emptyPool],
] as const;
const MOVES = WEIGHTS.flatMap(([weight, make]) => Array<typeof make>(weight).fill(make));

/** Makes one move, and says whether it went well; an error that none may end in is written down. */
export async function move(racing: Racing): Promise<boolean> {
  try {
    await nextOf(racing);
    return true;
  } catch (error) {
    racing.note("failed", "", { error: textOf(error as Error) });
    return false;
  }
}

const textOf = (error: Error & { readonly code?: unknown }) => `${error.code ?? ""} ${error.stack}`.trim();

async function nextOf(racing: Racing): Promise<void> {
  const [cutOff] = racing.cutOff;
  if (cutOff !== undefined) return recover(racing, cutOff);
  if (racing.held.size >= MOST_HELD) return release(racing);
  if (racing.options.racer < 2 && Math.random() < 0.05) return configure(racing);
  const vms = [...racing.held.keys()].filter(isVm);
  if (vms.length > 0 && Math.random() < 0.08) return migrate(racing, vms);
  const make = pick(MOVES);
  return make === release && racing.held.size === 0 ? autoAssign(racing) : make(racing);
}
