#!/usr/bin/env bash
# Whole-process times as ratios, in one run: init of a fleet of three clusters with its commit against git init, git add and
# git commit of the same files, and the cold start of --help against that of git. Needs hyperfine.
#   cargo build --release && benches/init.sh
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/target/release/haptic-scaffold
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
cd "$scratch"
init="$program init new --layout flux-fleet --clusters staging,eu,us --chart-version 0.2.2 --yes --quiet"
$init >/dev/null && rm -rf new/.git && mv new files

hyperfine --warmup 3 --runs 30 --export-json init.json \
    --prepare 'rm -rf new' -n "haptic-scaffold init" "$init" \
    --prepare 'rm -rf new && cp -r files new' -n "git init, add, commit" 'cd new && git init -q -b main && git add . && git commit -q -m x'
hyperfine --warmup 3 --runs 50 -N --export-json help.json \
    -n "haptic-scaffold --help" "$program --help" -n "git --version" 'git --version'
python3 - <<'PY'
import json
for name in ("init", "help"):
    ours, theirs = json.load(open(f"{name}.json"))["results"]
    print(f"{name}: {ours['median'] * 1000:.1f} ms against {theirs['median'] * 1000:.1f} ms, ratio {ours['median'] / theirs['median']:.2f}")
PY
