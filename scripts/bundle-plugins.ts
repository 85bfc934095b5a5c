/** What the bundler leaves out, or loads late: the operator's memory and its start are what its libraries bring along. */
import { isBuiltin } from "node:module";
import { join } from "node:path";
import type { Plugin } from "esbuild";

/** @param external packages that are not bundled, so that nothing is cut from them */
export function bundlePlugins(root: string, external: readonly string[] = []): Plugin[] {
  const all = [commanderAlone(root), requiredBuiltins, onlyDispatchers(root), onlyKubeconfigs(root), onlyEnglish];
  return all.filter(({ name }) => name !== "only-dispatchers" || !external.includes("undici"));
}

/**
 * Built-in modules are required where they are first used. An `import` of one reads each of its exports, and with that
 * loads what stands behind the lazy ones: all of `fetch` behind `http`. And it is linked before the first line runs, so
 * that a Node without SQLite would fail before the check of its version.
 */
const requiredBuiltins: Plugin = {
  name: "required-builtins",
  setup({ onResolve, onLoad }) {
    // Each importer has its own few bytes for that: shared ones would be files of their own, and cost more to open.
    onResolve({ filter: /^[a-z]/ }, ({ path, kind, importer }) =>
      isBuiltin(path) && kind !== "require-call" ? { path, namespace: "builtin", suffix: `?${importer}` } : undefined,
    );
    onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule("${path}");`,
    }));
  },
};

/** Of Node's modules commander gets what it uses here: it never starts a program, and with that brings half of Node along. */
function commanderAlone(root: string): Plugin {
  const folder = join(root, "node_modules/commander/");
  const builtin = (path: string) => `process.getBuiltinModule("${path}")`;
  const contents: Readonly<Record<string, string>> = {
    "node:child_process": `export default { spawn: (...given) => ${builtin("node:child_process")}.spawn(...given) };`,
    "node:events": `export const { EventEmitter } = ${builtin("node:events")};`,
    "node:util": `export const { stripVTControlCharacters } = ${builtin("node:util")};`,
  };
  return {
    name: "commander-alone",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^node:/ }, ({ path, importer }) =>
        importer.startsWith(folder) ? { path, namespace: "commander-alone" } : undefined,
      );
      onLoad({ filter: /.*/, namespace: "commander-alone" }, ({ path }) => ({
        contents: contents[path] ?? `export default ${builtin(path)};`,
      }));
    },
  };
}

/** Of undici its dispatchers: no fetch, caches, mocks and sockets of its own; HTTP/2 only once a server speaks it. */
function onlyDispatchers(root: string): Plugin {
  const lib = join(root, "node_modules/undici/lib");
  const contents = {
    undici: `
      const Dispatcher = require("./dispatcher/dispatcher.js");
      Object.assign(Dispatcher.prototype, require("./api/index.js"));
      exports.Agent = require("./dispatcher/agent.js");
      exports.ProxyAgent = require("./dispatcher/proxy-agent.js");`,
    http2: 'module.exports = (...args) => require("./dispatcher/client-h2.js")(...args);',
  };
  return {
    name: "only-dispatchers",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: "only-dispatchers" }));
      onResolve({ filter: /\/client-h2\.js$/ }, ({ importer }) =>
        importer === join(lib, "dispatcher/client.js") ? { path: "http2", namespace: "only-dispatchers" } : undefined,
      );
      onLoad({ filter: /.*/, namespace: "only-dispatchers" }, ({ path }) => ({
        resolveDir: lib,
        contents: contents[path as keyof typeof contents],
      }));
    },
  };
}

/**
 * Of client-node only the reading of kubeconfigs is used. Imported whole it brings 6 MB of generated calls; entered by its
 * own module, with two modules in place of the index of all that is generated, and with the promise that they do nothing
 * by themselves, the bundler leaves the rest out.
 */
function onlyKubeconfigs(root: string): Plugin {
  const folder = join(root, "node_modules/@kubernetes/client-node/dist");
  const generated =
    'export { createConfiguration } from "./gen/configuration.js"; export { ServerConfiguration } from "./gen/servers.js";';
  return {
    name: "only-kubeconfigs",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^@kubernetes\/client-node$/ }, () => ({
        path: join(folder, "config.js"),
        sideEffects: false,
      }));
      onResolve({ filter: /^\.\/gen\/index\.js$/ }, ({ importer }) =>
        importer === join(folder, "config.js")
          ? { path: "generated", namespace: "only-kubeconfigs", sideEffects: false }
          : undefined,
      );
      onResolve({ filter: /^\.\.?\// }, ({ resolveDir, path }) =>
        resolveDir.startsWith(folder) ? { path: join(resolveDir, path), sideEffects: false } : undefined,
      );
      onLoad({ filter: /.*/, namespace: "only-kubeconfigs" }, () => ({ resolveDir: folder, contents: generated }));
    },
  };
}

/** zod brings its messages in fifty languages; only the English ones are ever asked for. */
const onlyEnglish: Plugin = {
  name: "only-english",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\/locales\/index\.js$/ }, ({ resolveDir }) => ({
      path: join(resolveDir, "../locales/en.js"),
      sideEffects: false,
    }));
  },
};
