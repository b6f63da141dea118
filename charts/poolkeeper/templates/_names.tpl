{{/* Name of the chart, or nameOverride. */}}
{{- define "poolkeeper.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Name that starts those of all objects: the release's, with the chart's unless it holds it. */}}
{{- define "poolkeeper.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- $name := include "poolkeeper.name" . }}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | replace "." "-" | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* What selects the pods; never changes within a release. */}}
{{- define "poolkeeper.selectorLabels" -}}
app.kubernetes.io/name: {{ include "poolkeeper.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "poolkeeper.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{ include "poolkeeper.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: operator
app.kubernetes.io/part-of: poolkeeper
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Those of every object with an object's own over them: a key that is there twice is no YAML. */}}
{{- define "poolkeeper.labelsWith" -}}
{{- toYaml (mergeOverwrite (include "poolkeeper.labels" .root | fromYaml) (default dict .own)) }}
{{- end }}

{{/* What selects the pod of `helm test`. */}}
{{- define "poolkeeper.testSelectorLabels" -}}
app.kubernetes.io/name: {{ printf "%s-test" (include "poolkeeper.name" .) | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* Of the pod of `helm test`: not the operator's, whose budget and Deployment do not count it. */}}
{{- define "poolkeeper.testLabels" -}}
{{ include "poolkeeper.testSelectorLabels" . }}
app.kubernetes.io/part-of: poolkeeper
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Of the pod of live pages: not the operator's, whose Deployment does not count it. */}}
{{- define "poolkeeper.uiLabels" -}}
app.kubernetes.io/name: {{ printf "%s-ui" (include "poolkeeper.name" .) | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "poolkeeper.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "poolkeeper.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name is needed where serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Name of the Lease; the operator and its Role must agree. */}}
{{- define "poolkeeper.lease" -}}
{{- default (include "poolkeeper.fullname" .) .Values.operator.lease }}
{{- end }}

{{/* A digest wins over a tag; the tag is by default the chart's appVersion. */}}
{{- define "poolkeeper.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}
