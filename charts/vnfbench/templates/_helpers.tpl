{{- define "vnfbench.name" -}}
{{- if contains "vnfbench" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-vnfbench" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "vnfbench.selector" -}}
app.kubernetes.io/name: vnfbench
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vnfbench.labels" -}}
{{ include "vnfbench.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* vnfbench.labelsWith takes a list: the root context and further labels, which win. */ -}}
{{- define "vnfbench.labelsWith" -}}
{{- toYaml (merge (dict) (index . 1) (include "vnfbench.labels" (index . 0) | fromYaml)) }}
{{- end }}

{{- /* The results service has another name: what selects the manager's pods must not select its own. */ -}}
{{- define "vnfbench.results.selector" -}}
app.kubernetes.io/name: vnfbench-results
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vnfbench.results.labels" -}}
{{ include "vnfbench.labelsWith" (list . (include "vnfbench.results.selector" . | fromYaml)) }}
{{- end }}

{{- /* vnfbench.image takes a list: the root context and the image's name. */ -}}
{{- define "vnfbench.image" -}}
{{- $root := index . 0 }}{{- $name := index . 1 }}{{- $image := $root.Values.image }}
{{- $registry := required "image.registry is required: the registry that holds the images, such as registry.example.com/lab (see docs/how-to/install.md)" $image.registry }}
{{- $digest := index $image.digests $name }}
{{- printf "%s/%s/%s" $registry $image.repository $name }}{{ if $digest }}@{{ $digest }}{{ else }}:{{ $image.tag | default $root.Chart.AppVersion }}{{ end }}
{{- end }}
