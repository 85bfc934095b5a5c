{{- /* Names are fixed: there is one operator per cluster, as there is one Installation. */ -}}
{{- define "ipam-operator.selector" -}}
app.kubernetes.io/name: ipam-operator
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "ipam-operator.labels" -}}
{{ include "ipam-operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: operator
app.kubernetes.io/part-of: ipam-operator
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* The first part of a repository is a registry if it has a dot or a port, or is localhost: as container engines read it. */ -}}
{{- define "ipam-operator.repository" -}}
{{- with (.Values.global | default dict).imageRegistry -}}
{{ . }}/{{ regexReplaceAll "^([^/]*[.:][^/]*|localhost)/" $.Values.image.repository "" }}
{{- else -}}
{{ .Values.image.repository }}
{{- end -}}
{{- end }}

{{- define "ipam-operator.image" -}}
{{ include "ipam-operator.repository" . }}
{{- with .Values.image -}}
{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- define "ipam-operator.imagePullSecrets" -}}
{{- $secrets := list }}
{{- range concat ((.Values.global | default dict).imagePullSecrets | default list) (.Values.image.pullSecrets | default list) }}
{{- $secrets = append $secrets (ternary . (dict "name" .) (kindIs "map" .)) }}
{{- end }}
{{- with uniq $secrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* "true" where a given certificate is mounted. */ -}}
{{- define "ipam-operator.givenCertificate" -}}
{{- if and .Values.metrics.secure .Values.metrics.certSecret }}true{{ end -}}
{{- end }}

{{- /* "true" where the chart makes the role of those who read metrics. */ -}}
{{- define "ipam-operator.metricsReader" -}}
{{- if and .Values.rbac.create .Values.metrics.enabled .Values.metrics.secure }}true{{ end -}}
{{- end }}

{{- /* "true" where Helm has a cluster to look at: not in `helm template`. */ -}}
{{- define "ipam-operator.seesCluster" -}}
{{- if lookup "v1" "Namespace" "" "kube-system" }}true{{ end -}}
{{- end }}

{{- define "ipam-operator.knowsInstallations" -}}
{{- if .Capabilities.APIVersions.Has "ipam-operator.io/v1alpha1/Installation" }}true{{ end -}}
{{- end }}

{{- /* The Installation that is there, as YAML; nothing where there is none. */ -}}
{{- define "ipam-operator.foundInstallation" -}}
{{- if include "ipam-operator.knowsInstallations" . }}
{{- with lookup "ipam-operator.io/v1alpha1" "Installation" "" "default" }}{{ toYaml . }}{{ end }}
{{- end }}
{{- end }}

{{- /* A duration in microseconds, by way of a date, since Helm cannot read one otherwise. */ -}}
{{- define "ipam-operator.microseconds" -}}
{{- $start := toDate "2006" "2000" -}}
{{- ((dateModify . $start).Sub $start).Microseconds -}}
{{- end }}
