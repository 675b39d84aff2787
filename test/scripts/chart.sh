#!/usr/bin/env bash
# Lints the chart, runs its tests (helm-unittest, charts/vnfbench/tests), renders it by Helm 3 and by Helm 4
# with the values that people use and with those that it must refuse, checks that the kustomize bases render, that config/default
# is what the chart gives, and that Kubernetes knows every field of both.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${HELM:?path of helm}" "${HELM_4:?path of Helm 4}" "${HELM_UNITTEST:?path of helm-unittest}" "${KUSTOMIZE:?path of kustomize}" "${KUBECONFORM:?path of kubeconform}" "${KUBE_SCHEMAS:?folder of test/scripts/kube-schemas.sh}" "${PLUGIN:?path of kubectl-vnfbench}"
HELM=$(realpath "$HELM") KUSTOMIZE=$(realpath "$KUSTOMIZE") PLUGIN=$(realpath "$PLUGIN")
export HELM KUSTOMIZE PLUGIN
chart=charts/vnfbench passed=0 failed=0
ok() { # ok NAME COMMAND...
  local name=$1 out; shift
  if out=$("$@" 2>&1); then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $name"; tail -5 <<<"$out"; fi
}
refused() { # refused NAME TEXT COMMAND...: must fail and say TEXT
  local name=$1 text=$2 out; shift 2
  if out=$("$@" 2>&1); then failed=$((failed + 1)); echo "FAIL $name: was accepted"
  elif grep -qF -- "$text" <<<"$out"; then passed=$((passed + 1))
  else failed=$((failed + 1)); echo "FAIL $name: does not say '$text':"; tail -3 <<<"$out"; fi
}
rendered() { # rendered NAME TEXT ARG...: the rendered chart must contain TEXT
  local name=$1 text=$2 out; shift 2
  if out=$("$HELM" template x $chart --kube-version 1.34.0 --set image.registry=r.example "$@" 2>&1) && grep -qF -- "$text" <<<"$out"; then passed=$((passed + 1))
  else failed=$((failed + 1)); echo "FAIL $name: '$text' is not rendered"; fi
}
template=("$HELM" template x $chart --kube-version 1.34.0 --set image.registry=r.example)
ok "lint" "$HELM" lint --strict $chart --set image.registry=r.example
ok "defaults" "${template[@]}"
# Each value by itself. Without --strict a misspelt assertion would pass.
# It leaves a folder next to the tests, so it gets a copy.
copy=$(mktemp -d); trap 'rm -rf "$copy"' EXIT
cp -r $chart "$copy/"
if out=$("$HELM_UNITTEST" --strict --color=false "$copy/vnfbench" 2>&1); then
  passed=$((passed + $(sed -n 's/^Tests: *\([0-9]*\) passed.*/\1/p' <<<"$out")))
else
  failed=$((failed + 1)); echo "FAIL helm-unittest"; echo "$out"
