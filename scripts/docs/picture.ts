/** Draws what a program prints on a terminal, colours included, as an SVG for light and dark pages. */

const [CELL, LINE, MARGIN, BAR] = [8.4, 19, 16, 34];

/** Classes by the code of SGR that sets them. Other codes are not drawn. */
const CLASSES: Readonly<Record<string, string>> = {
  "1": "b",
  "2": "d",
  "31": "r",
  "91": "r",
  "32": "g",
  "92": "g",
  "33": "y",
  "93": "y",
  "34": "u",
  "94": "u",
  "35": "m",
  "95": "m",
  "36": "c",
  "96": "c",
  "90": "d",
};

const STYLE = [
  "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;white-space:pre;fill:#1f2328}",
  ".f{fill:#f6f8fa;stroke:#d1d9e0}.o{fill:#d1d9e0}",
  ".b{font-weight:700}.d{fill:#59636e}.r{fill:#cf222e}.g{fill:#116329}.y{fill:#845306}.u{fill:#0550ae}.m{fill:#8250df}.c{fill:#1b7c83}",
  "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.f{fill:#0d1117;stroke:#3d444d}.o{fill:#3d444d}",
  ".d{fill:#9198a1}.r{fill:#ff7b72}.g{fill:#7ee787}.y{fill:#e3b341}.u{fill:#79c0ff}.m{fill:#d2a8ff}.c{fill:#76e3ea}}",
].join("");

interface Run {
  readonly text: string;
  readonly column: number;
  readonly classes: string;
}

/** @param columns of the terminal; longer lines are folded as a terminal folds them */
export function pictureOf(title: string, text: string, columns: number): string {
  const lines = text
    .trimEnd()
    .split("\n")
    .flatMap((line) => rowsOf(runsOf(line), columns));
  const [width, height] = [columns * CELL + 2 * MARGIN, lines.length * LINE + BAR + MARGIN];
  const drawn = lines.flatMap((runs, at) => runs.map((run) => textOf(run, BAR + (at + 1) * LINE - 5)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title><style>${STYLE}</style>`,
    `<rect class="f" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...[18, 36, 54].map((x) => `<circle class="o" cx="${x}" cy="17" r="5"/>`),
    ...drawn,
    "</svg>\n",
  ].join("\n");
}

/** Pieces of one style, where they begin. */
function runsOf(line: string): Run[] {
  const runs: Run[] = [];
  let [column, codes] = [0, [] as string[]];
  for (const [at, part] of line.split("\u001b[").entries()) {
    const end = at === 0 ? -1 : part.indexOf("m");
    if (at > 0) codes = afterSgr(codes, part.slice(0, end));
    const text = part.slice(end + 1);
    runs.push({ text, column, classes: [...new Set(codes.flatMap((code) => CLASSES[code] ?? []))].join(" ") });
    column += [...text].length;
  }
  return runs;
}

function afterSgr(codes: readonly string[], sgr: string): string[] {
  let now = [...codes];
  for (const code of sgr.split(";")) {
    if (code === "" || code === "0") now = [];
    else if (code === "39") now = now.filter((other) => other.length === 1);
    else if (code === "22") now = now.filter((other) => other !== "1" && other !== "2");
    else now.push(code);
  }
  return now;
}

/** A line, folded where the terminal ends. */
function rowsOf(runs: readonly Run[], columns: number): Run[][] {
  const rows: Run[][] = [[]];
  for (const { text, column, classes } of runs) {
    const letters = [...text];
    for (let at = 0; at < letters.length; ) {
      const [row, start] = [Math.floor((column + at) / columns), (column + at) % columns];
      const part = letters.slice(at, at + columns - start);
      rows[row] = [...(rows[row] ?? []), { text: part.join(""), column: start, classes }];
      at += part.length;
    }
  }
  return rows;
}

/** Words stand at their column whatever the reader's font is. */
function textOf({ text, column, classes }: Run, y: number): string {
  const words = [...text.matchAll(/\S+(?: \S+)*/g)].map(({ 0: word, index }) => {
    const before = [...text.slice(0, index)].length;
    const length = [...word].length;
    const x = number(MARGIN + (column + before) * CELL);
    return `<text x="${x}" y="${y}" textLength="${number(length * CELL)}"${classes ? ` class="${classes}"` : ""}>${escaped(word)}</text>`;
  });
  return words.join("");
}

const number = (value: number) => String(Math.round(value * 10) / 10);

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
