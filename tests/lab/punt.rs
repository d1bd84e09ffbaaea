// SPDX-License-Identifier: Apache-2.0
//! A program beside the router takes datagrams that are for it, and answers through it.
//!
//! Covers: features/punt, features/udp.

use fixture::{Cable, RouterKind, Site};

/// Echoes what is punted: swaps stations, addresses and ports, and sends the packet to be routed.
const ECHO: &str = "
import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True:
    data = s.recv(70000)
    sw_if, action = struct.unpack('=II', data[:8])
    assert action == 0 and data[20:22] == b'\\x08\\x00', data[:22]
    ip = bytearray(data[22:])
    ip[12:16], ip[16:20] = ip[16:20], ip[12:16]
    ip[20:22], ip[22:24] = ip[22:24], ip[20:22]
    s.sendto(struct.pack('=II', sw_if, 1) + bytes(ip), sys.argv[2])
";

/// Sends datagrams, of which one is larger than the link, and expects each back.
const ASK: &str = "
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(10)
s.connect((sys.argv[1], 5000))
for size in (1, 100, 1400, 8000):
    s.send(bytes(i % 251 for i in range(size)))
    assert s.recv(70000) == bytes(i % 251 for i in range(size)), size
print('echoed')
";

#[test]
fn a_client_of_the_punt_socket_answers_a_linux_host() {
    let Some(lab) = testkit::lab::require(&["root", "/usr/bin/python3"]) else { return };
    for (workers, cable) in [(0, Cable::Tap), (2, Cable::Veth)] {
        let site = Site::new(&lab, RouterKind::Ferrovia(workers, cable));
        let router = site.router();
        let (client, server) = (router.file("client.sock"), router.file("punt.sock"));
        let paths = [&client, &server].map(|path| path.to_string_lossy().into_owned());
        let echo = site.netns.command("/usr/bin/python3").args(["-c", ECHO]).args(&paths).spawn();
        fixture::eventually("the client's socket", || client.exists().then_some(()));
        router.run(&format!("punt socket register ipv4 udp 5000 socket {}", client.display()));
        let said =
            site.left.host.command("/usr/bin/python3").args(["-c", ASK, site.left.gateway]).ok();
        assert_eq!(said.trim(), "echoed");
        let stats = router.run("show punt stats");
        assert!(stats.contains("malformed"), "{stats}");
        drop(echo);
        // Nobody takes them any more: they are lost, and the host isn't told that somebody
        // listened.
        router.run("punt socket deregister ipv4 udp 5000");
        site.finish();
    }
}
