/** Writes the snapshot out. */
import type { Snapshot } from "../../judgement/snapshot.ts";
import type { Session } from "../session.ts";
import { bundleLines, writeBundle } from "../snapshot/bundle.ts";
import type { Given } from "../verb.ts";

export async function run(session: Session, { arguments: [path] }: Given): Promise<undefined> {
  const snapshot = await session.snapshot();
  if (path === "-") printLines(session, snapshot);
  else await writeBundle(snapshot, path!, session.signal);
  const { blocks, handles, pods = [] } = snapshot;
  session.say(`wrote ${blocks.length} blocks, ${handles.length} handles and ${pods.length} pods`);
}

function printLines({ stdout, signal }: Session, snapshot: Snapshot): void {
  for (const line of bundleLines(snapshot)) {
    signal.throwIfAborted();
    stdout.write(line);
  }
}
