/** Chart.yaml of both charts: their version is the package's. */
import { stringify } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { INSTALLATION_API_VERSION, INSTALLATION_KIND } from "../../src/api/installation.ts";
import { KIND_DESCRIPTIONS } from "../../src/api/kind-schemas.ts";
import { installationResource } from "../../src/api/resources.ts";

const HEAD = "# Generated from scripts/chart and package.json by `npm run generate`. Do not edit.\n";

/** `-0` lets in the versions of vendors, such as v1.30.2-gke.1. */
const KUBERNETES = ">=1.30.0-0";

export const operatorChart = (): string =>
  chart("ipam-operator", "Keeps a cluster's IP address management as one Installation says, on Calico's data.", {
    "artifacthub.io/category": "networking",
    "artifacthub.io/license": manifest.license,
    "artifacthub.io/images": stringify([{ name: "ipam-operator", image: `ipam-operator:${manifest.version}` }]),
  });

export const crdsChart = (): string =>
  chart("ipam-operator-crds", "The CustomResourceDefinitions of ipam-operator.", {
    "artifacthub.io/category": "networking",
    "artifacthub.io/license": manifest.license,
    "artifacthub.io/crds": stringify([
      {
        kind: INSTALLATION_KIND,
        version: INSTALLATION_API_VERSION.split("/")[1],
        name: `${installationResource.plural}.${installationResource.group}`,
        displayName: INSTALLATION_KIND,
        description: KIND_DESCRIPTIONS.Installation,
      },
    ]),
  });

function chart(name: string, description: string, annotations: Record<string, string>): string {
  const { version } = manifest;
  const keywords = ["ipam", "calico", "operator", "networking"];
  const content = { apiVersion: "v2", name, description, type: "application", version, appVersion: version };
  return HEAD + stringify({ ...content, kubeVersion: KUBERNETES, keywords, annotations }, { lineWidth: 0 });
}
