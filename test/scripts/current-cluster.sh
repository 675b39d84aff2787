# current-cluster.sh: takes the cluster of kubectl's current context for a script that works there, which sources it. All that follows uses this cluster,
# also when the current context changes meanwhile. It defines started, step, refuse, kubectl, look, owner_of, context, namespace, system, mark
# and removal, the command that removes the demo. Variables:
#   CLUSTER   current
#   KUBECTL   the command kubectl, where it has another name or flags, such as: kubectl --context NAME
#   HELM      the program Helm, which make builds
# shellcheck shell=bash disable=SC2034
[ "$CLUSTER" = current ] || {
  echo "CLUSTER is $CLUSTER: leave it out for the lab, or use CLUSTER=current for the cluster of kubectl's current context" >&2
  exit 2
}
: "${HELM:?is not set: run this by make}"
started=$SECONDS
step() { printf '\n== %s  [%d s]\n' "$*" $((SECONDS - started)); }
refuse() { printf '%s\n' "$@" >&2; exit 1; }

KUBECTL=${KUBECTL:-kubectl}
kubectl() { sh -c "$KUBECTL \"\$@\"" kubectl "$@"; }
# Helm, the plugin and kubectl read this copy, so they have the same cluster.
config=$(mktemp) # which no one else can read
trap 'rm -f "$config"' EXIT
kubectl config view --minify --flatten --raw >"$config" ||
  refuse "\"$KUBECTL config view\" fails, for the reason above. Install kubectl, or name it by KUBECTL, and choose the cluster: kubectl config use-context NAME"
export KUBECONFIG=$config
context=$(kubectl config current-context)

# Runs are in the first namespace, the operator in the second. What the demo makes has the mark; everything else is left as it is.
namespace=vnfbench-demo
system=vnfbench-system
mark=app.kubernetes.io/managed-by=vnfbench-demo
removal="make demo-down CLUSTER=current"
[ "$KUBECTL" = kubectl ] || removal+=" KUBECTL=$(printf %q "$KUBECTL")"

# look ARGUMENT...: sets found to what kubectl get prints, and to nothing where there is no such object. Other errors end the script.
look() { found=$(kubectl get --ignore-not-found "$@") || refuse "\"$KUBECTL get $*\" fails in context $context, for the reason above."; }
# owner_of KIND NAME: sets owner to demo, others or none.
owner_of() {
  look "$1" "$2" -o 'jsonpath={.metadata.labels.app\.kubernetes\.io/managed-by}/'
  case $found in '') owner=none ;; "${mark#*=}/") owner=demo ;; *) owner=others ;; esac
}

kubectl get --raw /readyz >/dev/null || refuse "The API server of context $context does not answer: see $KUBECTL cluster-info"
