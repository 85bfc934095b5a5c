/** Which code is mended how. */
import * as affinities from "./affinities.ts";
import { BLOCK_FIXES } from "./block-fixes.ts";
import { byFix, deleteEmpty, finishDeletion } from "./blocks.ts";
import { removeBlock } from "./drain.ts";
import * as handles from "./handles.ts";
import type { Mender } from "./mending.ts";

export const MENDERS: Readonly<Record<string, Mender>> = {
  ...Object.fromEntries(Object.entries(BLOCK_FIXES).map(([code, fix]) => [code, byFix(fix)])),
  OverlappingBlocks: removeBlock,
  ForeignBlockSize: removeBlock,
  BlockOutsidePools: removeBlock,
  EmptyUnownedBlock: deleteEmpty,
  UnfinishedAffinity: affinities.finishClaim,
  ForeignAffinitySize: affinities.deleteDangling,
  DanglingAffinity: affinities.deleteDangling,
  ContradictingAffinity: affinities.deleteContradicting,
  BlockWithoutAffinity: affinities.addRow,
  AffinityOfGoneNode: affinities.giveUpOfGone,
  MissingLabels: affinities.writeLabels,
  WrongAffinityName: affinities.rename,
  OrphanHandle: handles.recount,
  OvercountedHandle: handles.recount,
  UndercountedHandle: handles.recount,
  MalformedHandle: handles.recount,
  MissingHandle: handles.createMissing,
  WrongHandleName: handles.rename,
  UnfinishedDeletion: finishDeletion,
};
