#!/bin/bash
# Process 1 of the virtual machine: two hosts and more behind two routers, a namespace each.
#
#   S - A - B - C     down is from S to C or D: a1 is the line, b1 and b2 the way to each client
#            \- D     up: b0 is the line, a0 the way to the server
#
# The folder of the run is mounted on /run/row, results go there. Its `row.sh` has IP (4 or 6), SECONDS_,
# PORTS to tap at the server, and the functions link, which sets the queueing disciplines, and flows,
# which runs the transfers with `flow`.
exec >/dev/console 2>&1 </dev/null
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mkdir /run/row
mount -t hostfs none /run/row -o /mnt
cd /run/row || exit

in_() { ip netns exec "$@"; }

pair() { # NAMESPACE INTERFACE NAMESPACE INTERFACE NUMBER: a cable, its addresses end in .1 and .2
    local first=02:00:00:00:0$5:01 second=02:00:00:00:0$5:02
    ip link add "$2" netns "$1" address $first type veth peer name "$4" netns "$3" address $second
    local host name own mac other
    for side in "$1 $2 1 $second 2" "$3 $4 2 $first 1"; do
        read -r host name own mac other <<<"$side"
        in_ "$host" ./guest offload "$name"
        ip -n "$host" -batch - <<END
link set $name addrgenmode none txqueuelen 1000 up
addr add 10.0.$5.$own/24 dev $name
addr add fd00:$5::$own/64 dev $name nodad
neigh add 10.0.$5.$other lladdr $mac dev $name nud permanent
neigh add fd00:$5::$other lladdr $mac dev $name nud permanent
END
    done
}

set_() { # NAMESPACE KEY=VALUE..: sysctls below net; in a value + is a blank
    in_ "$1" bash -c 'for each in "$@"; do k=${each%%=*} v=${each#*=}; echo "${v//+/ }" >"/proc/sys/net/${k//.//}"; done' "$@"
}

for name in S A B C D; do
    ip netns add $name
    ip -n $name link set lo up
done
pair S s0 A a0 1
pair A a1 B b0 2
pair B b1 C c0 3
pair B b2 D d0 4
for family in -4 -6; do
    if [ $family = -4 ]; then at=10.0. of=.; else at=fd00: of=::; fi
    for route in S:1${of}2 A:2${of}2 B:2${of}1 C:3${of}1 D:4${of}1; do
        ip $family -n ${route%%:*} route add default via $at${route#*:}
    done
done
for name in A B; do
    set_ $name ipv4.ip_forward=1 ipv6.conf.all.forwarding=1
done
for name in S C D; do
    set_ $name ipv4.tcp_rmem=4096+131072+6291456 ipv4.tcp_wmem=4096+16384+4194304 ipv4.tcp_no_metrics_save=1
done

tca() { in_ A tc "$@"; }
tcb() { in_ B tc "$@"; }

server() { [ "$IP" = 6 ] && echo fd00:1::1 || echo ::ffff:10.0.1.1; }

flow() { # PORT CLIENT CONTROL [BYTES]: a transfer from S, in the background
    ip netns exec S ./guest send "$1" "$3" "send-$1.csv" ${4:+"$4"} &
    senders+=($!)
    sleep 0.1
    ip netns exec "$2" ./guest receive "$(server)" "$1" "$SECONDS_" ${4:+"$4"} >>received.jsonl &
    receivers+=($!)
}

. ./row.sh
sleep 5 # multicast memberships have been reported
link || echo "FAILED: link"
if [ -n "$PORTS" ]; then
    ip netns exec S ./guest tap s0 "$SECONDS_" rtt.csv $PORTS >tap.jsonl &
    tap=$!
    sleep 0.5
fi
receivers=() senders=()
flows
wait "${receivers[@]}"
for side in "A a0" "A a1" "B b0" "B b1" "B b2"; do
    read -r name device <<<"$side"
    in_ "$name" tc -s -j qdisc show dev "$device" >"qdisc-$device.json"
done
in_ A tc -s filter show dev a0 ingress >ingress-a0.txt
in_ S cat /proc/net/netstat /proc/net/snmp >netstat.txt
wait "${senders[@]}"
if [ -n "$tap" ]; then
    kill "$tap"
    wait "$tap"
fi
cut -d' ' -f1 /proc/uptime >uptime.txt
halt -d -f
