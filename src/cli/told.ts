/**
 * Commands that people are told to run. Copied as they are, they must do what was meant: by the name that this program was
 * called by, and on the data that was looked at. Without its place, a command would change whatever kubectl points at.
 */

import { delimiter } from "node:path";
import { quoted } from "../judgement/shell.ts";
import type { PlaceOptions } from "./place.ts";
import { VERBS } from "./verbs.ts";

const COMMAND = /^(.*: )?((?:ipamctl|kubectl|calicoctl) .*)$/s;

/** `ipamctl gc` as `kubectl ipam gc --context prod`; also at the end of a sentence, after a colon. */
export function toldText(text: string, program: string, options: PlaceOptions): string {
  const [, sentence = "", command] = COMMAND.exec(text) ?? [];
  return command === undefined ? text : sentence + toldCommand(command, program, options);
}

function toldCommand(command: string, program: string, options: PlaceOptions): string {
  const [tool, ...words] = command.split(" ");
  if (tool === "ipamctl") return [program, ...words, ...placeFlags(words[0] ?? "", options)].join(" ");
  const { kubeconfig, context } = options;
  const isList = kubeconfig?.includes(delimiter); // kubectl takes a list by its variable only
  if (tool === "kubectl" && !isList) return [command, ...flags({ kubeconfig, context })].join(" ");
  const variable = kubeconfig === undefined ? [] : [`KUBECONFIG=${quoted(kubeconfig)}`];
  return [...variable, command, ...flags({ context })].join(" ");
}

/** A bundle is a copy: what changes something is for the cluster that it was taken of. */
function placeFlags(name: string, { kubeconfig, context, datastore, bundle }: PlaceOptions): string[] {
  const taken = VERBS.find((verb) => verb.name === name)?.flags.filter(({ hidden }) => !hidden) ?? [];
  const given = { kubeconfig, context, datastore: datastore === "auto" ? undefined : datastore, bundle };
  const isTaken = ([flag]: [string, unknown]) => taken.some((row) => row.flags.startsWith(`--${flag} `));
  return flags(Object.fromEntries(Object.entries(given).filter(isTaken)));
}

function flags(given: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(given).flatMap(([flag, value]) => (value === undefined ? [] : [`--${flag}`, quoted(value)]));
}
