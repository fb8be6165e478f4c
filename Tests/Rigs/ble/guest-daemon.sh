#!/bin/bash
# Root's service in the guest: owns bluetoothd and the adapter, and obeys ble-daemon, which any user may run:
#   start | stop | crash | restart    bluetoothd (SIGTERM, SIGKILL)   freeze | thaw    it is there and answers nothing
#   plug | unplug                     the adapter                     power on|off     Adapter1.Powered
#   block | unblock                   rfkill, by software             deny USER | allow   the bus refuses USER
# Each answers when what was asked for has taken effect, with "ok" or "error: ...".
# shellcheck disable=SC1091,SC2154 # ble-rig writes the settings
log=/run/rig
. "$1/settings"
daemon='' adapter=''
uptime() { local up; read -r up _ </proc/uptime; echo "${up%.*}${up#*.}"; }   # hundredths of a second

# the objects of bluetoothd, as text; fails where it does not answer
objects() {
  dbus-send --system --print-reply --reply-timeout=5000 --dest=org.bluez / \
    org.freedesktop.DBus.ObjectManager.GetManagedObjects 2>/dev/null
}
answers() { [[ -n $(objects) ]]; }
present() { [[ $(objects) == *org.bluez.Adapter1* ]]; }
absent() { ! present; }
powered() { local o; o=$(objects); [[ ${o#*\"Powered\"} =~ ^[[:space:]]*variant[[:space:]]+boolean\ $1 ]]; }
gone() { ! kill -0 "$daemon" 2>/dev/null; }
ready() {
  [[ -z $daemon ]] || gone && return 1
  if [[ -z $adapter ]]; then answers
  elif [[ $rig_power == true && $(cat /sys/class/bluetooth/hci0/rfkill*/soft) == 0 ]]; then powered true
  else present; fi
}
# until CONDITION…: at most a minute ($limit), TCG on a busy machine is slow
until_() {
  local end=$(($(uptime) + ${limit:-60} * 100))
  until "$@"; do (($(uptime) < end)) || { echo "error: not '$*' within ${limit:-60} s"; return 1; }; sleep 0.05; done
}

start() {
  [[ -z $daemon ]] || gone || { echo 'error: bluetoothd runs already'; return 1; }
  /usr/libexec/bluetooth/bluetoothd --nodetach ${debug:+-d} --configfile $log/main.conf >>$log/bluetoothd.log 2>&1 &
  daemon=$!
  # Half a report of a radio that was scanning can spoil the kernel's first words: the adapter stays off, until told again.
  for _ in {1..10}; do
    limit=5 until_ ready >$log/start.log && return
    [[ $rig_power != true ]] || set_power true 2>>$log/start.log
  done
  until_ ready
}
end_daemon() {
  if [[ -z $daemon ]] || gone; then echo 'error: bluetoothd does not run'; return 1; fi
  kill -CONT "$daemon"; kill "-$1" "$daemon"; wait "$daemon"; daemon=''
}
plug() {
  [[ -z $adapter ]] || { echo 'error: the adapter is there already'; return 1; }
  attach || return
  [[ -n $daemon ]] || return 0
  # A radio that was scanning has gone on, and half a report that is still in the line can spoil the kernel's first words.
  limit=20 until_ ready >$log/plug.log || { unplug && attach && until_ ready; }
}
attach() {
  btattach -B /dev/hvc0 -P h4 >>$log/btattach.log 2>&1 &
  adapter=$!
  until_ test -e /sys/class/bluetooth/hci0
}
unplug() {
  [[ -n $adapter ]] || { echo 'error: there is no adapter'; return 1; }
  kill "$adapter"; wait "$adapter"; adapter=''
  until_ test ! -e /sys/class/bluetooth/hci0 || return
  [[ -z $daemon ]] || until_ absent
}
set_power() {
  dbus-send --system --print-reply --dest=org.bluez /org/bluez/hci0 org.freedesktop.DBus.Properties.Set \
    string:org.bluez.Adapter1 string:Powered variant:boolean:"$1" >/dev/null
}
power() {
  set_power "$1" 2>$log/power.log || { echo "error: $(<$log/power.log)"; return 1; }
  until_ powered "$1"
}
# struct rfkill_event: index, type (2: bluetooth), operation (3: all of the type), soft, hard
rfkill() {
  [[ -n $adapter ]] || { echo 'error: there is no adapter'; return 1; }
  if [[ $1 == 1 ]]; then printf '\0\0\0\0\2\3\1\0' >/dev/rfkill; else printf '\0\0\0\0\2\3\0\0' >/dev/rfkill; fi
  [[ -z $daemon ]] || if [[ $1 == 1 ]]; then until_ powered false; else until_ ready; fi
}
# the bus reads this file last, so its rule is the one that counts
policy() {
  local file=/etc/dbus-1/system-local.conf
  {
    echo '<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"'
    echo '  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd"><busconfig>'
    [[ -n ${1-} ]] && echo "<policy user='$1'><deny send_destination='org.bluez'/></policy>"
    echo '</busconfig>'
  } >$file
  dbus-send --system --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ReloadConfig >/dev/null
}

obey() {
  case $* in
    start) start ;; stop) end_daemon TERM ;; crash) end_daemon KILL ;;
    restart) end_daemon TERM && start ;;
    freeze) kill -STOP "$daemon" ;; thaw) kill -CONT "$daemon" ;;
    plug) plug ;; unplug) unplug ;;
    'power on') power true ;; 'power off') power false ;;
    block) rfkill 1 ;; unblock) rfkill 0 ;;
    'deny '*) policy "$2" ;; allow) policy ;;
    *) echo "error: unknown command $*"; return 1 ;;
  esac
}

debug=; [[ $rig_logs == 1 ]] && debug=1
printf '[General]\nName=ble-rig\n[Policy]\nAutoEnable=%s\n' "$rig_power" >$log/main.conf
rm -rf /var/lib/bluetooth; install -d -m 700 /var/lib/bluetooth
exec {requests}<>/run/ble-rig/request {answers}<>/run/ble-rig/answer    # both ways: opening never blocks
while read -r -a words <&$requests; do
  obey "${words[@]}" >$log/answer && echo ok >$log/answer               # not in a subshell: it keeps pids
  echo "rig: $(uptime) ${words[*]}: $(<$log/answer)" >/dev/console
  read -r answer <$log/answer; echo "${answer:-error: failed}" >&$answers
done
