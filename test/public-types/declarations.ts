/** What `import … from "ipam-operator"` shows: the emitted declarations, walked from src/index.d.ts along every type they name. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import {
  isClassDeclaration,
  isIdentifier,
  isInterfaceDeclaration,
  isTypeAliasDeclaration,
  isTypeLiteralNode,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast";
import { API, type Checker, type NodeHandle, SymbolFlags, type Symbol as TypeSymbol } from "typescript/unstable/sync";

const root = join(import.meta.dirname, "../..");

/** A declaration that a user of the library can see. */
export interface Declared {
  readonly name: string;
  /** Such as `src/ipam/client`. */
  readonly module: string;
  readonly kind: string;
  readonly exported: boolean;
  readonly doc: string;
  /** `@throws` tags, a text each. */
  readonly throws: readonly string[];
  /** Of an interface, a class or an object type. */
  readonly members: readonly Pick<Declared, "name" | "doc" | "throws">[];
}

/** Emits the declarations and reads what can be seen from the index. */
export function publicDeclarations(): Declared[] {
  const dir = mkdtempSync(join(root, "node_modules/.declarations-"));
  try {
    emit(dir);
    return read(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function emit(dir: string): void {
  const config = {
    extends: join(root, "tsconfig.build.json"),
    compilerOptions: { emitDeclarationOnly: true, outDir: dir, rootDir: root },
    files: [join(root, "src/index.ts")],
    include: [],
  };
  writeFileSync(join(dir, "emit.json"), JSON.stringify(config));
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", join(dir, "emit.json")], { encoding: "utf8" });
  if (status !== 0) throw new Error(`tsc ended with ${status}: ${stdout}`);
}

function read(dir: string): Declared[] {
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: { rootDir: dir },
    files: [join(dir, "src/index.d.ts")],
    include: [],
  };
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(config));
  const api = new API({ cwd: dir });
  try {
    const project = api.updateSnapshot({ openProject: join(dir, "tsconfig.json") }).getProjects()[0]!;
    const index = project.program.getSourceFile(join(dir, "src/index.d.ts"))!;
    return new Walk(project.checker, dir).from(project.checker.getSymbolAtLocation(index)!);
  } finally {
    api.close();
  }
}

/** Declarations that stand for themselves in a module; what stands inside one belongs to it. */
const TOP_LEVEL = [
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.ClassDeclaration,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.VariableDeclaration,
];

class Walk {
  readonly #checker: Checker;
  readonly #dir: string;
  readonly #found = new Map<number, Declared>();

  constructor(checker: Checker, dir: string) {
    this.#checker = checker;
    this.#dir = dir;
  }

  from(index: TypeSymbol): Declared[] {
    for (const symbol of this.#checker.getExportsOfModule(index)) this.#visit(symbol, true);
    return [...this.#found.values()];
  }

  #visit(named: TypeSymbol, exported: boolean): void {
    const symbol = named.flags & SymbolFlags.Alias ? this.#checker.getAliasedSymbol(named) : named;
    const handles = symbol.declarations.filter((handle) => this.#isOurs(handle));
    if (handles.length === 0 || (this.#found.has(symbol.id) && !exported)) return;
    const known = this.#found.get(symbol.id);
    this.#found.set(symbol.id, known ? { ...known, exported: true } : this.#declared(symbol, handles[0]!, exported));
    if (known) return;
    const identifiers = handles.flatMap((handle) => identifiersIn(handle.resolve()!));
    for (const next of this.#checker.getSymbolAtLocation(identifiers)) if (next) this.#visit(next, false);
  }

  #isOurs({ path, kind }: NodeHandle): boolean {
    return path.startsWith(`${this.#dir}/`) && TOP_LEVEL.includes(kind);
  }

  #declared(symbol: TypeSymbol, handle: NodeHandle, exported: boolean): Declared {
    return {
      ...this.#documented(symbol),
      module: relative(this.#dir, handle.path).replace(/\.d\.ts$/, ""),
      kind: SyntaxKind[handle.kind]!,
      exported,
      members: membersOf(handle.resolve()!).flatMap((name) => {
        const member = this.#checker.getSymbolAtLocation(name);
        return member ? [this.#documented(member)] : [];
      }),
    };
  }

  #documented(symbol: TypeSymbol) {
    const tags = this.#checker.getJsDocTagsOfSymbol(symbol);
    return {
      name: symbol.name,
      doc: this.#checker.getDocumentationCommentOfSymbol(symbol),
      throws: tags.flatMap(({ name, text }) => (name === "throws" ? [String(text)] : [])),
    };
  }
}

function identifiersIn(node: Node): Node[] {
  const found: Node[] = isIdentifier(node) ? [node] : [];
  node.forEachChild((child) => void found.push(...identifiersIn(child)));
  return found;
}

/** The names of members; constructors and private members have none that a user can name. */
function membersOf(node: Node): Node[] {
  const type = isTypeAliasDeclaration(node) ? node.type : node;
  const hasMembers = isInterfaceDeclaration(type) || isClassDeclaration(type) || isTypeLiteralNode(type);
  if (!hasMembers) return [];
  return [...type.members].flatMap((member) => {
    const { name } = member as { readonly name?: Node };
    return name && isIdentifier(name) ? [name] : [];
  });
}
