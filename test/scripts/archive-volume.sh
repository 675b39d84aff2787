#!/usr/bin/env bash
# archive-volume.sh: makes the lab's volume of the archive available again. A claim that was deleted, with its namespace
# or by hand, leaves it to the same claim alone. Called before the chart is installed; LAB is the program of the lab.
set -euo pipefail
kubectl() { "$LAB" kubectl -- "$@"; }
if [ "$(kubectl get persistentvolume vnfbench-archive -o jsonpath='{.status.phase}')" = Released ]; then
  kubectl patch persistentvolume vnfbench-archive --type merge -p '{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}' >/dev/null
fi
