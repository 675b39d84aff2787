# with-cluster.sh: installs the operator into the cluster of kubectl's current context for a script that measures there, which sources it. It needs no root.
# It defines what current-cluster.sh defines. Variables:
#   LOAD      a command that takes an image archive, its last argument, to the nodes; absent: that of kind, k3d or minikube, by the context's name
#   REGISTRY  a registry that the nodes pull from, instead of LOAD
#   MULTUS    a manifest of Multus, a file or an address, for a cluster that has none
# shellcheck shell=bash disable=SC2154
# shellcheck source=test/scripts/current-cluster.sh
. test/scripts/current-cluster.sh
test/scripts/prerequisites.sh go iperf stress
step "Looking at the cluster of context $context"
# shellcheck source=test/scripts/guard-cluster.sh
. test/scripts/guard-cluster.sh

# The mark is there before anything else, so that an installation that is interrupted can be continued and removed.
for name in "$namespace" "$system"; do
  look namespace "$name" -o name
  [ -n "$found" ] || kubectl create -f - >/dev/null <<YAML
{apiVersion: v1, kind: Namespace, metadata: {name: $name, labels: {${mark/=/: }}}}
YAML
done
kubectl label namespace "$namespace" "$system" pod-security.kubernetes.io/enforce=privileged --overwrite >/dev/null

if [ -n "$multus" ]; then
  step "Installing Multus: $multus"
  kubectl annotate namespace "$namespace" "vnfbench.io/demo-multus=$multus" --overwrite >/dev/null
  kubectl apply -f "$multus" || refuse "Multus could not be installed, for the reason above. Does MULTUS name a manifest, a file or an address?"
  kubectl wait --for=condition=Established "crd/$networks" --timeout=60s
  for daemons in $(kubectl get -f "$multus" -o 'jsonpath={range .items[?(@.kind=="DaemonSet")]}{.metadata.namespace}/{.metadata.name} {end}'); do
    kubectl rollout status "daemonset/${daemons#*/}" --namespace "${daemons%/*}" --timeout=180s ||
      refuse "Multus is not ready; this says why: $KUBECTL describe pods --namespace ${daemons%/*}"
  done
fi

step "Building the operator's images"
make --no-print-directory images plugin "$HELM"
tag=$(test/scripts/image-tag.sh)
if [ ${#load[@]} = 0 ]; then
  step "Pushing them to $REGISTRY"
  make --no-print-directory push REGISTRY="$REGISTRY" ||
    refuse "The images could not be pushed to $REGISTRY, for the reason above. Log in first: make login REGISTRY=$REGISTRY USERNAME=NAME"
else
  step "Loading them: ${LOAD:-${load[*]}}"
  for name in manager measurer vnf endpoint neighbor; do
    "${load[@]}" "bin/images/$name.tar" || refuse "The image $name could not be loaded into the nodes, for the reason above, by this command:" \
      "  ${LOAD:-${load[*]}} bin/images/$name.tar" \
      "Set LOAD to another command that takes an image archive, or REGISTRY to a registry that the nodes pull from."
  done
fi

step "Installing the chart"
if [ -n "$pending" ]; then
  echo "A Helm that was ended has left $pending: removing the release, whose CRDs and results stay"
  "$HELM" uninstall vnfbench --namespace "$system" --wait
fi
if ! "$HELM" upgrade --install vnfbench charts/vnfbench --namespace "$system" \
  --set-string image.tag="$tag" --set image.registry="${REGISTRY:-localhost}" --wait --timeout 3m >/dev/null; then
  printf '\nThe pods in %s that are not ready, and warnings about them:\n' "$system" >&2
  kubectl get pods --namespace "$system" --no-headers | awk '{split($2, ready, "/")} ready[1] != ready[2]' >&2
  kubectl get events --namespace "$system" --field-selector type=Warning -o custom-columns=:.reason,:.message --no-headers | tail -n 10 >&2
  refuse "" "The chart could not be installed. What to do, by the pod's status or Helm's error:" \
    "  ErrImagePull, ImagePullBackOff, ErrImageNeverPull  the nodes lack the image: see LOAD and REGISTRY in docs/how-to/install.md" \
    "  Pending                                            no node takes the pod: free CPU and memory, or remove the node's taint" \
    "  CrashLoopBackOff, Error                            $KUBECTL logs --namespace $system deployment/vnfbench" \
    "Then run the command again, which continues. What it made so far is removed by: $removal"
fi
echo "vnfbench $tag is installed in namespace $system"
bin/kubectl-vnfbench doctor --namespace "$namespace" || refuse "What has the result FAIL above prevents a measurement; the last column says what to do."
