#!/bin/sh
# install.sh TARBALL SHA256 DIRECTORY: checks a release of TRex by its SHA-256 and
# unpacks into DIRECTORY what its server needs to run: the programs, their
# libraries and the X710's profile. Python, example profiles, captured packets,
# the console and the simulators stay out.
set -eu
fail() { echo "install.sh: $*" >&2; exit 1; }

[ $# = 3 ] || fail "usage: install.sh TARBALL SHA256 DIRECTORY"
tarball=$1 sha256=$2 directory=$3
case $sha256 in
"" | *[!0-9a-f]*) fail "the SHA-256 is '$sha256'; it has 64 of the digits 0-9 and a-f" ;;
esac
[ ${#sha256} = 64 ] || fail "the SHA-256 '$sha256' has ${#sha256} digits, and not 64"
[ -f "$tarball" ] || fail "there is no file $tarball: give the tarball of a release, such as v3.08.tar.gz"
actual=$(sha256sum <"$tarball" | cut -d' ' -f1)
[ "$actual" = "$sha256" ] || fail "$tarball has the SHA-256 $actual, and not $sha256: get it again, or correct the number"

list=$(mktemp)
trap 'rm -f "$list"' EXIT
tar -tvf "$tarball" >"$list" || fail "$tarball is no tarball that tar reads"
total=$(awk '{bytes += $3} END {print bytes + 0}' "$list")
awk '{print $6}' "$list" | sed 's#^\./##; s#/*$##' | sort -u >"$list.names"
mv "$list.names" "$list"
release=$(cut -d/ -f1 "$list" | grep -v '^$' | sort -u)
case $release in
*[!A-Za-z0-9._-]* | "" | .*) fail "$tarball has not one folder, as a release has, but: $(echo "$release" | head -5 | tr '\n' ' ')" ;;
esac

set --
for name in _t-rex-64 _t-rex-64-o so x710_ddp astf_schema.json LICENSE; do
  if grep -qxF "$release/$name" "$list" || grep -q "^$release/$name/" "$list"; then
    set -- "$@" "$release/$name"
  else
    case $name in
    # The stateful server ends at its first profile without its schema.
    _t-rex-64 | so | astf_schema.json) fail "$tarball has no $release/$name: give a whole release of TRex, and not its sources or its client" ;;
    esac
  fi
done
mkdir -p "$directory"
tar -xf "$tarball" -C "$directory" --strip-components=1 --no-same-owner --no-same-permissions "$@"
# The other architectures' libraries.
for folder in "$directory"/so/*/; do
  [ "$(basename "$folder")" = "$(uname -m)" ] || rm -rf "$folder"
done
for program in "$directory"/_t-rex-64*; do
  [ -f "$program" ] && [ ! -L "$program" ] || fail "$(basename "$program") of $tarball is no program, but a link"
done
chmod 0755 "$directory"/_t-rex-64*
echo "$release sha256:$sha256" >"$directory/release"
kept=$(find "$directory" -type f -printf '%s\n' | awk '{bytes += $1} END {print bytes + 0}')
echo "TRex $release: $((kept / 1000000)) MB of $((total / 1000000)) MB kept"
