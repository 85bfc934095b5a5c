/** A folder to put on the PATH, whose programs do what shell scripts say: for what the real ones do when things are amiss. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class ScriptedPath implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "scripted-path-"));
  /** An environment in which these programs come first. */
  readonly env = { ...process.env, PATH: `${this.folder}:/usr/bin:/bin`, IPAM_OPERATOR_CACHE: this.folder };

  add(program: string, script: string): void {
    const file = join(this.folder, program);
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}
