#!/usr/bin/env bash
# Writes the tables of inputs and outputs: README.md of every Terraform module,
# and docs/reference/terraform.md of all modules and roots. What a module is for
# is taken from the table in terraform/README.md.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${TERRAFORM_DOCS:?path of terraform-docs}"

# Sections are named, so that providers' links to a registry do not come along.
tables() { # tables FOLDER INDENT
  "$TERRAFORM_DOCS" markdown table "$1" --show inputs,outputs --indent "$2" \
    --anchor=false --escape=false --lockfile=false --sort-by required
}

purpose() { # purpose FOLDER: what the table in terraform/README.md says of it
  local said
  said=$(sed -n "s#^| \[$1\]($1) | \(.*\) |\$#\1#p" terraform/README.md)
  [ -n "$said" ] || { echo "terraform/README.md has no row for $1 in its table" >&2; exit 1; }
  echo "${said^}."
}

page=docs/reference/terraform.md
{
  echo '# Terraform modules and roots'
  echo
  echo 'Made by `make generate` out of variables and outputs. How they go together is in'
  echo '[terraform/README.md](../../terraform/README.md).'
} >"$page.new"
for folder in terraform/modules/*/; do
  folder=${folder%/} name=${folder#terraform/}
  said=$(purpose "$name")
  {
    printf '# %s\n\n%s\n' "$name" "$said"
    printf 'The tables are made by `make generate`; how modules go together is in\n[terraform/README.md](../../README.md).\n\n'
    tables "$folder" 2
  } >"$folder/README.md"
  { printf '\n## %s\n\n%s\n\n' "$name" "$said"; tables "$folder" 3; } >>"$page.new"
done
for folder in terraform/clusters/*/; do
  folder=${folder%/}
  { printf '\n## %s\n\n' "${folder#terraform/}"; tables "$folder" 3; } >>"$page.new"
done
mv "$page.new" "$page"
