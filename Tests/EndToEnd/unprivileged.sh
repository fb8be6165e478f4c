#!/bin/bash
# run.sh once more as a user without privileges, from a copy that such a user can read: prompts, grants, state folders and
# confinement where nothing is forgiven as it is to root.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
apsule=$(realpath "${APSULE:-$here/../../.build/release/apsule}")
((EUID == 0)) || exec python3 "$here/run.py"
copy=$(mktemp -d "${TMPDIR:-/tmp}/apsule-unprivileged.XXXXXX")
trap 'rm -rf "$copy"' EXIT
build=$(dirname "$apsule")
mkdir "$copy/bin" "$copy/home"
cp -r "$build/apsule"{,-worker,-launch} "$build"/*.so "$build/Manifests" "$copy/bin"
cp "$here"/*.py "$copy"
chmod -R a+rX "$copy"
chown 65534:65534 "$copy/home"
setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
    env APSULE="$copy/bin/apsule" TMPDIR="$copy/home" PYTHONDONTWRITEBYTECODE=1 python3 "$copy/run.py"
