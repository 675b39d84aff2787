#!/usr/bin/env bash
# outdated.sh: lists the direct dependencies that have a newer version: Go modules, the Makefile's tools, and Python
# packages, with the reasons of test/dependencies.txt. A reason that no dependency in the list has any more fails. What
# cannot be looked up is named.
set -euo pipefail
cd "$(dirname "$0")/../.."
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
rules=() reasons=()
while IFS=$'\t' read -r where name reason; do
  case $where in ''|'#'*) ;; *) rules+=("$where $name") reasons+=("$reason") ;; esac
done <test/dependencies.txt
declare -A used=()
report() { # report WHERE NAME HAVE LATEST
  local i why='not looked at yet'
  for i in "${!rules[@]}"; do
    # The rule is a pattern of the shell.
    # shellcheck disable=SC2053
    if [[ "$1 $2" == ${rules[$i]} ]]; then why=${reasons[$i]} used[$i]=yes; break; fi
  done
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$why" >>"$temp/table"
}
# newer MODULE HAVE: prints the newest version, of the next major version if there is one.
newer() {
  local module=$1 have=$2 latest major next
  latest=$(go list -mod=readonly -m -f '{{.Version}}' "$module@latest" 2>/dev/null) || { echo "$module" >>"$temp/unknown"; return 0; }
  # A pseudo-version after the newest tag is newer than it.
  if [ "$(printf '%s\n' "$latest" "$have" | sort -V | tail -n 1)" = "$have" ]; then latest=$have; fi
  major=${module##*/v}
  if [[ $module == */v* && $major =~ ^[0-9]+$ ]]; then
    next=$(go list -mod=readonly -m -f '{{.Version}}' "${module%/v*}/v$((major + 1))@latest" 2>/dev/null) && latest=$next
  fi
  [ "$latest" = "$have" ] || echo "$latest"
}
cd "$temp" && go mod init outdated.invalid >/dev/null 2>&1 && cd - >/dev/null
# The modules of a folder's programs (directive tool) are direct too, although go.mod calls them indirect.
# shellcheck disable=SC2016
direct='(.Tool // [] | map(.Path)) as $tools | .Require // [] | .[]
  | select((.Indirect | not) or (.Path as $path | any($tools[]; . == $path or startswith($path + "/")))) | "\(.Path) \(.Version)"'
declare -A known=()
while read -r file; do
  folder=$(dirname "$file")
  requires=$(cd "$folder" && go mod edit -json | jq -r "$direct")
  while read -r module have; do
    case $module in ''|vnfbench.io/*) continue ;; esac
    [ -n "${known[$module@$have]+x}" ] || known[$module@$have]=$(cd "$temp" && newer "$module" "$have")
    [ -z "${known[$module@$have]}" ] || report "$folder" "$module" "$have" "${known[$module@$have]}"
  done <<<"$requires"
done < <(git ls-files -- '*go.mod')
# A tool is $(TOOLS)/NAME-VERSION, and its rule names its package, of which a prefix is the module.
while read -r tool have; do
  package=$(sed -nE "s|^\\$\(TOOLS\)/$tool-%:.*install-tool.sh \\\$@ ([^@]*)@.*|\1|p" Makefile)
  [ "$tool" != tofu ] || package=github.com/opentofu/opentofu # test/scripts/install-tofu.sh builds it
  [ -n "$package" ] || continue # pinned by a separate module, which is listed above
  module=${package%%/cmd/*}
  latest=$(cd "$temp" && newer "$module" "$have")
  [ -z "$latest" ] || report Makefile "$module" "$have" "$latest"
done < <(sed -nE 's|^[A-Z_0-9]+ := \$\(TOOLS\)/(.*)-(v[0-9].*)$|\1 \2|p' Makefile)
for file in docs/site/requirements.txt test/ci/requirements.txt test/proxmox/requirements.txt; do
  python3 -m venv "$temp/venv"
  "$temp/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --requirement "$file" || { echo "$file" >>"$temp/unknown"; continue; }
  while IFS=$'\t' read -r name have latest; do report "$file" "$name" "$have" "$latest"; done < <("$temp/venv/bin/python" -m pip list --outdated --disable-pip-version-check --format=json |
    jq -r '.[] | select(.name != "pip" and .name != "setuptools") | [.name, .version, .latest_version] | @tsv')
  rm -rf "$temp/venv"
done
if [ -e "$temp/table" ]; then
  { printf 'where\tdependency\thas\tlatest\twhy\n'; sort -t $'\t' -k2,2 -k1,1 "$temp/table"; } | column -t -s $'\t'
else
  echo "everything that could be looked up is up to date"
fi
[ ! -e "$temp/unknown" ] || { echo "not looked up, because the proxy or registry has no answer:"; sort -u "$temp/unknown"; }
echo "not looked up: Terraform's providers, the releases of terraform/versions.md, actions, base images, Debian packages"
failed=0
for i in "${!rules[@]}"; do
  [ -n "${used[$i]:-}" ] || { echo "test/dependencies.txt: '${rules[$i]}' holds nothing back; take its line out" >&2; failed=1; }
done
exit $failed
