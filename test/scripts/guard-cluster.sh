# guard-cluster.sh: looks at the cluster, before anything is built, for a script that installs the operator there, which sources it after
# current-cluster.sh. It changes nothing. It refuses a cluster that the demo would not work in, or in which it would replace what others have made. It sets
# load, the command that takes an image archive to the nodes, empty with REGISTRY; multus, the manifest to apply; and pending, not empty after a killed Helm.
# shellcheck shell=bash disable=SC2034,SC2154
for kind in namespaces customresourcedefinitions; do
  kubectl auth can-i create "$kind" --all-namespaces --quiet ||
    refuse "The account of context $context may not create $kind, as the installation does. Use the account of an administrator of the cluster."
done
architecture=$(go env GOARCH)
look nodes -o 'jsonpath={.items[*].status.nodeInfo.architecture}'
for node in $found; do
  [ "$node" = "$architecture" ] || refuse "The cluster has nodes of architecture $node, and the images are built for $architecture, this machine's." \
    "Run this command on a machine like the nodes, or install from a release, which has images for each architecture: docs/how-to/release.md"
done

instead="Apply config/samples/router.yaml in a namespace of yours, or remove the operator: docs/how-to/remove.md"
owner_of namespace "$namespace"
ours=$owner
[ "$ours" != others ] || refuse "Namespace $namespace is not of this command, which would measure there. Remove it: $KUBECTL delete namespace $namespace" \
  "If it is of the demo nevertheless: $KUBECTL label namespace $namespace --overwrite $mark"
look crd benchmarkruns.vnfbench.io -o 'jsonpath={.metadata.annotations.meta\.helm\.sh/release-namespace}/{.metadata.annotations.meta\.helm\.sh/release-name}'
case $found in
  '' | "$system/vnfbench") ;;
  /) refuse "The CRDs of this cluster were not installed by Helm, which would refuse to replace them." "$instead" ;;
  *) refuse "The CRDs of this cluster are those of another installation, Helm's release ${found#*/} in namespace ${found%%/*}." "$instead" ;;
esac
look deployments --all-namespaces --selector app.kubernetes.io/name=vnfbench -o 'jsonpath={.items[*].metadata.namespace}'
for place in $found; do
  [ "$ours/$place" = "demo/$system" ] || refuse "The operator is in namespace $place of this cluster, and not by this command." "$instead"
done
look secrets --namespace "$system" --selector owner=helm,name=vnfbench -o name
[ "$ours" = demo ] || [ -z "$found" ] || refuse "Helm's release vnfbench is in namespace $system of this cluster, and not by this command." "$instead"
look secrets --namespace "$system" --selector 'owner=helm,name=vnfbench,status in (pending-install,pending-upgrade,pending-rollback)' -o name
pending=$found
look crd testbeds.vnfbench.io -o name
if [ -n "$found" ]; then
  owner_of testbed lab
  [ "$owner" != others ] || refuse "The cluster has a Testbed lab that is not of this command, which would replace it." \
    "Apply config/samples/router.yaml in a namespace of yours, or remove it: $KUBECTL delete testbed lab"
fi

networks=network-attachment-definitions.k8s.cni.cncf.io
look namespace "$namespace" -o 'jsonpath={.metadata.annotations.vnfbench\.io/demo-multus}'
multus=$found # which the demo has applied before
look crd "$networks" -o name
if [ -z "$found" ] || [ -n "$multus" ]; then multus=${MULTUS:-$multus}; fi
[ -n "$found$multus" ] || refuse "The cluster has no Multus, which gives pods the ports of the chain. Name its manifest, which is then applied:" \
  "  make demo CLUSTER=current MULTUS=https://raw.githubusercontent.com/k8snetworkplumbingwg/multus-cni/$(
    sed -n 's/^| Multus |.*| \([0-9.]*\) | [^|]* |$/v\1/p' docs/reference/support.md)/deployments/multus-daemonset-thick.yml" \
  "The nodes need the CNI plugins bridge and tuning too: docs/how-to/install.md says how a node of kind gets them."

# has PROGRAM: fails unless the program is there.
has() { command -v "$1" >/dev/null || refuse "missing: $1, which takes images to the nodes of context $context; install it, or set REGISTRY or LOAD"; }
if [ -n "${LOAD:-}" ] && [ -n "${REGISTRY:-}" ]; then
  refuse "LOAD and REGISTRY are both set. The nodes get the images in one way: leave out LOAD or REGISTRY, on the command line and in the environment."
elif [ -n "${LOAD:-}" ]; then
  load=(sh -c "$LOAD \"\$1\"" load)
elif [ -n "${REGISTRY:-}" ]; then
  load=()
else
  case $context in
    kind-*) load=(kind load image-archive --name "${context#kind-}") ;;
    k3d-*) load=(k3d image import --cluster "${context#k3d-}") ;;
    minikube) load=(minikube image load --profile minikube) ;;
    *)
      # A profile of minikube has a name that its user chooses.
      minikube status --profile "$context" >/dev/null 2>&1 || refuse "How images come to the nodes is not known for context $context." \
        "Name a registry that the nodes pull from, and log in there first:" \
        "  make demo CLUSTER=current REGISTRY=registry.example.com/lab" \
        "or a command that takes an image archive, which becomes its last argument:" \
        "  make demo CLUSTER=current LOAD='kind load image-archive --name NAME'"
      load=(minikube image load --profile "$context")
      ;;
  esac
  has "${load[0]}"
fi
