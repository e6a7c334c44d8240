#!/bin/sh
# Low-orbit satellites, 150 Mb/s down, 15 Mb/s up, another one every 15 s
# Written by ackclock for Linux's tc; run it as root on the machine between both ends.
# DOWN is the interface towards the clients, UP the one towards the servers. Switch segmentation offloads off on both ends.
#
# What tc cannot express of this link:
# - down, internet: a second queue, at 10 Gb/s: only that of the slowest hop is exported
# - down, satellite: handovers: the path stays the same
# - down: jitter that keeps the order: netem's reorders packets
# - down: loss by states in time: here in packets, which is correct for a link full of 1500 B
# - down: loss and jitter after the queue: netem applies them, and the delay, before it
# - up, internet: a second queue, at 10 Gb/s: only that of the slowest hop is exported
# - up, satellite: handovers: the path stays the same
# - up: jitter that keeps the order: netem's reorders packets
# - up: loss by states in time: here in packets, which is correct for a link full of 1500 B
# - up: loss and jitter after the queue: netem applies them, and the delay, before it
set -eu
DOWN=${DOWN:?the interface towards the clients}
UP=${UP:?the interface towards the servers}
tc qdisc del dev "$DOWN" root 2>/dev/null || true
tc qdisc add dev "$DOWN" root handle 1: netem limit 1000000 delay 16ms 4ms loss gemodel 0.000800800801% 0.8% 100% 0%
tc qdisc add dev "$DOWN" parent 1:1 handle 2: stab overhead -14 linklayer ethernet tbf rate 150000000bit burst 2344 limit 1875000
tc qdisc add dev "$DOWN" parent 2:1 handle 3: bfifo limit 1875000
tc qdisc del dev "$UP" root 2>/dev/null || true
tc qdisc add dev "$UP" root handle 1: netem limit 1000000 delay 16ms 4ms loss gemodel 0.00800800801% 8% 100% 0%
tc qdisc add dev "$UP" parent 1:1 handle 2: stab overhead -14 linklayer ethernet tbf rate 15000000bit burst 1514 limit 190000
tc qdisc add dev "$UP" parent 2:1 handle 3: bfifo limit 190000
