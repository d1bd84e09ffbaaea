// SPDX-License-Identifier: Apache-2.0
//! Operations on a host: counters, transfers.

use fixture::PATIENCE;
use testkit::lab::Netns;

/// A counter of a host's network stack, such as `("Ip", "ReasmOKs")`, from `/proc/net/snmp` and
/// `/proc/net/netstat`.
#[track_caller]
pub fn counter(host: &Netns, group: &str, name: &str) -> u64 {
    let text = host.sh("cat /proc/net/snmp /proc/net/netstat").ok();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(&format!("{group}: ")));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let mut both = names.split(' ').zip(values.split(' '));
    let value = both.find(|(n, _)| *n == name).and_then(|(_, value)| value.parse().ok());
    value.unwrap_or_else(|| panic!("no counter {group} {name} in\n{text}"))
}

/// Packets that a host refused because of a checksum.
#[track_caller]
pub fn checksum_errors(host: &Netns) -> u64 {
    let counters = [
        ("IpExt", "InCsumErrors"),
        ("Icmp", "InCsumErrors"),
        ("Tcp", "InCsumErrors"),
        ("Udp", "InCsumErrors"),
    ];
    counters.into_iter().map(|(group, name)| counter(host, group, name)).sum()
}

/// Sends `megabytes` of arbitrary bytes by TCP from one host to the other and sees that the same
/// arrive.
#[track_caller]
pub fn transfer(from: &Netns, to: &Netns, address: &str, megabytes: u32) {
    const SERVER: &str = "
import hashlib, socket
s = socket.create_server(('', 5000))
print('listening', flush=True)
c, h, n = s.accept()[0], hashlib.sha256(), 0
while b := c.recv(1 << 20):
    h.update(b); n += len(b)
print(n, h.hexdigest(), flush=True)
";
    const CLIENT: &str = "
import hashlib, random, socket, sys
r, h = random.Random(7), hashlib.sha256()
c = socket.create_connection((sys.argv[1], 5000), timeout=20)
for _ in range(int(sys.argv[2])):
    b = r.randbytes(1 << 20); h.update(b); c.sendall(b)
c.close()
print(int(sys.argv[2]) << 20, h.hexdigest())
";
    let mut server = to.command("/usr/bin/python3").args(["-c", SERVER]).spawn();
    server.wait_for("listening", PATIENCE);
    let sent =
        from.command("/usr/bin/python3").args(["-c", CLIENT, address, &megabytes.to_string()]).ok();
    assert_eq!(server.wait(PATIENCE), Some(0), "{}", server.stderr());
    assert_eq!(server.stdout().trim_start_matches("listening\n"), sent);
}
