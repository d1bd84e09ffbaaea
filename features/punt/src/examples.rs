// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "punt",
    "create packet-generator interface pg0
     create packet-generator interface pg1
     set interface ip address pg0 10.0.0.1/24
     set punt udp 53
     set punt ip6 tcp all
     set punt ipv4 protocol 89
     set punt udp 54
     set punt udp del 54
     punt socket register udp 5000 socket /run/client.sock
     punt socket register ipv6 udp all socket '/run/a client.sock'
     punt socket register ip6 protocol 89 socket /run/client.sock
     punt socket register exception ip4-icmp-input:unknown_type socket /run/client.sock
     punt socket register tcp 22 socket /run/client.sock
     punt socket deregister tcp 22
     ip punt redirect add rx all via 10.0.0.9 pg0
     ip punt redirect add rx pg0 via pg1
     ip6 punt redirect add rx pg1 via 2001:db8::9 pg0
     ip6 punt redirect add rx all via pg1
     ip6 punt redirect del rx all",
)];
