/** Every verb, in the order of the help. Only how they are called: their code is loaded when one is. */
import type { Verb } from "./verb.ts";
import { assign } from "./verbs/assign.ts";
import { bundle } from "./verbs/bundle.ts";
import { check } from "./verbs/check.ts";
import { completion } from "./verbs/completion.ts";
import { configure } from "./verbs/configure.ts";
import { explain } from "./verbs/explain.ts";
import { gc } from "./verbs/gc.ts";
import { plan } from "./verbs/plan.ts";
import { release } from "./verbs/release.ts";
import { repair } from "./verbs/repair.ts";
import { show } from "./verbs/show.ts";
import { split } from "./verbs/split.ts";
import { top } from "./verbs/top.ts";
import { version } from "./verbs/version.ts";
import { why } from "./verbs/why.ts";

export const VERBS: readonly Verb[] = [
  show,
  why,
  top,
  plan,
  check,
  explain,
  release,
  configure,
  assign,
  gc,
  repair,
  split,
  bundle,
  version,
  completion,
];
