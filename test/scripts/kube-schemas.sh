#!/usr/bin/env bash
# kube-schemas.sh FOLDER: gets the JSON schemas of Kubernetes' own kinds, strict
# ones, which know no field that they do not name, into FOLDER/vVERSION once. They
# come from the Python package kubernetes-validate, whose references are turned
# into those that kubeconform follows in files.
set -euo pipefail
folder=$1 package=1.37.0
[ -e "$folder/complete" ] && exit 0
"$(dirname "$0")/prerequisites.sh" python
echo "installing Kubernetes' schemas (once)" >&2
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
python3 -m venv "$build"
"$(dirname "$0")/again.sh" "$build/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "kubernetes-validate==$package"
rm -rf "$folder"
mkdir -p "$folder"
"$build/bin/python" - "$folder" <<'PYTHON'
import json, pathlib, sys, sysconfig

source = pathlib.Path(sysconfig.get_path("purelib"), "kubernetes_validate", "kubernetes-json-schema")


def local(node):
    if isinstance(node, dict):
        return {key: value.replace("/api/_definitions.json", "_definitions.json") if key == "$ref" and isinstance(value, str) else local(value)
                for key, value in node.items() if key != "$id" or not isinstance(value, str)}
    return [local(value) for value in node] if isinstance(node, list) else node


found = 0
for version in source.glob("v*-local-strict"):
    into = pathlib.Path(sys.argv[1], version.name.removesuffix("-local-strict"))
    into.mkdir()
    for file in version.glob("*.json"):
        (into / file.name).write_text(json.dumps(local(json.loads(file.read_text()))))
        found += 1
if not found:
    sys.exit(f"no schemas in {source}")
PYTHON
touch "$folder/complete"
