/** Everything of the two charts that is generated, by path. What is written by hand stands beside it in helm/. */
import { alertsTemplate } from "./alerts.ts";
import { crdsChart, operatorChart } from "./chart-yaml.ts";
import { crdTemplates } from "./crd-templates.ts";
import { dashboardFile } from "./dashboard.ts";
import { flagsTemplate } from "./flags.ts";
import { blockSizePolicyTemplate, policyTemplate } from "./policy-template.ts";
import { grantedTemplate, rbacTemplate } from "./rbac-template.ts";
import { crdsReadme, operatorReadme } from "./readme.ts";
import { schemaFile } from "./schema.ts";
import { GENERATED } from "./template.ts";
import { crdsValues, operatorValues } from "./values.ts";
import { valuesFile } from "./values-yaml.ts";

export function generateCharts(): Map<string, string> {
  const operator = {
    "Chart.yaml": operatorChart(),
    "README.md": operatorReadme(),
    "values.yaml": valuesFile(operatorValues),
    "values.schema.json": schemaFile(operatorValues),
    "files/dashboard.json": dashboardFile(),
    "templates/_flags.tpl": GENERATED + flagsTemplate(),
    "templates/_granted.tpl": grantedTemplate(),
    "templates/admissionpolicy.yaml": policyTemplate(),
    "templates/blocksizepolicy.yaml": blockSizePolicyTemplate(),
    "templates/prometheusrule.yaml": alertsTemplate(),
    "templates/rbac.yaml": rbacTemplate(),
  };
  const crds = {
    "Chart.yaml": crdsChart(),
    "README.md": crdsReadme(),
    "values.yaml": valuesFile(crdsValues),
    "values.schema.json": schemaFile(crdsValues),
    ...Object.fromEntries([...crdTemplates()].map(([name, text]) => [`templates/${name}`, text])),
  };
  return new Map([...inChart("ipam-operator", operator), ...inChart("ipam-operator-crds", crds)]);
}

const inChart = (chart: string, files: Record<string, string>): [path: string, content: string][] =>
  Object.entries(files).map(([name, content]) => [`helm/${chart}/${name}`, content]);
