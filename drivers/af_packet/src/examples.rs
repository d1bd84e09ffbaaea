// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::hosts(
    "host interfaces",
    "create host-interface v3 name left num-rx-queues 2 num-tx-queues 2 hw-addr 02:00:00:00:00:01
     create host-interface name right cksum-gso-disable force
     set host-interface l4-cksum-offload right on
     set host-interface qdisc-bypass left enable
     set host-interface qdisc-bypass right enable
     set host-interface qdisc-bypass right disable
     delete host-interface name left
     create host-interface v3 name left num-rx-queues 2 hw-addr 02:00:00:00:00:01
     set host-interface qdisc-bypass left enable
     set interface rx-mode host-left queue 1 polling
     set interface rss queues host-left list 0-1
     set interface rx-placement host-left queue 0 worker 1
     set interface rx-placement host-left queue 1 main
     set interface rx-mode host-right interrupt
     set interface rx-mode host-right default
     set interface mtu 1400 host-left
     set interface ip address host-left 10.0.1.1/24
     set interface state host-left up
     set interface state host-right up",
)];
