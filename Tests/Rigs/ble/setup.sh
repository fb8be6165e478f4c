#!/bin/bash
# Prepares the guest's kernel and initramfs in the cache (once; a moment when already done).
# The packages and the Python environment come from Scripts/setup --test; here only apt is asked, for the kernel.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
cache=${BLE_RIG_CACHE:-$root/.cache/ble-rig}
mkdir -p "$cache"
exec 9>"$cache/lock"; flock 9

need() { command -v "$1" >/dev/null || { echo "ble-rig: no $1; run Scripts/setup --test" >&2; exit 1; }; }
for tool in qemu-system-x86_64 busybox depmod modprobe cpio dbus-daemon btattach; do need "$tool"; done
"$root/.cache/venv/bin/python" -c 'import bumble' 2>/dev/null ||
  { echo "ble-rig: no bumble in $root/.cache/venv; run Scripts/setup --test" >&2; exit 1; }

# --- guest kernel: unpacked, never installed on this machine ------------------------------
if [[ ! -e $cache/kernel/ready ]]; then
  # exact names: a wildcard would fetch every kernel of the release
  current=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends: linux-image-/{print $2; exit}')
  [[ $current =~ ^(linux-image-[0-9.]+-)[0-9]+(-amd64)$ ]] ||
    { echo 'ble-rig: no linux-image-amd64 in the lists of apt; run apt-get update' >&2; exit 1; }
  # 6.1.192 has a bug (fine in 6.1.190): a connection that is not answered for four seconds oopses the kernel and
  # takes bluetoothd along (hci_chan_del in l2cap_sock_release)
  pkg=$current
  while read -r name; do
    version=$(apt-cache policy "$name" | awk '/Candidate:/{print $2}')
    [[ $version != 6.1.192-* ]] && { pkg=$name; break; }
  done < <(apt-cache search --names-only "^${BASH_REMATCH[1]}[0-9]+${BASH_REMATCH[2]}\$" | awk '{print $1}' | sort -rV)
  rm -rf "$cache/kernel"; mkdir -p "$cache/kernel"
  (cd "$cache/kernel" && apt-get -o APT::Sandbox::User=root download "$pkg" >"$cache/apt.log" 2>&1) ||
    { tail -5 "$cache/apt.log" >&2; exit 1; }
  version=${pkg#linux-image-}
  m=./lib/modules/$version
  dpkg-deb --fsys-tarfile "$cache"/kernel/*.deb | tar -x -C "$cache/kernel" --wildcards \
    "./boot/vmlinuz-$version" "$m/modules.*" "$m/kernel/crypto/*" "$m/kernel/lib/*" "$m/kernel/arch/x86/crypto/*" \
    "$m/kernel/net/bluetooth/*" "$m/kernel/drivers/bluetooth/*" "$m/kernel/net/rfkill/*" "$m/kernel/net/9p/*" \
    "$m/kernel/fs/9p/*" "$m/kernel/fs/netfs/*" "$m/kernel/fs/fscache/*" "$m/kernel/fs/overlayfs/*" \
    "$m/kernel/drivers/virtio/*" "$m/kernel/drivers/char/*" "$m/kernel/drivers/hid/*"
  rm -f "$cache"/kernel/*.deb
  # the plain ELF inside vmlinuz boots directly (PVH): saves unpacking xz in the emulator
  python3 - "$cache/kernel/boot/vmlinuz-$version" "$cache/kernel/vmlinux" <<'PY'
import lzma, sys
image = open(sys.argv[1], "rb").read()
elf = lzma.LZMADecompressor().decompress(image[image.index(b"\xfd7zXZ\0"):])
assert elf[:4] == b"\x7fELF"
open(sys.argv[2], "wb").write(elf)
PY
  depmod -b "$cache/kernel" "$version"
  echo "$version" >"$cache/kernel/ready"
fi
version=$(<"$cache/kernel/ready")

# --- initramfs: busybox, the modules in load order, init ------------------------------------
if [[ ! $cache/initrd.img -nt $here/guest-init.sh || ! $cache/initrd.img -nt $here/setup.sh ]]; then
  tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
  mkdir -p "$tmp"/{bin,m,dev,proc,sys,lower,rw,root}
  cp "$(command -v busybox)" "$tmp/bin/busybox"
  for mod in virtio_pci 9pnet_virtio 9p overlay virtio_console virtio-rng \
    ctr hmac sha256_generic sha512_generic drbg ecdh_generic cmac ecb \
    af_alg algif_hash algif_skcipher uhid bluetooth hci_uart; do
    modprobe -d "$cache/kernel" -S "$version" --show-depends "$mod" 2>/dev/null || true
  done | awk '$1 == "insmod" && !seen[$2]++ {print $2}' >"$tmp/list"
  while read -r f; do cp "$f" "$tmp/m/"; basename "$f"; done <"$tmp/list" >"$tmp/m/order"
  rm "$tmp/list"
  install -m 755 "$here/guest-init.sh" "$tmp/init"
  (cd "$tmp" && find . | cpio -o -H newc --quiet) >"$cache/initrd.img.new"
  mv "$cache/initrd.img.new" "$cache/initrd.img"
fi
echo "ble-rig ready: kernel $version, cache $cache"
