// SPDX-License-Identifier: Apache-2.0
//! One function for each parser of what comes from outside: takes any input, and panics if the parser breaks a promise.
//!
//! `make fuzz` lets LLVM's fuzzer look for inputs (`fuzz/targets`). The tests here take the kept ones, and changes of them at
//! random, in the usual build: with debug assertions, and without a C++ compiler.
#![forbid(unsafe_code)]

pub mod command;
pub mod describe;
pub mod discovery;
pub mod fragments;
pub mod message;
pub mod packet;
pub mod startup;
pub mod stream;
pub mod text;

#[cfg(test)]
mod tests {
    use std::path::Path;
    use testkit::mutate::Mutator;

    /// Changes of each kept input.
    const CHANGES: usize = 500;

    /// Takes every kept input of a target and changes of it; bytes are as good as frames for the one who changes them.
    fn kept_and_changed(target: &str, run: impl Fn(&[u8])) {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        let kept: Vec<_> = paths.iter().map(|path| std::fs::read(path).expect("readable")).collect();
        assert!(!kept.is_empty(), "no input in {}", dir.display());
        kept.iter().for_each(|input| run(input));
        let mut mutator = Mutator::new(1);
        let mut input = Vec::new();
        for _ in 0..CHANGES * kept.len() {
            mutator.next_frame(&kept, &mut input);
            run(&input);
        }
    }

    /// What of the bytes is text, as LLVM's fuzzer hands it over.
    fn valid(bytes: &[u8]) -> &str {
        bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
    }

    #[test]
    fn command() {
        kept_and_changed("command", |bytes| crate::command::run(valid(bytes)));
    }

    #[test]
    fn describe() {
        kept_and_changed("describe", crate::describe::run);
    }

    #[test]
    fn discovery() {
        kept_and_changed("discovery", crate::discovery::run);
    }

    #[test]
    fn fragments() {
        kept_and_changed("fragments", crate::fragments::run);
    }

    #[test]
    fn message() {
        kept_and_changed("message", crate::message::run);
    }

    #[test]
    fn packet() {
        kept_and_changed("packet", crate::packet::run);
    }

    #[test]
    fn startup() {
        kept_and_changed("startup", |bytes| crate::startup::run(valid(bytes)));
    }

    #[test]
    fn stream() {
        kept_and_changed("stream", |bytes| crate::stream::run(valid(bytes)));
    }

    #[test]
    fn text() {
        kept_and_changed("text", |bytes| crate::text::run(valid(bytes)));
    }
}
