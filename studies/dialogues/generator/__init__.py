"""Recording of dialogues with the running kernel's TCP, through a TUN device, in real time.

A model of a peer and of a link (`peer`, `path`) answers what the kernel sends, in a network
namespace of its own (`host`). What went in and what came out becomes a packetdrill script
(`script`), which is sent to the kernel again at other phases of its tick (`replay`) and kept if the
kernel answers it in the same way. `categories` draws peers, links and applications from a seed.
"""
