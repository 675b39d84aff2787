#!/usr/bin/env bash
# program-files.sh PROGRAM [PLUGIN...]: prints, as SOURCE:DESTINATION lines for `lab image`, a
# program of this machine with the libraries and the loader that it needs, libraries that it
# loads by itself with theirs, and the copyright files of the Debian packages that they are from.
set -euo pipefail
program=$(command -v "$1") || { echo "missing: $1" >&2; exit 1; }
program=$(readlink -f "$program")
plugins=("${@:2}")
libraries=$(ldd "$program" "${plugins[@]}" | awk '$2 == "=>" {print $3} $1 ~ /^\/.*[^:]$/ {print $1}' | sort -u)
echo "$program:/usr/bin/$1"
for library in "${plugins[@]}" $libraries; do echo "$(readlink -f "$library"):$library"; done
for file in "$program" "${plugins[@]}" $libraries; do
  # A library is known to dpkg by the path before or after the merge of /usr.
  for path in "$file" "/usr$file" "$(readlink -f "$file")"; do
    dpkg-query --search "$path" 2>/dev/null | cut -d: -f1 && break
  done || true
done | sort -u | while read -r package; do
  copyright=/usr/share/doc/$package/copyright
  [ ! -e "$copyright" ] || echo "$(readlink -f "$copyright"):$copyright"
done
