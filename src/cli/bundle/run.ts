/** Writes the snapshot out. */
import { plural } from "../../api/plural.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import type { Session } from "../session.ts";
import { bundleLines, writeBundle } from "../snapshot/bundle.ts";
import type { Given } from "../verb.ts";

export async function run(session: Session, { arguments: [path] }: Given): Promise<undefined> {
  const snapshot = await session.snapshot();
  if (path === "-") printLines(session, snapshot);
  else await writeBundle(snapshot, path!, session.signal);
  const { blocks, handles, pods = [] } = snapshot;
  session.say(
    `wrote ${plural(blocks.length, "block")}, ${plural(handles.length, "handle")} and ${plural(pods.length, "pod")}`,
  );
}

function printLines({ stdout, signal }: Session, snapshot: Snapshot): void {
  for (const line of bundleLines(snapshot)) {
    signal.throwIfAborted();
    stdout.write(line);
  }
}
