#!/usr/bin/env bash
# study.sh: measures the study STUDY of config/studies in its lab size, and writes its report. It can be interrupted at any point and begun
# again: the suites continue in the cluster, and what was measured is not measured again. AGAIN=1 measures everything again. SIZE is another
# folder of the study than lab, such as lab-30-minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
study=${STUDY:-}
folder=config/studies/$study
size=$folder/${SIZE:-lab}
if [ -z "$study" ] || [ ! -e "$folder/study.yaml" ]; then
  echo "STUDY is ${study:-not set}; make study STUDY=NAME, with one of:" >&2
  for file in config/studies/*/study.yaml; do echo "  $(basename "$(dirname "$file")")" >&2; done
  exit 2
fi
if [ ! -e "$size/kustomization.yaml" ]; then
  echo "SIZE is $SIZE; make study STUDY=$study SIZE=NAME, with one of:" >&2
  for file in "$folder"/*/kustomization.yaml; do echo "  $(basename "$(dirname "$file")")" >&2; done
  exit 2
fi
# The plugin ends by itself at an interrupt, and the script has to, too.
trap 'exit 130' INT
# Some studies have virtual machines in their lab size.
machines=
if grep -rq 'runtime: VirtualMachine' "$size"; then machines=KUBEVIRT=1; fi
# The traffic pod of most studies has a core that nothing else uses.
export VNFBENCH_LAB_CPU_MANAGER=static
# shellcheck source=test/scripts/with-lab.sh
. test/scripts/with-lab.sh ${machines:+"$machines"}
namespace=vnfbench-studies
# What follows a suite stays on the processor of the lab's daemons.
vnfbench() { taskset --cpu-list 0 bin/kubectl-vnfbench "$1" -n "$namespace" "${@:2}"; }

step "Applying $size"
kubectl apply -k "$size"
# What is in the folder, and not what is in the namespace: another study may have suites there.
suites=$(kubectl get -k "$size" -o name | sed -n 's|^benchmarksuite.*/||p')
if [ "${AGAIN:-}" = 1 ]; then
  for suite in $suites; do
    kubectl -n "$namespace" annotate benchmarksuite "$suite" vnfbench.io/run-now="$(date +%s)" --overwrite
  done
fi

# Documents and reports of another size have its name.
name=study-$study
again="STUDY=$study"
if [ "${size##*/}" != lab ]; then name+=-$SIZE again+=" SIZE=$SIZE"; fi
# A suite whose cells failed has a report that says so, and the others are measured.
verdict=0
documents=()
mkdir -p bin
for suite in $suites; do
  step "Measuring $suite (one run is measured at a time)"
  vnfbench suite "$suite" --watch || verdict=$?
  document=bin/$name-$suite.json
  if vnfbench report "suite/$suite" -o json --output-file "$document"; then
    documents+=("$document")
  fi
done
[ ${#documents[@]} -gt 0 ] || { echo "no suite of $size was executed" >&2; exit 1; }

step "The report"
bin/kubectl-vnfbench study "$folder" "${documents[@]}"
for format in html:html markdown:md json:json; do
  bin/kubectl-vnfbench study "$folder" "${documents[@]}" -o "${format%:*}" --output-file "bin/$name.${format#*:}"
done

cat <<TXT

The study took $((SECONDS - started)) s.

The report with pictures is in $PWD/bin/$name.html: open it in a browser. It needs no network.
It was made of: ${documents[*]}

What to try next:
  export KUBECONFIG=$KUBECONFIG PATH=$PWD/bin:\$PATH
  bin/lab kubectl -- get benchmarksuiteruns,benchmarkruns -n $namespace
  bin/kubectl-vnfbench report suite/${suites%%$'\n'*} -n $namespace
  make study $again AGAIN=1                          measure everything again
TXT
exit $verdict
