import { defineConfig } from "vitest/config";
import type { Flavour } from "./src/datastore/flavours.ts";
import { EMBEDDED_ONLY } from "./test/behaviour/files.ts";
import { InOrder } from "./test/e2e/order.ts";

// Unit tests need nothing but Node and less than a minute, tests that start or build programs (*.program.test.ts) nothing but
// Node; cluster tests (*.cluster.test.ts) talk to a real kube-apiserver and etcd, which test/control-plane builds once or
// finds; end-to-end tests (*.e2e.test.ts) share a kind cluster of test/kind.
// The library's crashes, lost races and random histories (test/ipam) need nothing but Node either, but a minute or two.
// The library's own tests are unit tests on the embedded store, and run once more on a real API server in each
// generation, one file after the other: a store is emptied for each test.
const libraryOn = (flavour: Flavour) => ({
  test: {
    name: `library-${flavour}`,
    include: ["src/ipam/*.test.ts"],
    exclude: [...EMBEDDED_ONLY],
    globalSetup: ["test/support/library-setup.ts"],
    provide: { libraryFlavour: flavour },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
    isolate: false, // one process for all files: the client's modules are loaded once
    sequence: { groupOrder: 1 },
  },
});

export default defineConfig({
  test: {
    sequence: { sequencer: InOrder },
    projects: [
      {
        test: {
          name: "unit",
          include: ["{src,reconcilers,rbac,scripts,test}/**/*.test.ts"],
          exclude: ["**/*.{program,cluster,e2e}.test.ts", "test/ipam/**", "**/node_modules/**"],
          testTimeout: 20_000,
          maxWorkers: 2,
          isolate: false, // one process for many files: modules are loaded once
        },
      },
      {
        test: {
          name: "programs",
          include: ["{src,scripts,test}/**/*.program.test.ts"],
          testTimeout: 90_000,
          hookTimeout: 90_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "library",
          include: ["test/ipam/*.test.ts"],
          exclude: ["**/*.cluster.test.ts"],
          testTimeout: 60_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "cluster",
          include: ["{src,reconcilers,rbac,test}/**/*.cluster.test.ts"],
          globalSetup: ["test/control-plane/global-setup.ts"],
          // Waiting ends when what is waited for is there; a busy machine may take this long.
          testTimeout: 180_000,
          hookTimeout: 180_000,
          expect: { poll: { timeout: 30_000, interval: 50 } },
          maxWorkers: 2,
          fileParallelism: true,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.e2e.test.ts"],
          globalSetup: ["test/e2e/cluster-setup.ts"],
          setupFiles: ["test/e2e/on-failure.ts"],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 60_000, interval: 300 } }, // each look is a kubectl, and the cluster needs the processor too
          maxWorkers: 1,
          isolate: false, // one process for all files: the image is built once
        },
      },
      libraryOn("v1"),
      libraryOn("v3"),
    ],
  },
});
