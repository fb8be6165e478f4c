#!/bin/bash
# The suites that need a real bluetoothd, in two guests of Tests/Rigs/ble at once: as root with every advertisement
# repeated, and as an unprivileged user with duplicates filtered. APSULE names the built executable; the test bundle lies
# beside it, and is copied: the user may not be able to read the checkout.
set -uo pipefail
rig=$(cd "$(dirname "$0")/../Rigs/ble" && pwd)
build=$(dirname "$APSULE")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0
copies=(--copy "$build/ApsulePackageTests.xctest=/opt/apsule/tests")
for file in "$build"/*.so; do copies+=(--copy "$file=/opt/apsule/${file##*/}"); done

# suites USER [RIG OPTION…]: writes the log, ends with the code of the tests
suites() {
    local user=$1
    shift
    # shellcheck disable=SC2016 # the guest's home
    "$rig/ble-rig" --timeout 1200 --user "$user" "${copies[@]}" "$@" -- \
        bash -c 'cd "$HOME"; exec /opt/apsule/tests --testing-library swift-testing --filter RigTests' \
        >"$folder/$user" 2>&1
}

# report USER CODE: what failed and was skipped, and the counts
report() {
    local user=$1 code=$2 tests=0 bad
    echo "--- as $user"
    grep -E '^(✘|➜) ' "$folder/$user"
    [[ $(grep -oE 'Test run with [0-9]+ test' "$folder/$user" | tail -n 1) =~ [0-9]+ ]] && tests=${BASH_REMATCH[0]}
    bad=$(grep -cE '^✘ Test .* failed after' "$folder/$user")
    if ((tests == 0 || (code != 0 && bad == 0))); then
        bad=1
        tail -n 40 "$folder/$user"
    fi
    ((tests < bad)) || passed=$((passed + tests - bad))
    failed=$((failed + bad))
}

suites root &
first=$!
suites nobody --filter-duplicates --env BLE_FILTER=1
code=$?
wait $first
report root $?
report nobody $code
echo "$passed passed, $failed failed"
((failed == 0))
