{{- define "poolkeeper.plannerName" -}}
{{- printf "%s-planner" (include "poolkeeper.fullname" .) }}
{{- end }}

{{- define "poolkeeper.plannerAccount" -}}
{{- if .Values.planner.serviceAccount.create }}
{{- default (include "poolkeeper.plannerName" .) .Values.planner.serviceAccount.name }}
{{- else }}
{{- required "planner.serviceAccount.name is needed where planner.serviceAccount.create is false" .Values.planner.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Of pods that plan. Not the operator's: its budget and its Deployment do not count them. */}}
{{- define "poolkeeper.plannerLabels" -}}
app.kubernetes.io/name: {{ printf "%s-planner" (include "poolkeeper.name" .) | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* Whom the operator and planning pods talk to, beside name servers. */}}
{{- define "poolkeeper.egress" -}}
{{- $found := list .Values.networkPolicy.apiServer .Values.networkPolicy.kafka }}
{{- if and .Values.planner.image .Values.planner.storage }}
{{- $found = append $found .Values.networkPolicy.storage }}
{{- end }}
{{- toYaml $found }}
{{- end }}

{{/* Rules of egress to them and to name servers. */}}
{{- define "poolkeeper.egressRules" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- range include "poolkeeper.egress" . | fromYamlArray }}
- ports:
    {{- range .ports }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Settings of planning pods, as the operator reads them. */}}
{{- define "poolkeeper.plannerSettings" -}}
{{- $labels := merge (include "poolkeeper.plannerLabels" . | fromYaml) (default dict .Values.commonLabels) }}
{{- $planner := .Values.planner }}
{{- dict
  "image" $planner.image
  "pull_policy" $planner.pullPolicy
  "pull_secrets" .Values.image.pullSecrets
  "account" (include "poolkeeper.plannerAccount" .)
  "executors" $planner.executors
  "cores" $planner.cores
  "memory_mib" $planner.memoryMiB
  "retries" $planner.retries
  "deadline_s" $planner.deadlineSeconds
  "ttl_s" $planner.ttlSecondsAfterFinished
  "tmp_size" $planner.tmpSizeLimit
  "labels" $labels
  "node_selector" $planner.nodeSelector
  "tolerations" $planner.tolerations
  "priority_class" $planner.priorityClassName
  "pod_security" .Values.podSecurityContext
  "security" .Values.securityContext
  "conf" $planner.conf
  "storage" $planner.storage
  "storage_secret" $planner.storageSecret
  | toJson }}
{{- end }}