fi
rendered "image by tag" "r.example/vnfbench/manager:1.2.3" --set-string image.tag=1.2.3
rendered "image by digest" "r.example/vnfbench/manager@sha256:$(printf 'a%.0s' {1..64})" --set image.digests.manager=sha256:"$(printf 'a%.0s' {1..64})"
rendered "guest image" "--guest-image=r.example/vnfbench/vnf-guest:1.2.3" --set-string image.tag=1.2.3
rendered "image of neighbors" "--neighbor-image=r.example/vnfbench/neighbor@sha256:$(printf 'b%.0s' {1..64})" --set image.digests.neighbor=sha256:"$(printf 'b%.0s' {1..64})"
rendered "image of TCP's ends" "--endpoint-image=r.example/vnfbench/endpoint:1.2.3" --set-string image.tag=1.2.3
rendered "image with TRex by tag" "--generator-image=TRex=lab.example:5000/trex:v3.08" --set-string generatorImages.TRex=lab.example:5000/trex:v3.08
rendered "image with TRex by digest" "--generator-image=TRex=lab.example/trex@sha256:$(printf 'c%.0s' {1..64})" --set-string generatorImages.TRex=lab.example/trex@sha256:"$(printf 'c%.0s' {1..64})"
rendered "CRDs are kept" "helm.sh/resource-policy: keep"
rendered "namespaced install" "--namespace=lab" --set 'watchNamespaces={lab}'
rendered "namespaced binding" "kind: RoleBinding" --set 'watchNamespaces={lab}' --set leaderElection.enabled=false
rendered "disruption budget" "kind: PodDisruptionBudget" --set replicas=2
rendered "restricted pod" "runAsNonRoot: true"
rendered "service monitor" "kind: ServiceMonitor" --set metrics.serviceMonitor.enabled=true
rendered "alerts" "VnfbenchRunNotAccepted" --set metrics.prometheusRule.enabled=true
rendered "alert of inconclusive runs" "VnfbenchRunInconclusive" --set metrics.prometheusRule.enabled=true
rendered "alert of regressions" 'vnfbench_suite_series{verdict="Regression"}) > 0' --set metrics.prometheusRule.enabled=true
rendered "alert of gates" 'vnfbench_suite_failed{reason=~"NotConfirmed|GateWithoutSeries|NotJudged"}) > 0' --set metrics.prometheusRule.enabled=true
rendered "alerts keep their templates" '{{ $labels.reason }}' --set metrics.prometheusRule.enabled=true
rendered "dashboard" 'grafana_dashboard: "1"' --set metrics.dashboard.enabled=true
rendered "network policy" "kind: NetworkPolicy"
rendered "API server's port" "port: 16443, protocol: TCP" --set 'apiServerPorts={16443}'
refused "alerts without metrics" "need metrics.enabled" "${template[@]}" --set metrics.enabled=false --set metrics.prometheusRule.enabled=true
refused "no registry" "image.registry is required" "$HELM" template x $chart --kube-version 1.34.0
refused "a switch of an older chart" "/metrics/serviceMonitor" "${template[@]}" --set metrics.serviceMonitor=true
refused "unknown value" "additional properties 'nonsense' not allowed" "${template[@]}" --set nonsense=1
refused "two replicas alone" "replicas above 1 need leaderElection.enabled" "${template[@]}" --set replicas=2 --set leaderElection.enabled=false
refused "monitor without metrics" "metrics.serviceMonitor needs metrics.enabled" "${template[@]}" --set metrics.enabled=false --set metrics.serviceMonitor.enabled=true
refused "image with TRex without a version" "/generatorImages/TRex" "${template[@]}" --set-string generatorImages.TRex=lab.example/trex
refused "two names of one label" "commonLabels has helm.sh/chart" "${template[@]}" --set-string 'commonLabels.helm\.sh/chart=mine'
refused "no account" "name the service account in serviceAccount.name" "${template[@]}" --set serviceAccount.create=false
refused "wrong digest" "/image/digests/manager" "${template[@]}" --set image.digests.manager=sha256:12
# Helm 4 takes the chart, its values and its schema as Helm 3 does. It leaves more blank lines between objects.
everything=(--set replicas=2 --set 'watchNamespaces={lab}' --set 'image.pullSecrets={key}' --set podUsers=Assigned --set fullnameOverride=measuring,commonLabels.team=net
  --set results.enabled=true,metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true)
equal() { diff --ignore-blank-lines <("${template[@]}" "$@") <("$HELM_4" "${template[@]:1}" "$@"); }
ok "Helm 4: lint" "$HELM_4" lint --strict $chart --set image.registry=r.example
ok "Helm 4: defaults" equal
ok "Helm 4: everything" equal "${everything[@]}"
refused "Helm 4: no registry" "image.registry is required" "$HELM_4" template x $chart --kube-version 1.34.0
refused "Helm 4: unknown value" "additional properties 'nonsense' not allowed" "$HELM_4" "${template[@]:1}" --set nonsense=1
# The chart by which Terraform gives the cluster single manifests.
manifest=terraform/modules/addons/charts/manifest
values=$copy/values.yaml
printf 'manifest: |\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data: {x: "{{ no template }}"}\n' >"$values"
ok "manifest chart" "$HELM" lint --strict $manifest -f "$values"
ok "a manifest is taken as it is" grep -qF 'data: {x: "{{ no template }}"}' <("$HELM" template x $manifest -f "$values" 2>&1)
refused "an empty manifest" "minLength" "$HELM" template x $manifest
same() { (cd test/config && go vet ./... && go test -count=1 ./...); }
if out=$(same 2>&1); then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL config/default is as the chart"; echo "$out"; fi
page() { (cd test/e2e && go vet ./gitops && go test -count=1 ./gitops); }
if out=$(page 2>&1); then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL commands of docs/how-to/gitops.md and docs/how-to/nightly-regression.md"; echo "$out"; fi
ok "kustomize samples" "$KUSTOMIZE" build config/samples

# The oldest Kubernetes that the chart takes, and the newest whose schemas are here.
oldest=$(sed -n 's/^kubeVersion: ">=\([0-9.]*\).*/\1/p' $chart/Chart.yaml) newest=1.37.0
conforms() { # conforms VERSION COMMAND...: Kubernetes VERSION knows every field that COMMAND prints
  local version=$1; shift
  "$@" | "$KUBECONFORM" -strict -kubernetes-version "$version" -skip ServiceMonitor,PodMonitor,PrometheusRule \
    -schema-location "$KUBE_SCHEMAS/{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}{{.KindSuffix}}.json"
}
misspelt() { "${template[@]}" | sed s/automountServiceAccountToken/automountServiceAccountTokens/; }
for version in "$oldest" "$newest"; do
  ok "schemas of $version: defaults" conforms "$version" "${template[@]}"
  ok "schemas of $version: everything" conforms "$version" "${template[@]}" "${everything[@]}"
  ok "schemas of $version: kustomize default" conforms "$version" "$KUSTOMIZE" build config/default
  refused "schemas of $version: an unknown field" "automountServiceAccountTokens" conforms "$version" misspelt
done
echo "chart: $passed passed, $failed failed"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
