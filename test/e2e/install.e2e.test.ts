/**
 * docs/install.md, command after command from its text, on a cluster that has nothing of ours; and what a person sees then.
 * Its end, how it is uninstalled, is followed in uninstall.e2e.test.ts: the files between use what is installed here.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { e2eShell } from "./cluster.ts";
import { installPage } from "./page.ts";
import { onceARun, PRODUCT, withoutProduct } from "./product.ts";

const shell = e2eShell();
const printed = new Map<string, string>();
beforeAll(() => withoutProduct());

/** One test for each command under a heading. */
function follow(heading: string, run = shell): void {
  it.each(installPage(heading))("%s", async (command) => {
    printed.set(command, await run(command));
  });
}
/** What the page's last command that begins like this has printed. */
const said = (beginning: string) =>
  [...printed].findLast(([command]) => command.startsWith(beginning))?.[1] ?? `${beginning} was not run`;
const get = async (what: string, path: string) => shell(`kubectl get ${what} --output 'jsonpath=${path}'`);
const installationNow = () => get("ipaminst default", "{.metadata.uid} {.metadata.generation} {.spec}");

describe("The image", () => follow("The image", onceARun));

describe("Install", () => {
  follow("Install");

  it("has waited: two replicas are ready, each on a node of its own", async () => {
    expect(await get(`deployment ${PRODUCT} -n ${PRODUCT}`, "{.status.readyReplicas}")).toBe("2");
    const component = `-n ${PRODUCT} -l app.kubernetes.io/component=operator`;
    const nodes = await get(`pods ${component}`, "{.items[*].spec.nodeName}");
    expect(new Set(nodes.split(" ")).size).toBe(2);
  });

  it("`helm test` has asked the operator's Service, and shown its answer", () => {
    expect(said("helm test")).toMatch(/Phase: +Succeeded.*\/readyz: 200 ok/s);
  });

  it("nothing is written yet: the first Installation only observes", async () => {
    expect(await get("ipaminst default", "{.spec.managementPolicy}")).toBe("Observe");
    expect(await get("ipamconfigurations.projectcalico.org", "{.items}")).toBe("[]");
  });
});

describe("Use", () => {
  follow("Use");

  it("the Installation answers, and the configuration is as it says", () => {
    expect(said("kubectl get ipaminst")).toMatch(/^default +True +Succeeded +Enforce +false +0 +60 +the stored /m);
    expect(said("kubectl get ipamconfigurations")).toMatch(/^ {2}ipCooldownSeconds: 60$/m);
  });

  follow("Who may do what");

  it("a member of the group may now edit", () => {
    expect(said("kubectl auth can-i")).toBe("yes\n");
  });
});

describe("Upgrade and roll back", () => {
  let user: string;
  beforeAll(async () => {
    user = await installationNow();
  });

  follow("Upgrade and roll back");

  it("ends in a release that is deployed, with the Installation as the user left it", async () => {
    expect(await shell(`helm history ${PRODUCT} -n ${PRODUCT} --max 1`)).toMatch(/\tdeployed *\t.*Rollback to /);
    expect(await installationNow()).toBe(user);
  });
});
