{{- /* Generated from scripts/chart by `npm run generate`. Do not edit. */ -}}
{{- define "ipam-operator.flags" -}}
- --datastore={{ .Values.operator.datastore }}
- --metrics-secure={{ .Values.metrics.secure }}
- --leader-elect={{ .Values.leaderElection.enabled }}
- --leader-elect-lease-duration={{ .Values.leaderElection.leaseDuration }}
- --leader-elect-renew-deadline={{ .Values.leaderElection.renewDeadline }}
- --leader-elect-retry-period={{ .Values.leaderElection.retryPeriod }}
- --leader-elect-release-on-cancel={{ .Values.leaderElection.releaseOnCancel }}
- --concurrent={{ .Values.operator.concurrent | int }}
- --resync-period={{ .Values.operator.resyncPeriod }}
- --reconcile-timeout={{ .Values.operator.reconcileTimeout }}
- --graceful-shutdown-timeout={{ .Values.operator.gracefulShutdownTimeout }}
- --kube-api-qps={{ .Values.operator.kubeApiQps | int }}
- --kube-api-burst={{ .Values.operator.kubeApiBurst | int }}
- --watch-idle-timeout={{ .Values.operator.watchIdleTimeout }}
- --discovery-period={{ .Values.operator.discoveryPeriod }}
{{- with .Values.operator.featureGates }}
- {{ printf "--feature-gates=%s" . | quote }}
{{- end }}
- --log-level={{ .Values.logs.level }}
- --log-encoding={{ .Values.logs.encoding }}
{{- end }}

{{- define "ipam-operator.flagValues" -}}
"--datastore": operator.datastore
"--rbac-subjects": rbac.subjects
"--metrics-bind-address": metrics.port
"--metrics-secure": metrics.secure
"--metrics-cert-dir": metrics.certSecret
"--health-probe-bind-address": probes.port
"--leader-elect": leaderElection.enabled
"--leader-elect-lease-duration": leaderElection.leaseDuration
"--leader-elect-renew-deadline": leaderElection.renewDeadline
"--leader-elect-retry-period": leaderElection.retryPeriod
"--leader-elect-release-on-cancel": leaderElection.releaseOnCancel
"--concurrent": operator.concurrent
"--resync-period": operator.resyncPeriod
"--reconcile-timeout": operator.reconcileTimeout
"--graceful-shutdown-timeout": operator.gracefulShutdownTimeout
"--kube-api-qps": operator.kubeApiQps
"--kube-api-burst": operator.kubeApiBurst
"--watch-idle-timeout": operator.watchIdleTimeout
"--discovery-period": operator.discoveryPeriod
"--feature-gates": operator.featureGates
"--log-level": logs.level
"--log-encoding": logs.encoding
{{- end }}

{{- define "ipam-operator.times" -}}
"leaderElection.leaseDuration": {{ .Values.leaderElection.leaseDuration | quote }}
"leaderElection.renewDeadline": {{ .Values.leaderElection.renewDeadline | quote }}
"leaderElection.retryPeriod": {{ .Values.leaderElection.retryPeriod | quote }}
"operator.resyncPeriod": {{ .Values.operator.resyncPeriod | quote }}
"operator.reconcileTimeout": {{ .Values.operator.reconcileTimeout | quote }}
"operator.gracefulShutdownTimeout": {{ .Values.operator.gracefulShutdownTimeout | quote }}
"operator.watchIdleTimeout": {{ .Values.operator.watchIdleTimeout | quote }}
"operator.discoveryPeriod": {{ .Values.operator.discoveryPeriod | quote }}
{{- end }}
