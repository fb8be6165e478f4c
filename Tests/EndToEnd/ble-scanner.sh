#!/bin/bash
# The main job on real input: the scanner example beside a real bluetoothd and emulated peripherals, as root with every
# advertisement repeated and as an ordinary user with duplicates filtered; then the four ways in which it cannot work.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
rig=$root/Tests/Rigs/ble/ble-rig
build=$(dirname "$APSULE")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0

copies=(--apsule "$build" --copy "$root/Examples/ble-scanner=/opt/apsule/ble-scanner")

# expect TEXT…: each stands in the log, counted one by one
expect() {
    local text bad=0
    for text in "$@"; do
        if grep -qE -- "$text" "$log"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1)) bad=1
            echo "FAILED: no '$text'"
        fi
    done
    ((bad == 0)) || tail -n 60 "$log"
}

# session USER [RIG OPTION…]
session() {
    local user=$1
    shift
    echo "--- the scanner as $user $*"
    "$rig" --timeout 400 --user "$user" "${copies[@]}" "$@" -- \
        "$root/Tests/Rigs/ble/scanner-session" /opt/apsule/apsule /opt/apsule/ble-scanner >"$log" 2>&1
    expect '^found Rig Heart  -[0-9]+ dBm  \[180d 180f\]  .*: 01020304$' \
        '^found Rig Beacon  -7[0-9] dBm  \[feaa\]' '^found Rig Sensor  -8[0-9] dBm  \[181a\]  Apple.*: 0215$' \
        '^silent Rig Sensor$' '^scan lost$' '^scan resubscribed$' '^connected [0-9]+ services$' '^battery 87 %$' \
        '^heart rate 7[234]$' '^echo hello$' '^encrypted value 2a$' '^link lost: ' '^exit 0$'
    if (($(grep -cE '^heart rate ' "$log") == 10)); then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED: ten notifications"; fi
}

# refused CODE RIG OPTION…: authorization names the state, a scan fails with reason and fix
refused() {
    local code=$1
    shift
    echo "--- $code $*"
    # shellcheck disable=SC2016 # expanded in the guest
    "$rig" --timeout 120 "${copies[@]}" "$@" -- bash -c \
        'cd "$HOME"; [[ $0 != *blocked ]] || ble-daemon block; /opt/apsule/apsule call bluetooth.scan --allow bluetooth 2>&1; echo "exit $?"' "$code" >"$log" 2>&1
    expect "^$code: " '^  fix: ' '^exit 4$'
}

session root
session nobody --filter-duplicates
refused bluetooth.adapter_off --powered-off
refused bluetooth.adapter_missing --no-adapter
refused bluetooth.daemon_missing --no-daemon
refused bluetooth.adapter_blocked
echo "$passed passed, $failed failed"
((failed == 0))
