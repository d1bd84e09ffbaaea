// SPDX-License-Identifier: Apache-2.0
//! Capture files as interfaces: a file is replayed as if its packets came from a link, and packets
//! that leave by the interface are written to another file.
//!
//! `create interface pcap rx in.pcap tx out.pcapng` makes `pcap0`. When the interface comes up, the
//! replay starts at the beginning of the file: at the file's own time stamps, at `rate` packets a
//! second, or at `full-speed`; once, `loop N` times, or `loop endless`, each pass right behind the
//! one before. At the end, or if the file turns out to be malformed, the link goes down; taking the
//! interface down and up starts again. The file is read by a thread of its own, at most 2 MiB
//! ahead, and the thread that polls the interface makes no system call.
//!
//! Files without a path lie in /tmp, as those of `pcap trace`.
//!
//! `rx` takes pcap files of both byte orders with microseconds or nanoseconds, and pcapng files of
//! Ethernet frames or IP packets; packets of another link type, without bytes or above 65,599 bytes
//! are skipped and counted as receive errors. `tx` writes pcapng with nanoseconds, by a thread of
//! its own too. A file that a capture of ours has left is continued in a section of its own; any
//! other file is refused. Packets that the writer doesn't take in time are dropped by name.
//!
//! Nodes: `pcap-input`, and `pcapN-tx` for each interface.
//!
//! Limits: the receive queue is polled (`polling` is its only mode) while the replay runs. Frames
//! keep their addresses: those for other stations are dropped by `ethernet-input` unless the
//! interface is promiscuous or in a bridge domain. Checksums that a host had left to its device
//! when the file was captured stay wrong.
//!
//! Tests: files of scapy and editcap in all formats, compared byte for byte; every cut of a file,
//! broken files.
#![forbid(unsafe_code)]

mod capture;
mod cli;
mod control;
mod device;
mod examples;
mod format;
mod input;
mod process;
mod replay;
#[cfg(feature = "tests")]
mod tests;
mod tx;

pub use control::{Create, create, delete};
pub use format::{Link, Packet, Reader};
pub use replay::Pace;

use graph::{NodeDef, Plugin, StateDef};

/// Capture files as interfaces.
pub static PLUGIN: Plugin = Plugin {
    name: "pcap",
    about: "Capture files as interfaces: replay and capture",
    area: "interfaces-and-drivers",
    does: &[
        "A capture file as an interface: replayed at its time stamps, at a rate or at full speed, \
         once, several times or endlessly; sent packets are captured (`create interface pcap`)",
    ],
    spec: &["pcap in both byte orders with µs and ns", "pcapng"],
    limits: &[
        "Ethernet frames and IP packets",
        "One receive queue, which is polled",
        "Packets that the file can't take in time are dropped by name; on a full disk the capture \
         ends with whole packets, and the others are counted",
        "256 interfaces",
    ],
    state: &[driver::STATE, StateDef::of::<control::Pcaps>()],
    nodes: &[NodeDef::input::<input::PcapInput>()],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: examples::EXAMPLES,
    start: |world| {
        driver::start(world);
        process::start(world);
        Ok(())
    },
    end: process::end,
    unmoved: &[(
        "/err/pcap-input/*",
        "offloads that a device announces wrongly: crates/driver/src/tests/rx.rs",
    )],
    ..Plugin::EMPTY
};

/// Reads a file to its end, for the fuzzer: no input leads to a panic.
#[doc(hidden)]
pub fn check_file(bytes: &[u8]) {
    if let Ok(mut reader) = Reader::new(bytes) {
        let mut total = 0;
        while let Ok(Some(packet)) = reader.next_packet() {
            total += packet.bytes.len();
        }
        // A simple packet may have the whole block; no byte is read twice.
        assert!(total <= bytes.len(), "more bytes than the file has");
    }
}
