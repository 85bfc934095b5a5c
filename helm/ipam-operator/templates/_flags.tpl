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
- --feature-gates={{ . }}
{{- end }}
- --log-level={{ .Values.logs.level }}
- --log-encoding={{ .Values.logs.encoding }}
{{- end }}
