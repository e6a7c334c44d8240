# The speed cases for ns-2: bulk flows through one bottleneck that is never short of buffer, so nothing is lost.
#
#     sender i --10 Gb/s, 1 ms-- left --RATE, 18 ms, droptail-- right --10 Gb/s, 1 ms-- receiver i
#
# usage: ns speed.tcl FLOWS RATE_BPS SECONDS
# prints: delivered SEGMENTS retransmitted SEGMENTS events COUNT
#
# Lean headers: ns-2 carries every protocol's header in every packet unless told otherwise, and that alone costs
# it up to half of its speed with many flows.

lassign $argv flows rate seconds
set segment 1024
set header 40
set round_trip 0.040
set wire [expr {$segment + $header}]
set in_flight [expr {int($rate * $round_trip / (8 * $wire))}]

remove-all-packet-headers
add-packet-header IP TCP Flags
set sim [new Simulator]

Agent/TCP set packetSize_ $segment
Agent/TCP set window_ [expr {int(ceil(1.3 * $in_flight / $flows))}]
Agent/TCP set timestamps_ true
Agent/TCP set ts_option_size_ 0
Queue set limit_ 100000

set left [$sim node]
set right [$sim node]
$sim duplex-link $left $right $rate 18ms DropTail
$sim queue-limit $left $right [expr {2 * $in_flight + 10 * $flows}]

for {set i 0} {$i < $flows} {incr i} {
    set host [$sim node]
    set client [$sim node]
    $sim duplex-link $host $left 10Gb 1ms DropTail
    $sim duplex-link $right $client 10Gb 1ms DropTail

    set sender [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $sim attach-agent $host $sender
    $sim attach-agent $client $sink
    $sim connect $sender $sink

    set bulk [new Application/FTP]
    $bulk attach-agent $sender
    $sim at [expr {0.001 * $i}] "$bulk start"
    lappend senders $sender
    lappend sinks $sink
}

proc finish {} {
    global sim senders sinks wire header
    set delivered 0
    set again 0
    # The first packet is a bare header: it stands for the SYN.
    foreach sink $sinks { set delivered [expr {$delivered + ([$sink set bytes_] - $header) / $wire}] }
    foreach sender $senders { incr again [$sender set nrexmitpack_] }
    # An event's number counts every event scheduled before it.
    set events [$sim at [expr {[$sim now] + 1}] {}]
    puts "delivered $delivered retransmitted $again events $events"
    exit 0
}
$sim at $seconds finish
$sim run
