import { defineConfig } from "vitest/config";

// Unit tests need nothing but Node; cluster tests (*.cluster.test.ts) talk to a real kube-apiserver and etcd,
// which test/control-plane builds once or finds.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["{src,reconcilers,rbac,scripts,test}/**/*.test.ts"],
          exclude: ["**/*.cluster.test.ts", "**/node_modules/**"],
          testTimeout: 20_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "cluster",
          include: ["{src,reconcilers,rbac,test}/**/*.cluster.test.ts"],
          globalSetup: ["test/control-plane/global-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 10_000, interval: 50 } },
          maxWorkers: 2,
          fileParallelism: true,
        },
      },
    ],
  },
});
