#!/bin/busybox sh
# initramfs init: load modules, mount this machine's root (9p, read-only) under a tmpfs overlay, go there.
b=/bin/busybox
$b mount -t devtmpfs dev /dev
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
while read -r m; do $b insmod "/m/$m" 2>/dev/null || echo "init: insmod $m failed"; done </m/order
for word in $($b cat /proc/cmdline); do
  case $word in rig.dir=*) dir=${word#*=} ;; rig.run=*) run=${word#*=} ;; rig.share=*) share=${word#*=} ;; esac
done
$b mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 root /lower || $b poweroff -f
$b mount -t tmpfs -o mode=755 rw /rw
$b mkdir /rw/upper /rw/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work overlay /root || $b poweroff -f
for d in dev proc sys; do $b mkdir -p /root/$d; $b mount --move /$d /root/$d; done
$b mount -t tmpfs -o mode=755 run /root/run
if [ -n "$share" ]; then
  $b mkdir -p "/root$share"
  $b mount -t 9p -o trans=virtio,version=9p2000.L,cache=none,msize=512000 share "/root$share"
fi
exec $b switch_root /root /bin/bash "$dir/guest-run.sh" "$run"
