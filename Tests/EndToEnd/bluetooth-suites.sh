#!/bin/bash
# The suites of BluetoothRigTests beside a real bluetoothd (Tests/Rigs/ble/bluetooth-suites). They take minutes, so what
# has passed runs again only when something that it tests or uses has changed, or with --again.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
build=$(dirname "$APSULE")
stamp=.cache/bluetooth-suites.passed
state=$({
    cat "$build"/lib{apsule-bluetooth,ApsuleDBus,ApsuleKit}.so /usr/libexec/bluetooth/bluetoothd Manifests/bluetooth.json
    find Tests/BluetoothRigTests Tests/Rigs/ble Tests/Support -type f -not -path '*/__pycache__/*' -print0 | sort -z | xargs -0 cat
} | sha256sum)
if [[ ${1-} != --again && -f $stamp && $(head -n 1 $stamp) == "$state" ]]; then
    echo "nothing has changed since they passed at $(date -r $stamp '+%F %T'); --again runs them nevertheless"
    tail -n 1 $stamp
    exit 0
fi
rm -f $stamp
log=$(mktemp)
trap 'rm -f "$log"' EXIT
Tests/Rigs/ble/bluetooth-suites | tee "$log"
code=${PIPESTATUS[0]}
((code != 0)) || { echo "$state"; tail -n 1 "$log"; } >$stamp
exit "$code"
