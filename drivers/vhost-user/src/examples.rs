// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::hosts(
    "vhost-user clients",
    "create vhost-user socket '/nonexistent/a vm.sock'
     create vhost-user socket /nonexistent/b.sock feature-mask 0x150008000 \
     hwaddr 02:00:00:00:08:08 renumber 8 gso packed event-idx
     create vhost-user socket /nonexistent/c.sock event-idx
     create vhost-user socket /nonexistent/d.sock gso
     delete vhost-user VirtualEthernet0/0/2
     set interface ip address VirtualEthernet0/0/8 10.79.0.1/24
     set interface state VirtualEthernet0/0/8 up",
)];
