// SPDX-License-Identifier: Apache-2.0
//! Kernels end up inside of the instance that calls them, compiled for its level. What isn't
//! inlined falls back to the baseline and still gives the right bytes, so only a look at the
//! machine code shows it.
#![cfg(target_arch = "x86_64")]

use std::process::Command;

use simd::{Isa, mask, variants};

#[inline(always)]
fn split<I: Isa>(codes: &[u32; 256], src: &[u32; 256], dst: &mut [u32; 256], n: usize) -> usize {
    if simd::all_equal::<I>(codes, n) {
        return n;
    }
    let these = simd::equal_mask::<I>(codes, n, codes[0]);
    simd::prefetch_write(&dst[mask::count(&these) % 256]);
    simd::compress_u32::<I>(src, &these, dst, 0)
}

variants! {
    fn splitter<I: Isa>(codes: &[u32; 256], src: &[u32; 256], dst: &mut [u32; 256], n: usize) -> usize = split::<I>;
}

/// The disassembly of one instance, or none without objdump (Debian package binutils).
fn instructions(of: &str) -> Option<String> {
    let symbol = format!("--disassemble={}::splitter::{of}", module_path!());
    let this = std::env::current_exe().expect("a path to this test");
    let run = Command::new("objdump")
        .args(["-dC", "--no-show-raw-insn", &symbol])
        .arg(this)
        .output()
        .ok()?;
    let text = String::from_utf8(run.stdout).expect("objdump writes text");
    assert!(text.contains(&format!("splitter::{of}>:")), "no symbol {of}: {text}");
    Some(text)
}

#[suite::test]
fn kernels_are_compiled_for_the_level_of_their_caller() {
    let mut dst = [0; 256];
    let codes = core::array::from_fn(|i| i as u32 % 2);
    assert_eq!(splitter().best()(&codes, &core::array::from_fn(|i| i as u32), &mut dst, 256), 128);

    let Some(v1) = instructions("v1") else {
        return testkit::skip("needs objdump (Debian package binutils)");
    };
    let [v3, v4] = ["v3", "v4"].map(|level| instructions(level).expect("objdump was there"));
    // Each kernel has an instruction here that no other has.
    for (name, text, words) in [
        ("v1", &v1, ["pand ", "movmskps", "tzcnt", "prefetchw"].as_slice()),
        ("v3", &v3, &["vpor ", "vmovmskps", "vpermd", "popcnt", "prefetchw"]),
        ("v4", &v4, &["vptestmd", "vpcmpeqd", "vpcompressd", "popcnt", "prefetchw", "zmm"]),
    ] {
        for word in words {
            assert!(text.contains(word), "{name} lacks {word}:\n{text}");
        }
    }
    assert!(!v1.contains("ymm") && !v3.contains("zmm"), "an instance uses more than its level has");
}
