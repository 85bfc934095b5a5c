/** The answer for people: one line, then the causes with what mends each, then what it rests on. */

import { plural } from "../../api/plural.ts";
import { disabledBecause } from "../../ipam/pools.ts";
import type { Inventory } from "../../judgement/inventory.ts";
import type { FamilyVerdict } from "../../judgement/why/causes.ts";
import { CAUSES, type Cause } from "../../judgement/why/codes.ts";
import type { Holding } from "../../judgement/why/room.ts";
import type { Output, TextStyle } from "../output.ts";
import { fieldsText, sentencesText } from "../table.ts";
import type { WhyReport } from "./report.ts";

export function whyOutput(report: WhyReport, inventory: Inventory): Output {
  const { families, ...known } = report;
  const causes = known.causes.map((cause) => ({ ...cause, does: CAUSES[cause.code].does }));
  const value = { ...known, causes, families: families.map((verdict) => familyValue(verdict, inventory)) };
  return {
    kind: "Why",
    value,
    names: report.causes.map(({ code, family }) => [code, family].filter(Boolean).join(" ")),
    text: (style) =>
      [
        sentencesText([report.summary], style, ""),
        causesText(report.causes, style),
        restsOn(report, inventory, style),
      ].join(""),
  };
}

function familyValue({ family, causes, room }: FamilyVerdict, { cap }: Inventory) {
  const { usable, own, others, counted, contradicting, claimable, remade } = room;
  return {
    family,
    pools: usable.map(({ name }) => name),
    blocks: { counted, limit: cap, contradicting, remakes: remade.length > 0, ...holdingValue(own) },
    othersBlocks: holdingValue(others),
    claimable,
    causes: causes.map(({ code }) => code),
  };
}

const holdingValue = ({ blocks: _blocks, ...counts }: Holding) => counts;

function causesText(causes: readonly Cause[], style: TextStyle): string {
  return causes
    .map(({ code, family, message, command }) =>
      paragraph([family, code], [message, `to do: ${CAUSES[code].does}`, `next: ${command}`], style),
    )
    .join("");
}

function paragraph(heading: readonly (string | undefined)[], body: readonly string[], style: TextStyle): string {
  const lines = [heading.filter(Boolean).join(" "), ...body.map((line) => `  ${line}`)];
  return `\n${sentencesText(lines, style)}`;
}

function restsOn({ node, families, events, askedPools }: WhyReport, inventory: Inventory, style: TextStyle): string {
  const { config } = inventory;
  if (families.length === 0 && events.length === 0) return "";
  const fields: [string, string][] = families.flatMap((verdict) => familyFields(verdict, node ?? "", inventory));
  const settings = `strictAffinity ${config.strictAffinity}, autoAllocateBlocks ${config.autoAllocateBlocks}, ipCooldownSeconds ${config.ipCooldownSeconds}`;
  if (askedPools) fields.push(["Asked for", askedPools.join(", ")]);
  if (families.length > 0) fields.push(["Configuration", settings]);
  for (const { lastSeen, count, message } of events) fields.push([`Event ${lastSeen}`, `${count} times: ${message}`]);
  return `\n${fieldsText(fields, style)}`;
}

function familyFields({ family, room }: FamilyVerdict, node: string, inventory: Inventory): [string, string][] {
  const { own, others, counted, usable } = room;
  const pools = inventory.pools.filter(({ cidr }) => `IPv${cidr.version}` === family);
  return [
    [`${family} blocks`, `${counted} of at most ${inventory.cap} of ${node}: ${holdingText(own)}`],
    [`${family} elsewhere`, `${plural(others.blocks.length, "block")} of others in its pools: ${holdingText(others)}`],
    ...pools.map((pool): [string, string] => {
      const { nodeSelector = "", allowedUses } = { allowedUses: pool.allowedUses, ...pool.source.spec };
      const may = usable.includes(pool) ? "may be drawn from" : (disabledBecause(pool) ?? "is not for it");
      const words = [`uses ${allowedUses?.join(", ")}`, `selects ${nodeSelector || "all()"}`];
      return [`Pool ${pool.name}`, `${pool.source.spec.cidr} ${may}; ${words.join("; ")}`];
    }),
  ];
}

function holdingText({ addresses, free, cooling, reserved, nextFree }: Holding): string {
  const parts = [`${free} of ${addresses} addresses free`];
  if (cooling > 0) parts.push(`${cooling} cooling down, the next free at ${nextFree}`);
  if (reserved > 0) parts.push(`${reserved} reserved`);
  return parts.join(", ");
}
