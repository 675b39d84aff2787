{{- /* The longest name that begins with it ends in -metrics-certificate, and a name of a Service has at most 63 characters. */ -}}
{{- define "vnfbench.name" -}}
{{- $name := .Values.nameOverride | default "vnfbench" }}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride }}
{{- else if contains $name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- /* The kubectl plugin finds the operator by this name, so no value changes it. */ -}}
{{- define "vnfbench.selector" -}}
app.kubernetes.io/name: vnfbench
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vnfbench.labels" -}}
{{ include "vnfbench.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- include "vnfbench.furtherLabels" (list "commonLabels" .Values.commonLabels) }}
{{- end }}

{{- /* vnfbench.furtherLabels takes a list: the name of a value, and its labels. Objects are found by the chart's labels, and roles get further rights by those of rbac.authorization.k8s.io. */ -}}
{{- define "vnfbench.furtherLabels" -}}
{{- $value := index . 0 }}
{{- $own := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart" }}
{{- range $label, $_ := index . 1 }}
{{- if or (has $label $own) (hasPrefix "rbac.authorization.k8s.io/" $label) }}
{{- fail (printf "%s has %s, which the chart sets itself: leave it out" $value $label) }}
{{- end }}
{{- end }}
{{- with index . 1 }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* vnfbench.podLabels takes a list: the name of a value, its labels, and the labels of the object as YAML. Pods have no version of the chart: Flux gives each commit another one, which would restart them. */ -}}
{{- define "vnfbench.podLabels" -}}
{{- toYaml (merge (include "vnfbench.furtherLabels" (list (index . 0) (index . 1)) | fromYaml) (omit (index . 2 | fromYaml) "helm.sh/chart")) }}
{{- end }}

{{- /* vnfbench.account takes a list: the name of a value, its service account, and the name of the account where the value has none. */ -}}
{{- define "vnfbench.account" -}}
{{- $value := index . 0 }}{{ $account := index . 1 | default dict }}
{{- if and (eq (toString $account.create) "false") (not $account.name) }}
{{- fail (printf "%s.create is false: name the service account in %s.name" $value $value) }}
{{- end }}
{{- if eq ($account.name | default "") "default" }}
{{- fail (printf "%s.name is default, which pods of the namespace have that name no account: name another" $value) }}
{{- end }}
{{- $account.name | default (index . 2) }}
{{- end }}

{{- define "vnfbench.serviceAccount" -}}
{{ include "vnfbench.account" (list "serviceAccount" .Values.serviceAccount (include "vnfbench.name" .)) }}
{{- end }}

{{- /* vnfbench.podSecurityContext takes a list: the root context, whether the pod has volumes for its group, and fields that win. */ -}}
{{- define "vnfbench.podSecurityContext" -}}
{{- $context := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") }}
{{- if ne ((index . 0).Values.podUsers | default "Fixed") "Assigned" }}
{{- $_ := set $context "runAsUser" 65532 }}
{{- $_ := set $context "runAsGroup" 65532 }}
{{- if index . 1 }}{{ $_ := set $context "fsGroup" 65532 }}{{ end }}
{{- end }}
{{- toYaml (mergeOverwrite $context (index . 2 | default dict)) }}
{{- end }}

{{- /* vnfbench.securityContext takes the fields that win. */ -}}
{{- define "vnfbench.securityContext" -}}
{{- toYaml (mergeOverwrite (dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL"))) (. | default dict)) }}
{{- end }}

{{- define "vnfbench.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- /* vnfbench.extraArgs gives the further flags, and refuses those that the chart depends on. */ -}}
{{- define "vnfbench.extraArgs" -}}
{{- $depends := dict "namespace" "watchNamespaces" "leader-elect" "leaderElection.enabled" "guest-consoles" "guestConsoles"
  "api-server-access" "apiServerAccess" "api-server-address" "apiServerAddresses" "api-server-port" "apiServerPorts"
  "subject-registry" "subjectImages.registries" "subject-registry-folder" "subjectImages.secret"
  "metrics-bind-address" "metrics.enabled" "metrics-secure" "metrics.secure" "metrics-certificate" "metrics.certificateSecret" "metrics-service" "metrics.certificateSecret"
  "image-pull-secret" "image.pullSecrets" "shutdown-timeout" "terminationGracePeriodSeconds"
  "await-archive" "results.enabled" "remove-archived-trials" "results.archive.removeTrials" }}
{{- $fixed := list "operator-namespace" "health-probe-bind-address" }}
{{- range .Values.extraArgs }}
{{- $flag := regexReplaceAll "^--?([^=]*).*" . "${1}" }}
{{- if hasKey $depends $flag }}
{{- fail (printf "extraArgs has %s: set %s, on which other objects of the chart depend too" . (get $depends $flag)) }}
{{- else if has $flag $fixed }}
{{- fail (printf "extraArgs has %s, on which other objects of the chart depend: leave it out" .) }}
{{- end }}
- {{ . | quote }}
{{- end }}
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

{{- /* So has the pod of `helm test`. */ -}}
{{- define "vnfbench.test.labels" -}}
{{ include "vnfbench.labelsWith" (list . (dict "app.kubernetes.io/name" "vnfbench-test")) }}
{{- end }}

{{- /* vnfbench.image takes a list: the root context and the image's name. */ -}}
{{- define "vnfbench.image" -}}
{{- $root := index . 0 }}{{- $name := index . 1 }}{{- $image := $root.Values.image }}
{{- $registry := required "image.registry is required: the registry that holds the images, such as registry.example.com/lab (see how-to/install.md of the vnfbench documentation)" $image.registry }}
{{- $digest := index $image.digests $name }}
{{- printf "%s/%s/%s" $registry $image.repository $name }}{{ if $digest }}@{{ $digest }}{{ else }}:{{ $image.tag | default $root.Chart.AppVersion }}{{ end }}
{{- end }}
