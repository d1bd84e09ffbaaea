// SPDX-License-Identifier: Apache-2.0
//! A Linux host at the far end of encapsulations. It has no tunnels: a program takes the packets
//! out of datagrams, answers the pings, and sends the answers back in datagrams. The host's stack
//! has looked at the datagrams' checksums and put their fragments together.
//!
//! Covers: features/udp, features/ip-reassembly.

use fixture::eventually;

use crate::host::counter;
use crate::six;

/// Arguments: the router's addresses of both protocols.
const FAR_END: &str = "
import select, socket, struct, sys
def checksum(data):
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16: total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
def answered(packet):
    ip, icmp = bytearray(packet[:20]), bytearray(packet[20:])
    assert ip[0] == 0x45 and ip[9] == 1 and icmp[0] == 8, packet.hex()
    assert checksum(ip) == 0 and checksum(icmp) == 0, packet.hex()
    ip[8], ip[10:12], ip[12:16], ip[16:20] = 64, bytes(2), packet[16:20], packet[12:16]
    ip[10:12] = struct.pack('!H', checksum(ip))
    icmp[0], icmp[2:4] = 0, bytes(2)
    icmp[2:4] = struct.pack('!H', checksum(icmp))
    return bytes(ip + icmp)
routers = {}
for family, router in zip((socket.AF_INET, socket.AF_INET6), sys.argv[1:]):
    s = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind(('', 4001))
    routers[s] = router
while True:
    for s in select.select(routers, [], [])[0]:
        s.sendto(answered(s.recv(70000)), (routers[s], 4002))
";

#[test]
fn pings_go_in_datagrams_of_both_protocols_and_come_back() {
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let far_end = ["-c", FAR_END, right.gateway, "2001:db8:2::1"];
    let far_end = right.host.command("/usr/bin/python3").args(far_end).spawn();
    router.script(&format!(
        "udp encap add id 0 {} {} 4001 src-port-is-entropy\n\
         udp encap add id 1 2001:db8:2::1 2001:db8:2::2 4000 4001\n\
         ip route add 198.18.0.0/24 via udp-encap 0\n\
         ip route add 198.19.0.0/24 via udp-encap 1\n\
         udp decap add ipv4 4002 next-proto ip4\n\
         udp decap add ipv6 4002 next-proto ip4\n",
        right.gateway, right.address
    ));
    for to in ["198.18.0.9", "198.19.0.9"] {
        eventually("the far end answers", || left.host.ping("-c1", to).success().then_some(()));
        left.host.pings("-c5 -i.1 -s1000", to);
        // With the headers in front these are larger than the link: the datagrams are fragmented,
        // and put together again.
        left.host.pings("-c5 -i.1 -s1472 -Mdo", to);
    }
    assert_eq!(counter(&right.host, "Udp", "InCsumErrors"), 0);
    assert!(counter(&right.host, "Ip", "ReasmOKs") >= 5);
    let shown = router.run("show udp encap");
    assert_eq!(shown.matches("udp-encap:[").count(), 2, "{shown}");
    // The far end is gone: its route goes, and the packets are refused.
    router.run(&format!("set interface state {} down", right.port));
    let refused = left.host.ping("-c1", "198.18.0.9").stdout;
    assert!(refused.contains("Unreachable"), "{refused}");
    drop(far_end);
    site.finish();
}
