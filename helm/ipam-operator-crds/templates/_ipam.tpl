{{- /* Generated from scripts/chart by `npm run generate`. Do not edit. */ -}}
{{- define "ipam-operator-crds.v1" -}}
ipamblocks.crd.projectcalico.org blockaffinities.crd.projectcalico.org ipamhandles.crd.projectcalico.org ipamconfigs.crd.projectcalico.org ippools.crd.projectcalico.org ipreservations.crd.projectcalico.org
{{- end }}
{{- define "ipam-operator-crds.v3" -}}
ipamblocks.projectcalico.org blockaffinities.projectcalico.org ipamhandles.projectcalico.org ipamconfigurations.projectcalico.org ippools.projectcalico.org ipreservations.projectcalico.org
{{- end }}
