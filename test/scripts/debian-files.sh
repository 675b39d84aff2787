#!/usr/bin/env bash
# debian-files.sh ARCHITECTURE FOLDER PROGRAM...: gets programs out of the Debian
# packages of their names, for an architecture that this machine need not have,
# with the loader and libraries that they need. FOLDER/PROGRAM.files lists them as
# SOURCE:DESTINATION for `lab image`, with the packages' copyright files and
# descriptions, by which a scanner of images knows them.
#
# apt works with its own state in FOLDER, and with this machine's sources
# and keys, so that their signatures count; nothing is installed.
set -euo pipefail
architecture=$1 folder=$(realpath -m "$2"); shift 2
rm -rf "$folder"
mkdir -p "$folder"/{state/lists/partial,cache/archives/partial,packages,status.d}
: >"$folder/status"
cat >"$folder/apt.conf" <<CONF
#clear APT::Architectures;
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "root";
Dir::State "$folder/state";
Dir::State::status "$folder/status";
Dir::Cache "$folder/cache";
CONF
export APT_CONFIG=$folder/apt.conf
apt-get -qq update >&2
# base-files says which Debian this is.
apt-get -qq -y --no-install-recommends --download-only install base-files "$@" >&2
for package in "$folder"/cache/archives/*.deb; do
  name=$(dpkg-deb --field "$package" Package)
  dpkg-deb --extract "$package" "$folder/packages/$name"
  # In the form of dpkg's own database.
  { dpkg-deb --field "$package"; echo "Status: install ok installed"; } >"$folder/status.d/$name"
done

# find_file PATH...: the first of the paths that a package has. A link leads to a
# file of a package again, and never to one of this machine.
find_file() {
  local path file target
  for path in "$@"; do
    for file in "$folder"/packages/*/"${path#/}" "$folder"/packages/*/usr/"${path#/}"; do
      if [ -L "$file" ]; then
        target=$(readlink "$file")
        [[ $target == /* ]] || target=${path%/*}/$target
        find_file "$target" && return
      elif [ -f "$file" ]; then
        echo "$file"
        return
      fi
    done
  done
  return 1
}
needed() { readelf --wide --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

# files PROGRAM: its lines, each once.
files() {
  local program=$1 file triplet loader queue library found
  file=$(find_file "/usr/bin/$program") || { echo "the Debian package $program has no /usr/bin/$program" >&2; return 1; }
  loader=$(readelf --wide --program-headers "$file" | sed -n 's/.*Requesting program interpreter: \(.*\)\]/\1/p')
  found=$(find_file "$loader" "/lib/${loader##*/}") || { echo "no package has the loader $loader" >&2; return 1; }
  echo "$file:/usr/bin/$program"
  echo "$found:$loader"
  local -A seen=()
  mapfile -t queue < <(needed "$file")
  while [ ${#queue[@]} -gt 0 ]; do
    library=${queue[0]} queue=("${queue[@]:1}")
    [ -z "${seen[$library]:-}" ] || continue
    seen[$library]=yes
    [ "$library" != "${loader##*/}" ] || continue
    for triplet in x86_64-linux-gnu aarch64-linux-gnu; do
      if found=$(find_file "/lib/$triplet/$library" "/lib/$triplet/perl5/$library"); then
        echo "$found:/lib/$triplet/$library"
        mapfile -t -O ${#queue[@]} queue < <(needed "$found")
        continue 2
      fi
    done
    echo "no package has the library $library, which $program needs" >&2
    return 1
  done
}

for program in "$@"; do
  files "$program" >"$folder/$program.programs"
  {
    cat "$folder/$program.programs"
    echo "$folder/packages/base-files/usr/lib/os-release:/etc/os-release"
    sed "s|^$folder/packages/\([^/]*\)/.*|\1|" "$folder/$program.programs" | sort -u | while read -r name; do
      echo "$folder/status.d/$name:/var/lib/dpkg/status.d/$name"
      # Some packages have their documentation in another's folder.
      documents=$name
      [ ! -L "$folder/packages/$name/usr/share/doc/$name" ] || documents=$(basename "$(readlink "$folder/packages/$name/usr/share/doc/$name")")
      copyright=$(find_file "/usr/share/doc/$documents/copyright") || { echo "the Debian package $name has no copyright file" >&2; exit 1; }
      echo "$copyright:/usr/share/doc/$name/copyright"
    done
  } >"$folder/$program.files"
done
rm -rf "$folder/cache" "$folder/state"
