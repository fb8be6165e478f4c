#!/bin/bash
# PID 1 in the guest: starts the bus, the adapter and bluetoothd (guest-daemon.sh), then the command.
# shellcheck disable=SC1091,SC2154 # ble-rig writes the settings
exec >/dev/console 2>&1 </dev/null
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$1/settings"            # written by ble-rig
export PATH=$here:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
uptime() { local up; read -r up _ </proc/uptime; echo "${up%.*}${up#*.}"; }   # hundredths of a second
say() { echo "rig: $(uptime) $*"; }

# the virtio ports: out and err carry the command's output, rc its exit code, logs a tar of the logs
declare -A port
for p in /sys/class/virtio-ports/*; do port[$(<"$p/name")]=/dev/${p##*/}; done
exec {out}>"${port[out]}" {err}>"${port[err]}" {rcfd}>"${port[rc]}" {logs}>"${port[logs]}"
log=/run/rig trace=''; mkdir -p $log
finish() {
  say "exit $1"
  [[ -n $trace ]] && { kill "$trace"; wait "$trace"; }                  # writes what it holds
  [[ $rig_logs == 1 ]] && tar -C $log -cf - . 1>&"$logs" 2>/dev/null
  printf %s "$1" >&"$rcfd"
  for fd in $out $err $rcfd $logs; do printf %s "$rig_mark" >&"$fd"; done
  while :; do sleep 60; done          # ble-rig ends the guest once it has read it all
}

ln -sf /proc/self/fd /dev/fd; ln -sf fd/0 /dev/stdin; ln -sf fd/1 /dev/stdout; ln -sf fd/2 /dev/stderr
mkdir -p /dev/shm /dev/pts /run/dbus /run/ble-rig
mount -t tmpfs shm /dev/shm; mount -t devpts -o ptmxmode=666 devpts /dev/pts
chmod 1777 /tmp /dev/shm; chmod 666 /dev/null /dev/zero /dev/random /dev/urandom /dev/tty
hostname ble-rig; busybox ifconfig lo 127.0.0.1 up
say 'guest up'

ln -sf "${port[peer]}" /dev/ble-peer; chmod 666 "${port[peer]}"
dbus-uuidgen --ensure=/etc/machine-id
dbus-daemon --system --fork --nopidfile || finish 120
mkfifo /run/ble-rig/request /run/ble-rig/answer; chmod 666 /run/ble-rig/*
bash "$here/guest-daemon.sh" "$1" &
say 'bus up'
[[ $rig_adapter == 0 ]] || ble-daemon plug || finish 122
[[ $rig_daemon == 0 ]] || ble-daemon start || { cat $log/*.log; finish 122; }
[[ $rig_trace == 1 ]] && { btmon -w $log/hci.btsnoop >/dev/null 2>&1 & trace=$!; sleep 1; }

# what the command's user needs: copies that it can read, and folders of its own, all in the guest's memory
home=/home/rig uid=$(id -u "$rig_user") gid=$(id -g "$rig_user")
for c in "${copies[@]}"; do
  mkdir -p "$(dirname "${c#*=}")"; cp -RHT --preserve=mode,links "${c%%=*}" "${c#*=}" || finish 123
done
install -d -m 700 -o "$uid" -g "$gid" $home $home/{.config,.cache,.local,.local/share,.local/state} \
  "/run/user/$uid"
as=()
[[ $rig_user != root ]] && as=(setpriv --reuid "$uid" --regid "$gid" --init-groups --no-new-privs)
say 'command'
( cd "$rig_cwd" 2>/dev/null || cd /
  exec env HOME=$home XDG_CONFIG_HOME=$home/.config XDG_CACHE_HOME=$home/.cache XDG_DATA_HOME=$home/.local/share \
    XDG_STATE_HOME=$home/.local/state "XDG_RUNTIME_DIR=/run/user/$uid" \
    DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket BLE_RIG=1 BLE_PEER=/dev/ble-peer \
    "${env[@]}" "${as[@]}" "${command[@]}"
) >&$out 2>&$err {out}>&- {err}>&- {rcfd}>&- {logs}>&-
finish $?
