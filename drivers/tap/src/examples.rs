// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[
    Script::hosts(
        "taps",
        "create tap
         create tap id 5 hw-addr 02:00:00:00:00:05 if-name five num-rx-queues 2 num-tx-queues 2 rx-ring-size 256 \
         tx-ring-size 256 host-ns HOST host-ip4-addr 10.5.0.2/24 host-ip6-addr 2001:db8:5::2/64 host-ip4-gw 10.5.0.1 \
         host-ip6-gw 2001:db8:5::1 host-mac-addr 02:00:00:00:05:05 host-if-name five0 host-mtu-size 1400 no-gso packed in-order
         create tap id 6 csum-offload host-if-name six
         create tap id 7 tun gso persist host-if-name seven
         create tap
         delete tap tap1
         create tap id 8 persist host-if-name there
         delete tap tap8
         create tap id 8 attach host-if-name there
         set interface rx-mode five queue 1 interrupt
         set interface ip address five 10.5.0.1/24
         set interface state five up",
    ),
];
