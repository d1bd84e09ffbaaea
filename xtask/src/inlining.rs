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

/// Calls in a disassembly: caller and callee, for direct calls to named functions.
fn calls(disassembly: &str) -> Vec<(&str, &str)> {
    let mut calls = Vec::new();
    let mut caller = "";
    for line in disassembly.lines() {
        if let Some(name) = line.strip_suffix(">:").and_then(|l| l.split_once(" <")) {
            caller = name.1;
        } else if let Some((_, target)) = line.split_once("\tcall ")
            && let Some(callee) = target.trim().strip_suffix('>').and_then(|t| t.split_once(" <"))
            && !target.trim_start().starts_with('*')
        {
            calls.push((caller, callee.1));
        }
    }
    calls
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
    let calls = calls(&text);
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
    fn direct_calls_are_found_with_their_caller() {
        let text = "\n0000000000001000 <graph::run::v4>:\n    1000:\tpush   %rbp\n    1001:\tcall   2000 <a::b<T>::c>\n    \
            1006:\tcall   *%rax\n    1008:\tcall   *0x12(%rip)        # 3000 <memcpy@GLIBC>\n\n\
            0000000000002000 <a::b<T>::c>:\n    2000:\tjmp    1000 <graph::run::v4>\n    2001:\tcall   1000 <graph::run::v4>\n";
        assert_eq!(
            calls(text),
            [("graph::run::v4", "a::b<T>::c"), ("a::b<T>::c", "graph::run::v4")]
        );
        assert!(is_variant("graph::run::v4") && !is_variant("a::b<T>::c"));
    }
}
