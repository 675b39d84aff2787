# with-cluster.sh: installs the operator into the cluster of kubectl's current context for a script that measures there, which sources it. It defines
# started, step, kubectl and namespace, as with-lab.sh does. It needs no root. Variables:
#   LOAD      a command that brings an image archive, its last argument, to the nodes; absent: that of kind, k3d or minikube, by the context's name
#   REGISTRY  a registry that the nodes pull from, instead of LOAD
#   MULTUS    a manifest of Multus, a file or an address, for a cluster that has none
#   KUBECTL   the program kubectl, where it has another name
# shellcheck shell=bash
started=$SECONDS
step() { printf '\n== %s  [%d s]\n' "$*" $((SECONDS - started)); }
missing() { printf '%s\n' "$@" >&2; exit 1; }

namespace=vnfbench-demo
system=vnfbench-system
read -ra client <<<"${KUBECTL:-kubectl}"
kubectl() { command "${client[@]}" "$@"; }
command -v "${client[0]}" >/dev/null || missing "missing: kubectl, whose current context is the cluster to use"
test/scripts/prerequisites.sh go iperf stress
context=$(kubectl config current-context) || missing "kubectl has no current context: choose one by kubectl config use-context NAME"

step "Looking at the cluster of context $context"
kubectl get --raw /readyz >/dev/null || missing "the API server of context $context does not answer: see kubectl cluster-info"
# What others have made here stays as it is.
if ! kubectl get namespace "$namespace" >/dev/null 2>&1; then
  if kubectl get deployment --namespace "$system" --selector app.kubernetes.io/name=vnfbench -o name 2>/dev/null | grep -q .; then
    missing "The operator is in namespace $system of this cluster, and not by this command, which would replace it." \
      "Apply config/samples/router.yaml in a namespace of yours, or remove the operator: docs/how-to/remove.md."
  fi
  if kubectl get testbed lab >/dev/null 2>&1; then
    missing "The cluster has a Testbed lab, which this command would replace. Apply config/samples/router.yaml in a namespace of yours, or remove it: kubectl delete testbed lab"
  fi
fi
if [ -n "${LOAD:-}" ]; then
  read -ra load <<<"$LOAD"
elif [ -n "${REGISTRY:-}" ]; then
  load=()
else
  case $context in
    kind-*) load=(kind load image-archive --name "${context#kind-}") ;;
    k3d-*) load=(k3d image import --cluster "${context#k3d-}") ;;
    minikube) load=(minikube image load) ;;
    *) missing "How images come to the nodes is not known for context $context: name a registry that the nodes pull from, and log in there first:" \
         "  make demo CLUSTER=current REGISTRY=registry.example.com/lab" \
         "or a command that takes an image archive:" \
         "  make demo CLUSTER=current LOAD='kind load image-archive --name NAME'" ;;
  esac
fi
[ ${#load[@]} = 0 ] || command -v "${load[0]}" >/dev/null || missing "missing: ${load[0]}, which loads images into the nodes of context $context; or set REGISTRY"
networks=network-attachment-definitions.k8s.cni.cncf.io
if ! kubectl get crd "$networks" >/dev/null 2>&1; then
  [ -n "${MULTUS:-}" ] || missing "The cluster has no Multus, which gives pods the ports of the chain. Name its manifest, which is then applied:" \
    "  make demo CLUSTER=current MULTUS=https://raw.githubusercontent.com/k8snetworkplumbingwg/multus-cni/$(sed -n 's/^| Multus |.*| \([0-9.]*\) | [^|]* |$/v\1/p' docs/reference/support.md)/deployments/multus-daemonset-thick.yml" \
    "The nodes need the CNI plugins bridge and tuning too: docs/how-to/install.md says how a node of kind gets them."
  step "Installing Multus: $MULTUS"
  kubectl apply -f "$MULTUS"
  kubectl wait --for=condition=Established "crd/$networks" --timeout=60s
  kubectl rollout status daemonset --namespace kube-system --selector app=multus --timeout=180s
fi

step "Building the operator's images"
make --no-print-directory images plugin
tag=$(test/scripts/image-tag.sh)
if [ ${#load[@]} = 0 ]; then
  step "Pushing them to $REGISTRY"
  make --no-print-directory push REGISTRY="$REGISTRY"
else
  step "Loading them: ${load[*]}"
  for name in manager measurer vnf endpoint neighbor; do "${load[@]}" "bin/images/$name.tar"; done
fi

step "Installing the chart"
# shellcheck disable=SC2153
make --no-print-directory install-current TAG="$tag" IMAGES_IN="${REGISTRY:-localhost}"
kubectl get namespace "$namespace" >/dev/null 2>&1 || kubectl create namespace "$namespace" >/dev/null
kubectl label namespace "$system" "$namespace" pod-security.kubernetes.io/enforce=privileged --overwrite >/dev/null
bin/kubectl-vnfbench doctor --namespace "$namespace" || missing "What has the result FAIL above prevents a measurement; the last column says what to do."
