// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::hosts(
    "AF_XDP interfaces",
    "create interface af_xdp host-if left
     delete interface af_xdp left/0
     create interface af_xdp host-if left name xdp0 rx-queue-size 256 tx-queue-size 1024 no-zero-copy generic \
     no-syscall-lock mac-reuse
     create interface af_xdp host-if right num-rx-queues all
     set interface rx-mode xdp0 queue 0 polling
     set interface rx-placement xdp0 queue 0 main
     set interface rx-placement right/0 queue 0 worker 0
     set interface mtu 1400 xdp0
     set interface ip address xdp0 10.0.1.1/24
     set interface state xdp0 up
     set interface state right/0 up",
)];
