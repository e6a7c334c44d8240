#!/bin/sh
# 200 ms of delay for a test of a server that sends 400 Mb/s
tc qdisc add dev eth0 root netem delay 200ms rate 400mbit
