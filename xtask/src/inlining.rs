// SPDX-License-Identifier: Apache-2.0
//! Finds functions that were not inlined where they had to be, in the machine code, because nothing
//! else shows it.
//!
//! A node's body is compiled once for each instruction set. Functions called without inlining are
//! compiled for the lowest one, and if they hold intrinsics, each of them becomes a function call:
//! right, and many times slower.

use std::collections::BTreeMap;

use crate::sh::{self, Res};
use crate::verbs;

/// Intrinsics that are called on purpose: once, at start.
const ONCE: &[&str] = &["core::core_arch::x86::xsave::_xgetbv", "core::core_arch::x86::cpuid"];

/// Where calls through the table of global addresses lead, from `readelf -rW`: address of the entry
/// and of the function. Without optimisation across crates, functions of other crates are called
/// so.
fn global(relocations: &str) -> BTreeMap<u64, u64> {
    let hex = |word: &str| u64::from_str_radix(word, 16).ok();
    relocations
        .lines()
        .filter_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            [at, _, "R_X86_64_RELATIVE", to] => hex(at).zip(hex(to)),
            _ => None,
        })
        .collect()
}

/// The line that begins a function: its address and name.
fn function(line: &str) -> Option<(u64, &str)> {
    let (address, name) = line.strip_suffix(">:")?.split_once(" <")?;
    Some((u64::from_str_radix(address, 16).ok()?, name))
}

/// Calls in a disassembly: caller and callee, for calls to functions of the program.
fn calls<'a>(disassembly: &'a str, global: &BTreeMap<u64, u64>) -> Vec<(&'a str, &'a str)> {
    let names: BTreeMap<u64, &str> = disassembly.lines().filter_map(function).collect();
    let callee = |target: &str| {
        let to = match target.split_once("# ") {
            Some((_, entry)) => *global.get(&address(entry)?)?,
            None => address(target)?,
        };
        names.get(&to).copied()
    };
    let mut calls = Vec::new();
    let mut caller = "";
    for line in disassembly.lines() {
        if let Some((_, name)) = function(line) {
            caller = name;
        } else if let Some((_, target)) = line.split_once("\tcall ")
            && let Some(callee) = callee(target)
        {
            calls.push((caller, callee));
        }
    }
    calls
}

/// The address that a target of objdump begins with: `2000 <a::b>`.
fn address(target: &str) -> Option<u64> {
    u64::from_str_radix(target.split_whitespace().next()?, 16).ok()
}

/// An instance of a body for a higher instruction set.
fn is_variant(function: &str) -> bool {
    function.ends_with("::v3") || function.ends_with("::v4")
}

/// The verb `inlining`.
pub fn verb() -> Res {
    let daemon = verbs::build_release()?.join("ferrovia");
    let text =
        sh::output(sh::cmd("objdump -d --demangle --no-show-raw-insn -j .text").arg(&daemon))?;
    let relocations = sh::output(sh::cmd("readelf -rW").arg(&daemon))?;
    let calls = calls(&text, &global(&relocations));
    let mut inside: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, callee) in calls.iter().filter(|(caller, _)| is_variant(caller)) {
        *inside.entry(callee).or_default() += 1;
    }
    println!("inlining: calls from bodies that are compiled for x86-64-v3 and -v4:");
    inside.iter().for_each(|(callee, n)| println!("  {n:>4}  {callee}"));

    let is_fault = |callee: &str| {
        callee.starts_with("core::core_arch::") && !ONCE.iter().any(|o| callee.starts_with(o))
    };
    let faults: Vec<_> = calls.iter().filter(|(_, callee)| is_fault(callee)).collect();
    for (caller, callee) in &faults {
        eprintln!("inlining: {caller} calls {callee}");
    }
    if !faults.is_empty() {
        return Err(format!(
            "inlining: {} intrinsics are function calls: their function, or a closure on the way, isn't inlined",
            faults.len()
        ));
    }
    println!("inlining: every intrinsic is in its place");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_with_their_caller() {
        let text = "\n0000000000001000 <graph::run::v4>:\n    1000:\tpush   %rbp\n    1001:\tcall   2000 <a::b<T>::c>\n    \
            1006:\tcall   *%rax\n    1008:\tcall   *0x12(%rip)        # 3000 <memcpy@GLIBC>\n\n    \
            100a:\tcall   *0x12(%rip)        # 3008 <_GLOBAL_OFFSET_TABLE_+0x8>\n\n\
            0000000000002000 <a::b<T>::c>:\n    2000:\tjmp    1000 <graph::run::v4>\n    2001:\tcall   1000 <graph::run::v4>\n";
        let relocations = "  Offset  Info  Type  Symbol's Value\n\
            0000000000003000  0000000800000006 R_X86_64_GLOB_DAT 0000000000000000 memcpy@GLIBC_2.14 + 0\n\
            0000000000003008  0000000000000008 R_X86_64_RELATIVE                 2000\n";
        assert_eq!(
            calls(text, &global(relocations)),
            [
                ("graph::run::v4", "a::b<T>::c"),
                ("graph::run::v4", "a::b<T>::c"),
                ("a::b<T>::c", "graph::run::v4")
            ]
        );
        assert!(is_variant("graph::run::v4") && !is_variant("a::b<T>::c"));
    }
}
