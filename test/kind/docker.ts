/** A Docker engine, by its command-line client. */
import { type RunOptions, run } from "./processes.ts";

/** What `docker build` reads, and how its image is called. */
export interface ImageBuild {
  /** Folder that COPY copies from. */
  readonly context: string;
  /** Name and tag: "ipam-operator:test". */
  readonly tag: string;
  /** Build arguments. */
  readonly args?: Readonly<Record<string, string>>;
}

export class Docker {
  /** For programs that talk to the engine. */
  readonly env: NodeJS.ProcessEnv;

  /** The engine that `env` points to, by DOCKER_HOST or by docker's own defaults. */
  constructor(env: NodeJS.ProcessEnv = process.env) {
    this.env = env;
  }

  run(args: readonly string[], options: RunOptions = {}): Promise<string> {
    return run("docker", args, { env: this.env, ...options });
  }

  /** The lines that a listing command prints. */
  async list(args: readonly string[]): Promise<string[]> {
    return (await this.run(args)).split("\n").filter((line) => line !== "");
  }

  async hasImage(name: string): Promise<boolean> {
    return (await this.list(["image", "ls", "--quiet", name])).length > 0;
  }

  /** Builds an image; RUN has no network. */
  async build({ context, tag, args = {} }: ImageBuild): Promise<void> {
    const buildArgs = Object.entries(args).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]);
    await this.run(["build", "--network", "none", "--tag", tag, ...buildArgs, context]);
  }
}
