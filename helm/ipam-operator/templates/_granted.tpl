{{- /* Generated from scripts/chart by `npm run generate`. Do not edit. */ -}}
{{- define "ipam-operator.grantedRoles" -}}
ipam-operator:cni-plugin ipam-operator:node-agent ipam-operator:controllers ipam-operator:viewer ipam-operator:editor
{{- end }}
