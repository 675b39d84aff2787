#!/usr/bin/env bash
# Lints and renders the chart with the values that people use and with those
# that it must refuse, checks that the kustomize bases render, and that
# config/default is what the chart gives.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${HELM:?path of helm}" "${KUSTOMIZE:?path of kustomize}"
HELM=$(realpath "$HELM") KUSTOMIZE=$(realpath "$KUSTOMIZE")
export HELM KUSTOMIZE
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
rendered "image by tag" "r.example/vnfbench/manager:1.2.3" --set-string image.tag=1.2.3
rendered "image by digest" "r.example/vnfbench/manager@sha256:$(printf 'a%.0s' {1..64})" --set image.digests.manager=sha256:"$(printf 'a%.0s' {1..64})"
rendered "guest image" "--guest-image=r.example/vnfbench/vnf-guest:1.2.3" --set-string image.tag=1.2.3
rendered "image of TCP's ends" "--endpoint-image=r.example/vnfbench/endpoint:1.2.3" --set-string image.tag=1.2.3
rendered "CRDs are kept" "helm.sh/resource-policy: keep"
rendered "namespaced install" "--namespace=lab" --set 'watchNamespaces={lab}'
rendered "namespaced binding" "kind: RoleBinding" --set 'watchNamespaces={lab}' --set leaderElection.enabled=false
rendered "disruption budget" "kind: PodDisruptionBudget" --set replicas=2
rendered "restricted pod" "runAsNonRoot: true"
rendered "service monitor" "kind: ServiceMonitor" --set metrics.serviceMonitor=true
rendered "alerts" "VnfbenchRunNotAccepted" --set metrics.prometheusRule=true
rendered "alerts keep their templates" '{{ $labels.reason }}' --set metrics.prometheusRule=true
rendered "dashboard" 'grafana_dashboard: "1"' --set metrics.dashboard=true
rendered "network policy" "kind: NetworkPolicy"
rendered "API server's port" "port: 16443, protocol: TCP" --set 'apiServerPorts={16443}'
refused "alerts without metrics" "need metrics.enabled" "${template[@]}" --set metrics.enabled=false --set metrics.prometheusRule=true
refused "no registry" "image.registry is required" "$HELM" template x $chart --kube-version 1.34.0
refused "unknown value" "additional properties 'nonsense' not allowed" "${template[@]}" --set nonsense=1
refused "two replicas alone" "replicas above 1 need leaderElection.enabled" "${template[@]}" --set replicas=2 --set leaderElection.enabled=false
refused "monitor without metrics" "metrics.serviceMonitor needs metrics.enabled" "${template[@]}" --set metrics.enabled=false --set metrics.serviceMonitor=true
refused "wrong digest" "/image/digests/manager" "${template[@]}" --set image.digests.manager=sha256:12
# The chart by which Terraform gives the cluster single manifests.
manifest=terraform/modules/addons/charts/manifest
values=$(mktemp); trap 'rm -f "$values"' EXIT
printf 'manifest: |\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data: {x: "{{ no template }}"}\n' >"$values"
ok "manifest chart" "$HELM" lint --strict $manifest -f "$values"
ok "a manifest is taken as it is" grep -qF 'data: {x: "{{ no template }}"}' <("$HELM" template x $manifest -f "$values" 2>&1)
refused "an empty manifest" "minLength" "$HELM" template x $manifest
same() { (cd test/config && go vet ./... && go test -count=1 ./...); }
if out=$(same 2>&1); then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL config/default is as the chart"; echo "$out"; fi
ok "kustomize samples" "$KUSTOMIZE" build config/samples
echo "chart: $passed passed, $failed failed"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
