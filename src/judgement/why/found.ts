/** What is looked at where pools have no room for a node, and how what is found is put. */
import type { IpVersion } from "../../net/address.ts";
import type { Inventory } from "../inventory.ts";
import type { Asking } from "./asking.ts";
import type { Moment } from "./causes.ts";
import type { Cause, CauseCode } from "./codes.ts";
import type { Room } from "./room.ts";

export interface Short {
  readonly inventory: Inventory;
  readonly asking: Asking;
  readonly version: IpVersion;
  readonly room: Room;
  readonly moment: Moment;
}

export type Found = Pick<Cause, "code" | "message" | "command">;
export const cause = (code: CauseCode, message: string, command: string): Found => ({ code, message, command });

const SHOWN = 3;

export function some(texts: readonly string[]): string {
  const rest = texts.length - SHOWN;
  return texts.slice(0, SHOWN).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

export const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;
