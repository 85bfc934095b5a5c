/** What somebody may do, as `kubectl auth can-i --list` prints it. */
import type { Kubectl } from "../control-plane/kubectl.ts";

/** What everybody may do who is known to the cluster: ask what they may do. */
const EVERYBODY = /^selfsubject(accessreviews|rulesreviews|reviews)\./;

/** `verb resource.group` (and `/name` where it is for one object only); `who` are flags such as `--as=jane`. */
export async function canI({ kubectlOk }: Kubectl, who: readonly string[]): Promise<Set<string>> {
  const [header = "", ...rows] = (await kubectlOk(["auth", "can-i", "--list", ...who])).trimEnd().split("\n");
  const columns = ["Resources", "Non-Resource URLs", "Resource Names", "Verbs"].map((title) => header.indexOf(title));
  const cells = (row: string) => columns.map((from, at) => row.slice(from, columns[at + 1]).trim());
  return new Set(
    rows.map(cells).flatMap(([resource = "", , names = "", verbs = ""]) => permissionsIn(resource, names, verbs)),
  );
}

function permissionsIn(resource: string, names: string, verbs: string): string[] {
  if (resource === "" || EVERYBODY.test(resource)) return [];
  const objects = listed(names).map((name) => `/${name}`);
  return listed(verbs).flatMap((verb) =>
    (objects.length === 0 ? [""] : objects).map((object) => `${verb} ${resource}${object}`),
  );
}

/** `[get list]` */
const listed = (cell: string) => cell.slice(1, -1).split(" ").filter(Boolean);
