#!/usr/bin/env bash
# parts.sh TARGET...: makes one target after the other, also after one that
# failed, and prints a table of them at the end. MAKE is the program.
#
# A script with parts sources this file, and calls `part NAME COMMAND...` for
# each. Scripts that parts call add to the same table: PARTS is the file with its
# rows, what began and what ended, a tab between fields. A command says why it was
# not run by a line that begins with "NOT RUN:", and what of it was not run by a
# line that begins with "NAME: NOT RUN".
set -euo pipefail

# parts_begin prepares a table, which is printed when the script ends, unless
# there is one that the script adds to. NAME... are the parts that it will have.
parts_begin() {
  [ -z "${PARTS:-}" ] || return 0
  PARTS=$(mktemp)
  export PARTS PARTS_INDENT=
  expected=$(printf '%s\n' "$@")
  # What a script does at its end too is in its function at_end.
  trap 'parts_table; if declare -F at_end >/dev/null; then at_end; fi' EXIT
}

# part prints when a command begins and ends, and returns its exit code. A
# function can be no part in a condition: bash ignores `set -e` in it there.
part() {
  local name=$1 row="${PARTS_INDENT:-}$1" from=$SECONDS code result=passed log; shift
  log=$(mktemp)
  printf 'begin\t%s\n' "$row" >>"$PARTS"
  printf '\n### %s begins at %s\n' "$name" "$(date +%T)"
  set +e
  (set -e; PARTS_INDENT+='  '; "$@") 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  set -e
  # What has parts leaves it to them to say what was not run.
  if grep -q '^### .* begins at ' "$log"; then : >"$log"; fi
  if [ "$code" != 0 ]; then
    result="failed"
  elif grep -q '^NOT RUN: ' "$log"; then
    result="not run: $(sed -n '/^NOT RUN: /{s///p;q}' "$log")"
    : >"$log"
  fi
  { grep -E '^[a-z0-9 -]+: (.*: )?NOT RUN' "$log" || true; } | sed "s/^/note\t$row\t/" >>"$PARTS"
  rm -f "$log"
  printf 'end\t%s\t%d\t%s\n' "$row" $((SECONDS - from)) "$result" >>"$PARTS"
  printf '### %s: %d s, %s\n' "$name" $((SECONDS - from)) "$result"
  return "$code"
}

# parts_table prints the parts in the order in which they began, those that did
# not begin, and how long everything took.
parts_table() {
  awk -F '\t' -v expected="$expected" -v total="$SECONDS" '
    function print_row(name, seconds, result) { printf "%-40s %7s  %s\n", name, seconds, result }
    $1 == "begin" { names[++n] = $2; known[$2] = 1 }
    $1 == "end"   { seconds[$2] = $3; result[$2] = $4 }
    $1 == "note"  { notes[$2] = notes[$2] sprintf("%50s%s\n", "", $3) }
    END {
      print ""
      print_row("part", "seconds", "result")
      for (i = 1; i <= n; i++) {
        name = names[i]
        print_row(name, seconds[name], name in result ? result[name] : "failed: it did not end")
        printf "%s", notes[name]
      }
      m = split(expected, all, "\n")
      for (i = 1; i <= m; i++) if (!(all[i] in known)) print_row(all[i], "-", "not run: a part before it failed")
      print_row("everything", total, "")
    }' "$PARTS"
  rm -f "$PARTS"
}

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
parts_begin "$@"
failed=0
for target in "$@"; do
  part "$target" "$MAKE" --no-print-directory "$target" || failed=1
done
exit $failed
