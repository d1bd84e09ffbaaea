// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "pcap interfaces",
    "create interface pcap id 3 tx ferrovia-example-3.pcapng hw-addr 02:00:00:00:00:0a
     create interface pcap tx ferrovia-example-0.pcapng mode ip
     create interface pcap tx ferrovia-example-1.pcapng
     set interface state pcap3 up
     set interface mtu 1400 pcap3
     delete interface pcap pcap1",
)];
