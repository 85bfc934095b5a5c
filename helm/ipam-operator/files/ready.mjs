// What `helm test` runs, with the Node of the operator's image: waits for /readyz to say yes, half a minute unless told
// otherwise, and prints what it says, which is what the operator still misses.
import { setTimeout as sleep } from "node:timers/promises";

const url = process.argv.at(-1);
const { PATIENCE_SECONDS = 30 } = process.env;
const patience = Date.now() + PATIENCE_SECONDS * 1000;

async function ask() {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
    return { ready: response.ok, text: `${response.status} ${(await response.text()).trim()}` };
  } catch (error) {
    return { ready: false, text: String(error.cause ?? error) };
  }
}

let answer = await ask();
while (!answer.ready && Date.now() < patience) {
  await sleep(1000);
  answer = await ask();
}
console.log(`${url}: ${answer.text}`);
process.exitCode = answer.ready ? 0 : 1;
