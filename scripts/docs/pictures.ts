/** The terminal pictures of the documentation: what each shows. */
import { exampleCluster } from "../../test/support/example-cluster.ts";
import { pictureOf } from "./picture.ts";
import { openStage, type Stage } from "./stage.ts";

const WIDTHS = [80, 160] as const;
const SHOWN = {
  show: "ipamctl show",
  check: "ipamctl check",
  why: "ipamctl why web-3 -n shop",
  top: "ipamctl top",
} as const;
const MAP = "ipamctl show --map";

/** SVGs by path from the repository's root. */
export async function pictures(): Promise<Map<string, string>> {
  const stage = await openStage(exampleCluster);
  try {
    const drawn = new Map<string, string>();
    for (const [name, command] of Object.entries(SHOWN)) {
      for (const columns of WIDTHS)
        drawn.set(`docs/pictures/${name}-${columns}.svg`, await draw(stage, command, columns));
    }
    return drawn.set("docs/pictures/map.svg", await draw(stage, MAP, 80));
  } finally {
    await stage.close();
  }
}

async function draw(stage: Stage, command: string, columns: number): Promise<string> {
  const { text } = await stage.run(command, { columns, colour: true });
  return pictureOf(`${command}, ${columns} columns`, `\u001b[1m$ ${command}\u001b[0m\n${text}`, columns);
}
