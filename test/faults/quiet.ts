/** When a client behind the proxy has come to rest. */
import type { FaultProxy, LoggedRequest } from "./proxy.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until nothing but watches, and what `usual` names, was asked for two seconds: a start takes as long as it takes. */
export async function comesToRest(proxy: FaultProxy, usual: (request: LoggedRequest) => boolean = () => false) {
  const unusual = () => proxy.requests.filter((request) => !request.watch && !usual(request)).length;
  for (let before = -1; before !== unusual(); ) {
    before = unusual();
    await pause(2000);
  }
}
