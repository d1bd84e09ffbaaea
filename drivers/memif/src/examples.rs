// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[
    Script::here(
        "memif clients",
        "create memif socket id 1 filename '/nonexistent/a socket'
         create memif socket id 2 filename abstract:ferrovia-example
         create memif socket id 3 filename /nonexistent/third.sock
         delete memif socket id 3
         create interface memif
         create interface memif id 7 socket-id 1 ring-size 64 rx-queues 2 tx-queues 3 buffer-size 1024 slave no-zero-copy \
         use-dma hw-addr 02:00:00:00:07:07 secret 'a secret'
         create interface memif id 8 socket-id 1 mode ip
         create interface memif id 9 socket-id 1
         delete interface memif memif1/9
         set interface tx-queue memif1/7 queue 1 threads 0
         set interface tx-queue memif1/7 queue 2
         set interface ip address memif1/8 10.78.0.1/24
         set interface state memif1/7 up",
    ),
    Script::hosts(
        "memif servers",
        "create memif socket id 4 filename abstract:ferrovia-example-server
         create interface memif id 1 socket-id 4 master secret other
         create interface memif id 2 socket-id 4 master mode ip
         set interface state memif4/1 up",
    ),
];
