# SPDX-License-Identifier: Apache-2.0
"""Sends packets that no host sends, as a host behind the router would, and looks at what comes back with the eyes of another
program than ours. Arguments: MAC address of the router, own address, router's address, address of the host behind."""

import sys
import threading

from scapy.all import (
    AsyncSniffer, Ether, ICMP, IP, IPOption_RR, Padding, Raw, UDP, conf, get_if_hwaddr, raw, sendp, srp1,
)

conf.verb = 0
router_mac, own, router, behind = sys.argv[1:5]
IFACE = "eth0"
frame = Ether(src=get_if_hwaddr(IFACE), dst=router_mac)


def rebuilt(packet, layers):
    """The packet with checksums and lengths made anew."""
    copy = IP(raw(packet))
    for layer in layers:
        for field in ("chksum", "len"):
            if field in copy[layer].fields:
                delattr(copy[layer], field)
    return raw(copy)


def without_padding(packet):
    data = raw(packet[IP])
    return data[: packet[IP].len]


def error(packet, kind, code):
    """Sends it and gives the ICMP error that comes back, checked."""
    sent = IP(raw(packet))
    answer = srp1(frame / packet, iface=IFACE, timeout=5)
    assert answer is not None, f"no answer to {packet.summary()}"
    assert ICMP in answer, f"{packet.summary()} was answered by {answer.summary()}"
    assert (answer[ICMP].type, answer[ICMP].code) == (kind, code), answer.show(dump=True)
    assert answer[Ether].src == router_mac and answer[IP].src == router and answer[IP].dst == own
    data = without_padding(answer)
    assert rebuilt(IP(data), [IP, ICMP]) == data, "a checksum or length is wrong: " + answer.show(dump=True)
    assert len(data) <= 576, f"an error of {len(data)} bytes"
    quoted = bytes(answer[ICMP].payload)
    header = sent.ihl * 4
    original = raw(sent)
    # As it came, but for what routers write into options: the receiver looks for its own packet.
    for part in (slice(0, 10), slice(12, 20), slice(header, header + 8)):
        assert quoted[part] == original[part], (quoted.hex(), original.hex())
    return answer


def silence(packet, why):
    """Sends it, then a ping: the answer to the ping is all that comes back."""
    ready = threading.Event()
    sniffer = AsyncSniffer(iface=IFACE, filter="ip and ether src " + router_mac, started_callback=ready.set)
    sniffer.start()
    assert ready.wait(5)
    sendp(packet if Ether in packet else frame / packet, iface=IFACE)
    mark = IP(src=own, dst=behind) / ICMP(id=99, seq=1) / Raw(b"mark" * 10)
    assert srp1(frame / mark, iface=IFACE, timeout=5) is not None, "no answer to the ping"
    seen = [p for p in sniffer.stop() if not (ICMP in p and p[ICMP].id == 99)]
    assert not seen, f"{why}: answered by {seen[0].summary()}"


data = Raw(bytes(range(200)) * 3)
hello = UDP(sport=4321, dport=33434) / data

# Errors that a router owes its hosts (RFC 1812).
error(IP(src=own, dst=behind, ttl=1) / hello, 11, 0)
error(IP(src=own, dst="192.0.2.1") / hello, 3, 0)
error(IP(src=own, dst="192.0.2.1", options=[IPOption_RR(routers=["0.0.0.0"] * 2)]) / hello, 3, 0)
# An option that says it is longer than the header.
bad = error(IP(src=own, dst=behind, options=[IPOption_RR(length=11)]) / hello, 12, 0)
assert bad[ICMP].ptr in range(20, 24), bad.show(dump=True)
needed = error(IP(src=own, dst=behind, flags="DF") / UDP(dport=9) / Raw(b"x" * 1452), 3, 4)
assert needed[ICMP].nexthopmtu == 1400, needed.show(dump=True)

# What no error may be sent about.
silence(IP(src=own, dst=behind, ttl=1, frag=100) / data, "a later fragment")
silence(IP(src="255.255.255.255", dst="192.0.2.1") / hello, "from a broadcast address")
silence(IP(src=own, dst="192.0.2.1") / ICMP(type=3, code=1) / data, "about an error")
silence(Ether(src=frame.src, dst="ff:ff:ff:ff:ff:ff") / IP(src=own, dst="192.0.2.1") / hello, "a link broadcast")

# What isn't IP.
silence(IP(src=own, dst=behind, chksum=0x1234) / hello, "a wrong checksum")
silence(IP(src=own, dst=behind, version=5) / hello, "another version")
silence(IP(src=own, dst=behind, ihl=4) / hello, "a header of 16 bytes")
silence(IP(src=own, dst=behind, len=2000) / hello, "longer than the frame")
silence(IP(src="127.0.0.1", dst=behind) / hello, "from a loopback address")

# Padding of a short frame is not part of the packet: the answer has the packet's length.
short = IP(src=own, dst=behind) / ICMP(id=7, seq=7)
answer = srp1(frame / short / Padding(b"\xee" * 18), iface=IFACE, timeout=5)
assert answer is not None and answer[IP].len == 28, "a short frame"

# A route record passes.
answer = srp1(frame / IP(src=own, dst=behind, options=[IPOption_RR(routers=["0.0.0.0"] * 3)]) / ICMP(id=8, seq=8), iface=IFACE, timeout=5)
assert answer is not None and answer[ICMP].type == 0, "a record of the route"
print("all as it should be")
