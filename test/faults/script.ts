/** The faults a test has scripted: which request meets which, and how often still. */
import { type Answer, type AnswerOptions, expiredAnswer, expiredEvent, failureAnswer } from "./answers.ts";
import { type LoggedRequest, type Match, matches } from "./requests.ts";

/** What happens to a request on its way. `wait` goes on afterwards; the others decide what the client gets. */
export type Fault =
  | { readonly kind: "wait"; readonly run: () => Promise<void> }
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "alter"; readonly alter: (answer: Answer) => Answer }
  | { readonly kind: "reset"; readonly afterUpstream: boolean };

interface Rule {
  readonly match: Match;
  readonly fault: Fault;
  left: number;
}

/** Scripts faults. Each method's `times` counts matching requests; `Infinity` means until `clear()`. */
export interface FaultScript {
  /** Answers without asking the server: 429 with Retry-After, 500, 503, 403, 415 ... */
  fail(match: Match, options: AnswerOptions & { readonly times: number }): void;
  /** Holds the request back before it reaches the server. */
  delay(match: Match, ms: number, times: number): void;
  /** Runs `action`, such as another writer's change, before the request reaches the server. */
  before(match: Match, action: () => Promise<unknown>, times: number): void;
  /** Resets the connection before the request reaches the server, or (`afterUpstream`) when the server has answered. */
  reset(match: Match, times: number, options?: { readonly afterUpstream?: boolean }): void;
  /** 410 for a watch: as HTTP status, or as an ERROR event inside a 200 answer. */
  expireWatch(match: Match, times: number, options: { readonly inStream: boolean }): void;
  /** Asks for each request which fault it meets, until `clear()`; undefined: the scripted ones, if any. */
  meet(choose: (request: LoggedRequest) => Fault | undefined): void;
}

/** The script and its reader: `take` yields what this request meets and counts it. */
export function createScript(): FaultScript & { take(request: LoggedRequest): Fault[]; clear(): void } {
  let rules: Rule[] = [];
  let chosen: (request: LoggedRequest) => Fault | undefined = () => undefined;
  const add = (match: Match, times: number, fault: Fault) => {
    rules.push({ match, fault, left: times });
  };
  return {
    fail: (match, { times, ...options }) => add(match, times, { kind: "answer", answer: failureAnswer(options) }),
    delay: (match, ms, times) => add(match, times, { kind: "wait", run: () => pause(ms) }),
    before: (match, action, times) => add(match, times, { kind: "wait", run: async () => void (await action()) }),
    reset: (match, times, { afterUpstream = false } = {}) => add(match, times, { kind: "reset", afterUpstream }),
    expireWatch: (match, times, { inStream }) =>
      add({ ...match, watch: true }, times, { kind: "answer", answer: inStream ? expiredEvent : expiredAnswer }),
    meet: (choose) => {
      chosen = choose;
    },
    take(request) {
      const fault = chosen(request);
      if (fault) return [fault];
      const taken = untilDecided(rules.filter(({ match, left }) => left > 0 && matches(match, request)));
      for (const rule of taken) rule.left -= 1;
      return taken.map(({ fault }) => fault);
    },
    clear() {
      rules = [];
      chosen = () => undefined;
    },
  };
}

/** Every wait up to the first fault that decides the answer; what stands behind it is for the next request. */
function untilDecided(rules: Rule[]): Rule[] {
  const decisive = rules.findIndex(({ fault }) => fault.kind !== "wait");
  return decisive < 0 ? rules : rules.slice(0, decisive + 1);
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
