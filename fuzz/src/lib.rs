// SPDX-License-Identifier: Apache-2.0
//! One function for each parser of input from outside. It takes any input, and panics if the parser
//! breaks a promise.
//!
//! With `make fuzz` LLVM's fuzzer searches inputs (`fuzz/targets`). The tests here run the kept
//! inputs and random changes of them in the usual build, which has debug assertions and needs no
//! C++ compiler.
#![forbid(unsafe_code)]

pub mod command;
pub mod describe;
pub mod discovery;
pub mod dns;
pub mod fpm;
pub mod fragments;
pub mod measure;
pub mod memif;
pub mod message;
pub mod packet;
pub mod pcap;
pub mod sessions;
pub mod startup;
pub mod stream;
pub mod text;
pub mod vhost_user;

#[cfg(feature = "tests")]
mod tests {
    use std::path::Path;
    use testkit::mutate::Mutator;

    /// Number of changes of each kept input.
    const CHANGES: usize = 500;

    /// Runs a target with its kept inputs and with random changes of them.
    fn kept_and_changed(target: &str, run: impl Fn(&[u8])) {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        let kept: Vec<_> =
            paths.iter().map(|path| std::fs::read(path).expect("readable")).collect();
        assert!(!kept.is_empty(), "no input in {}", dir.display());
        kept.iter().for_each(|input| run(input));
        let mut mutator = Mutator::new(1);
        let mut input = Vec::new();
        for _ in 0..CHANGES * kept.len() {
            mutator.next_frame(&kept, &mut input);
            run(&input);
        }
    }

    /// The valid text at the start of the bytes, as LLVM's fuzzer passes it.
    fn valid(bytes: &[u8]) -> &str {
        bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
    }

    #[suite::test]
    fn command() {
        kept_and_changed("command", |bytes| crate::command::run(valid(bytes)));
    }

    #[suite::test]
    fn describe() {
        kept_and_changed("describe", crate::describe::run);
    }

    #[suite::test]
    fn discovery() {
        kept_and_changed("discovery", crate::discovery::run);
    }

    #[suite::test]
    fn dns() {
        kept_and_changed("dns", crate::dns::run);
    }

    #[suite::test]
    fn fpm() {
        kept_and_changed("fpm", crate::fpm::run);
    }

    #[suite::test]
    fn fragments() {
        kept_and_changed("fragments", crate::fragments::run);
    }

    #[suite::test]
    fn measure() {
        kept_and_changed("measure", |bytes| crate::measure::run(valid(bytes)));
    }

    #[suite::test]
    fn memif() {
        kept_and_changed("memif", crate::memif::run);
    }

    #[suite::test]
    fn pcap() {
        kept_and_changed("pcap", crate::pcap::run);
    }

    #[suite::test]
    fn message() {
        kept_and_changed("message", crate::message::run);
    }

    #[suite::test]
    fn packet() {
        kept_and_changed("packet", crate::packet::run);
    }

    #[suite::test]
    fn sessions() {
        kept_and_changed("sessions", crate::sessions::run);
    }

    #[suite::test]
    fn startup() {
        kept_and_changed("startup", |bytes| crate::startup::run(valid(bytes)));
    }

    #[suite::test]
    fn stream() {
        kept_and_changed("stream", |bytes| crate::stream::run(valid(bytes)));
    }

    #[suite::test]
    fn text() {
        kept_and_changed("text", |bytes| crate::text::run(valid(bytes)));
    }

    #[suite::test]
    fn vhost_user() {
        kept_and_changed("vhost_user", crate::vhost_user::run);
    }
}
