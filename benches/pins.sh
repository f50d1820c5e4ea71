#!/usr/bin/env bash
# Whole-process times as ratios, in one run: pins in 10,000 manifests against ripgrep and git grep counting a word in the same
# files, and pins of a revision in a bare repository against git grep there. Needs hyperfine, ripgrep, GNU time, and the test kit.
#   cargo build --release && benches/pins.sh
set -euo pipefail
cd "$(dirname "$0")/.."
program=${PROGRAM:-$PWD/target/release/haptic-scaffold}
kit=$(realpath "${HAPTIC_SCAFFOLD_TEST_KIT:-../shared}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch GIT_CONFIG_NOSYSTEM=1
cd "$scratch"
python3 "$kit/bench/gen_gitops_demo.py" scale tree --manifests 10000
git clone -q --bare tree tree.git
tree="$program -C tree pins --offline --output json" revision="$program -C tree.git pins --offline --output json"

hyperfine -N --warmup 5 --runs 40 --export-json files.json \
    -n "pins" "$tree" -n "rg -c version" "rg -c version tree" -n "git grep -c version" "git -C tree grep -c version"
hyperfine -N --warmup 5 --runs 40 --export-json revision.json \
    -n "pins of a revision" "$revision" -n "git grep -c version HEAD" "git -C tree.git grep -c version HEAD"
python3 - <<'PY'
import json
for name in ("files", "revision"):
    ours, *others = json.load(open(f"{name}.json"))["results"]
    for other in others:
        print(f"{name}: {ours['median'] * 1000:.0f} ms against {other['command']}, {other['median'] * 1000:.0f} ms: ratio {ours['median'] / other['median']:.2f}")
PY
for run in "$tree" "$revision"; do
    command time -f "%M KiB at most" $run >/dev/null
done
