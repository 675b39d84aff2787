#!/usr/bin/env bash
# copy-files.sh LIST FOLDER: copies the files of a list of SOURCE:DESTINATION lines below FOLDER, with the modes
# that `lab image` gives them: those of the sources, and no one but the owner may write.
set -euo pipefail
[ $# = 2 ] || { echo "usage: copy-files.sh LIST FOLDER" >&2; exit 2; }
umask 022
while IFS=: read -r source destination; do
  mkdir -p "$2$(dirname "$destination")"
  cp --dereference --preserve=mode "$source" "$2$destination"
  chmod go-w "$2$destination"
done <"$1"
