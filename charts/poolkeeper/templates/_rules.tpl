{{/* What the operator may do with Topics, wherever it watches them. */}}
{{- define "poolkeeper.topicRules" -}}
- apiGroups: [poolkeeper.dev]
  resources: [topics]
  verbs: [get, list, watch, patch]
- apiGroups: [poolkeeper.dev]
  resources: [topics/status]
  verbs: [patch]
{{- end }}

{{- define "poolkeeper.eventRules" -}}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end }}
