#!/bin/bash
# Process 1 of the machine of uml.py: runs $WORK/script, its output and status go beside it.
exec >/dev/console 2>&1 </dev/null
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mkdir -p /run/job /run/etc /run/bin /run/tree/lib/modules
mount -t hostfs none /run/job -o "$WORK"
mount -t hostfs none /run/tree/lib/modules -o "$PACKAGES/usr/lib/uml/modules"
cp -a /etc/. /run/etc
mount --bind /run/etc /etc
mount -t tmpfs tmpfs /tmp
ip link set lo up

# modprobe for the script and for the kernel: this machine's, or the unpacked package's.
cat >/run/bin/modprobe <<END
#!/bin/bash
PATH=$PATH:$PACKAGES/bin:$PACKAGES/usr/bin
export LD_LIBRARY_PATH=$(compgen -G "$PACKAGES/usr/lib/*-linux-gnu"):$(compgen -G "$PACKAGES/lib/*-linux-gnu")
exec -a modprobe "\$(type -P kmod)" -d /run/tree "\$@"
END
chmod +x /run/bin/modprobe
echo /run/bin/modprobe >/proc/sys/kernel/modprobe
export PATH=/run/bin:$PATH

cd /tmp && bash /run/job/script >/run/job/output 2>&1 </dev/null
echo $? >/run/job/status
halt -d -f
