{{/* What the schema cannot say: values that fit each for itself, and not together. Renders nothing. */}}
{{- define "poolkeeper.checks" -}}
{{- include "poolkeeper.checkVolumes" . }}
{{- include "poolkeeper.checkEnv" . }}
{{- include "poolkeeper.checkSpread" . }}
{{- include "poolkeeper.checkResources" (dict "name" "resources" "resources" .Values.resources) }}
{{- include "poolkeeper.checkResources" (dict "name" "ui.resources" "resources" .Values.ui.resources) }}
{{- end }}

{{- define "poolkeeper.checkVolumes" -}}
{{- $volumes := list }}
{{- range $n, $volume := .Values.extraVolumes }}
{{- if or (has $volume.name $volumes) (and $.Values.ui.enabled (eq $volume.name "token")) }}
{{- fail (printf "extraVolumes[%d].name: there is a volume %s already; give each a name of its own" $n $volume.name) }}
{{- end }}
{{- $volumes = append $volumes $volume.name }}
{{- end }}
{{- $volumes = prepend $volumes "tmp" }}
{{- $places := ternary (list "/etc/poolkeeper/ui") list .Values.ui.enabled }}
{{- range $n, $mount := .Values.extraVolumeMounts }}
{{- if not (has $mount.name $volumes) }}
{{- fail (printf "extraVolumeMounts[%d].name: there is no volume %s (expected one of %s); add it to extraVolumes" $n $mount.name (join ", " $volumes)) }}
{{- end }}
{{- if has $mount.mountPath $places }}
{{- fail (printf "extraVolumeMounts[%d].mountPath: something is mounted at %s already; mount it elsewhere" $n $mount.mountPath) }}
{{- end }}
{{- $places = append $places $mount.mountPath }}
{{- end }}
{{- end }}

{{- define "poolkeeper.checkEnv" -}}
{{- $names := list }}
{{- range $n, $variable := .Values.extraEnv }}
{{- if has $variable.name $names }}
{{- fail (printf "extraEnv[%d].name: there is a variable %s already; give each a name of its own" $n $variable.name) }}
{{- end }}
{{- $names = append $names $variable.name }}
{{- end }}
{{- end }}

{{- define "poolkeeper.checkSpread" -}}
{{- $known := list }}
{{- range $n, $each := .Values.topologySpreadConstraints }}
{{- $key := printf "%s, %s" $each.topologyKey $each.whenUnsatisfiable }}
{{- if has $key $known }}
{{- fail (printf "topologySpreadConstraints[%d]: there is one of %s already; leave one out" $n $key) }}
{{- end }}
{{- $known = append $known $key }}
{{- end }}
{{- end }}

{{/* Defaults are merged in: who raises a request alone has the chart's limit. */}}
{{- define "poolkeeper.checkResources" -}}
{{- $name := .name }}
{{- $limits := default dict .resources.limits }}
{{- range $what, $request := default dict .resources.requests }}
{{- if hasKey $limits $what }}
{{- $limit := get $limits $what }}
{{- if gt (include "poolkeeper.quantity" $request | float64) (include "poolkeeper.quantity" $limit | float64) }}
{{- fail (printf "%s.requests.%s of %v is above %s.limits.%s of %v; raise the limit as well" $name $what $request $name $what $limit) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A quantity of Kubernetes as a number. */}}
{{- define "poolkeeper.quantity" -}}
{{- $unit := regexFind "[a-zA-Z]+$" (toString .) }}
{{- $factors := dict "m" 0.001 "k" 1e3 "Ki" 1024 "M" 1e6 "Mi" 1048576 "G" 1e9 "Gi" 1073741824 "T" 1e12 "Ti" 1099511627776 }}
{{- mulf (trimSuffix $unit (toString .) | float64) (get $factors $unit | default 1) }}
{{- end }}
