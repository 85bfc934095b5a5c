/** Objects put into the file of an embedded store as they are, as another program or an older version may have left them. */

import { openEmbedded } from "../../src/datastore/embedded.ts";
import { openDatabase } from "../../src/datastore/embedded-database.ts";
import { Tables } from "../../src/datastore/embedded-tables.ts";
import { printJson } from "../../src/kube/json.ts";

interface Row {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

export async function putRows(path: string, ...objects: readonly Row[]): Promise<void> {
  await openEmbedded(path).close();
  const database = openDatabase(path);
  const tables = new Tables(database, 100);
  for (const object of objects) {
    const { kind, metadata } = object;
    const uid = `uid-of-${metadata.name}`;
    const json = printJson({ ...object, metadata: { ...metadata, uid, generation: 1 } });
    tables.put("ADDED", kind, { name: metadata.name, uid, json });
  }
  database.close();
}
