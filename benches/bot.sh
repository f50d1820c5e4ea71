#!/usr/bin/env bash
# `bot run` over many repositories with nothing to do, each with an open request: wall time, processor time, memory, and requests by the simulator's log; beside it,
# in the same run, `git clone --bare --depth 1` of the same repositories. Needs GNU time, Python, and the test kit.
#   cargo build --release && benches/bot.sh
set -euo pipefail
cd "$(dirname "$0")/.."
program=${PROGRAM:-$PWD/target/release/haptic-scaffold}
kit=$(realpath "${HAPTIC_SCAFFOLD_TEST_KIT:-../shared}")
scratch=$(mktemp -d)
export HOME=$scratch/home GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
mkdir -p "$HOME"
cd "$scratch"
"$program" init demo --layout flux-cluster --chart-version 0.2.1 --certificates cert-manager --yes >out
echo "haptic: [0.2.1, 0.2.2]" >versions.yaml
python3 "$kit/sim/forge_sim.py" --kind gitlab --max-seconds 900 >sim.json &
simulator=$!
trap 'kill $simulator; rm -rf "$scratch"' EXIT
until [ -s sim.json ]; do sleep 0.1; done
address() { python3 -c "import json; print(json.load(open('sim.json'))['$1'])"; }
post() { curl -sf "$(address control)/_sim/$1" -d "$2"; }
HAPTIC_SCAFFOLD_TOKEN=$(post tokens '{"forge":"gitlab","name":"bot","user":"bot","scopes":["api"]}' | python3 -c 'import json, sys; print(json.load(sys.stdin)["secret"])')
export HAPTIC_SCAFFOLD_TOKEN
post projects/bulk "{\"forge\":\"gitlab\",\"prefix\":\"team/app-\",\"count\":200,\"from\":\"$scratch/demo\",\"members\":{\"bot\":\"developer\"}}" >out
for number in $(seq 0 199); do printf '%s/team/app-%03d.git\n' "$(address gitlab)" "$number"; done >all.txt
head -50 all.txt >some.txt
# A list that names no repository would be quick.
"$program" bot run --repos all.txt --forge gitlab --versions versions.yaml >first.txt || { grep -A3 "failed:" first.txt; exit 1; }
grep -c "merge request created" first.txt | grep -qx 200
for list in some.txt all.txt; do
    before=$(curl -sf "$(address control)/_sim/counts" | python3 -c 'import json, sys; print(json.load(sys.stdin)["last_id"])')
    command time -o time.txt -f "%e s, %U s user, %S s system, %M KiB at most" \
        "$program" bot run --repos "$list" --forge gitlab --versions versions.yaml >again.txt
    grep -c "merge request same" again.txt | grep -qx "$(wc -l <"$list")"
    after=$(curl -sf "$(address control)/_sim/counts" | python3 -c 'import json, sys; print(json.load(sys.stdin)["last_id"])')
    echo "$(wc -l <"$list") repositories: $(cat time.txt), $((after - before)) requests"
done
clone() { git -c credential.helper='!f() { echo username=oauth2; echo "password=$HAPTIC_SCAFFOLD_TOKEN"; }; f' clone -q --bare --depth 1 "$1" "clones/$(basename "$1")"; }
export -f clone
mkdir clones
command time -f "git clone --bare --depth 1 of the same, four at a time: %e s, %U s user, %S s system" xargs -P 4 -I{} bash -c 'clone {}' <all.txt
