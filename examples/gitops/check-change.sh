#!/usr/bin/env bash
# Checks a change of manifests before it is merged, in any CI: validates the manifests, plans them
# against the last snapshot of each cluster, rehearses the plans, and writes the comment for the
# pull request. Nothing is connected to.
#
#   check-change.sh MANIFESTS SNAPSHOTS OUT [BASE]
#
#   MANIFESTS  the folder of manifests as the change has them
#   SNAPSHOTS  a folder with CLUSTER.json or CLUSTER.json.gz, as `poolkeeper snapshot` writes them
#   OUT        a folder for comment.md, and for each cluster plan.json, plan.html and rehearsal.html
#   BASE       the manifests without the change, so that the comment says what the change adds
#
# A declared cluster without a snapshot is not checked, and the comment says so.
#
# Exit code 0: nothing speaks against a merge. 1: the manifests are wrong, what they declare can never
# be done, or a rehearsal ends badly; the comment says what. 3: the check itself failed.
set -uo pipefail

usage() { sed -n '6,11s/^# \{0,1\}//p' "$0" >&2; exit 3; }
[ $# -ge 3 ] && [ $# -le 4 ] || usage
manifests=$1 snapshots=$2 out=$3 base=${4-}
for folder in "$manifests" "$snapshots" ${base:+"$base"}; do
  [ -d "$folder" ] || { echo "check-change: $folder is not a folder" >&2; exit 3; }
done
command -v poolkeeper > /dev/null || { echo "check-change: poolkeeper is not installed" >&2; exit 3; }
mkdir -p "$out" || exit 3
comment=$out/comment.md
# Hosts refuse comments above 65,536 characters; a plan takes 60,000 at most.
limit=60000
days=${SNAPSHOT_DAYS:-2}
# The problems of a plan that waiting does not solve: fewer partitions than are there, keys that
# would move, a broker that nobody has ever seen.
impossible='PartitionsNeverShrink|KeysWouldMove|BrokersMissing'
verdict=0

fenced() { printf '```\n'; cat; printf '```\n'; }
hash_of() { sed -n 's/.*"hash": *"\(sha256:[0-9a-f]*\)".*/\1/p' "$1" | head -n 1; }
# The hash is that of what needs approval: creations and configs are told by the steps themselves.
told_by() { hash_of "$1"; sed -En '/^ "(steps|problems)": \[$/,/^ \]/p' "$1"; }

if ! errors=$(poolkeeper validate -f "$manifests" 2>&1); then
  { printf '# The manifests are wrong\n\n'; printf '%s\n' "$errors" | head -c "$limit" | fenced; } > "$comment"
  printf '%s\n' "$errors" >&2
  exit 1
fi
declared=$(poolkeeper validate -f "$manifests" --output json) || exit 3

# listed NAME: a list of texts in what is declared, one a line, as JSON has them.
listed() { printf '%s\n' "$declared" | sed -n "/^  \"$1\": \[\$/,/^  \]/s/^    \"\(.*\)\",\{0,1\}\$/\1/p"; }

# written FILE: when, in seconds; a check-out gives every file the time of the check-out.
written() {
  local committed
  committed=$(git -C "$(dirname "$1")" log -1 --format=%ct -- "$(basename "$1")" 2> /dev/null)
  printf '%s' "${committed:-$(date -r "$1" +%s)}"
}

# check CLUSTER SNAPSHOT: writes what the comment says of one cluster to standard output.
check() {
  local cluster=$1 snapshot=$2 folder=$out/$1 code
  mkdir -p "$folder"
  # Of an earlier change, where the folder is kept: what fails now would leave it.
  rm -f "$folder"/plan.* "$folder"/rehearsal.* "$folder/base.json"
  poolkeeper plan -f "$manifests" --cluster "$cluster" --snapshot "$snapshot" --rehearse \
    --out "$folder/plan.json" --output markdown > "$folder/plan.md" 2> "$folder/errors.txt"
  code=$?
  case $code in
    0|2|4) ;;
    *) printf '# Cluster %s cannot be planned\n\n' "$cluster"; fenced < "$folder/errors.txt"; return 1 ;;
  esac
  if [ "$(($(date +%s) - $(written "$snapshot")))" -gt "$((days * 86400))" ]; then
    printf '> The snapshot of %s is more than %s days old.\n\n' "$cluster" "$days"
  fi
  if [ -n "$base" ] && adds_nothing "$cluster" "$snapshot" "$folder"; then
    printf '> The change itself adds nothing to this plan: it waits already.\n\n'
  fi
  cat "$folder/plan.md"
  if grep -Eq "\"reason\": *\"($impossible)\"" "$folder/plan.json"; then
    printf '\n## Some of what is declared can never be done\n\n'
    printf 'See "Not done, and why" above: the rest of the plan would be carried out without it.\n'
    return 1
  fi
  [ "$code" = 0 ] && return 0
  poolkeeper plan -f "$manifests" --cluster "$cluster" --snapshot "$snapshot" --output html \
    > "$folder/plan.html" 2> "$folder/errors.txt"
  poolkeeper rehearse -f "$manifests" --cluster "$cluster" --snapshot "$snapshot" \
    --out "$folder/rehearsal.html" > "$folder/rehearsal.txt" 2> "$folder/errors.txt"
  code=$?
  [ "$code" = 0 ] && return 0
  printf '\n## The rehearsal ends badly\n\n'
  cat "$folder/rehearsal.txt" "$folder/errors.txt" | head -n 60 | fenced
  return 1
}

adds_nothing() {
  local before=$3/base.json
  poolkeeper plan -f "$base" --cluster "$1" --snapshot "$2" --out "$before" --output json \
    > /dev/null 2>&1
  [ -f "$before" ] && [ "$(told_by "$before")" = "$(told_by "$3/plan.json")" ]
}

: > "$comment"
others=$(listed others | head -n 8 | paste -s -d , - | sed 's/,/, /g')
[ -z "$others" ] || printf '> Documents of others are left alone: %s.\n\n' "$others" > "$comment"
found=0
for snapshot in "$snapshots"/*.json "$snapshots"/*.json.gz; do
  [ -f "$snapshot" ] || continue
  found=$((found + 1))
  cluster=$(basename "$snapshot"); cluster=${cluster%.gz}; cluster=${cluster%.json}
  mkdir -p "$out/$cluster"
  check "$cluster" "$snapshot" > "$out/$cluster/comment.md" || verdict=1
  size=$(cat "$comment" "$out/$cluster/comment.md" | wc -c)
  if [ "$size" -le "$limit" ]; then
    cat "$out/$cluster/comment.md" >> "$comment"
  else
    { head -n 5 "$out/$cluster/comment.md"; printf '\n(All of it is in the files of this check.)\n'; } >> "$comment"
  fi
  printf '\n' >> "$comment"
done
for cluster in $(listed clusters); do
  [ -f "$snapshots/$cluster.json" ] || [ -f "$snapshots/$cluster.json.gz" ] ||
    printf '> Cluster %s has no snapshot: what the change does to it was not checked.\n\n' \
      "$cluster" >> "$comment"
done
if [ "$found" = 0 ]; then
  echo "check-change: $snapshots holds no snapshot: write one with 'poolkeeper snapshot --out CLUSTER.json.gz'" >&2
  exit 3
fi
exit "$verdict"
