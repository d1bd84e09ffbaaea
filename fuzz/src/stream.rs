// SPDX-License-Identifier: Apache-2.0
//! Any text as a packet generator's packets: a template that can be written at any size, or an
//! error.

use pg::text::{self, Start};

/// One input.
pub fn run(input: &str) {
    for start in [Start::Ethernet, Start::Ip4, Start::Ip6] {
        match text::parse(input, start) {
            Ok(template) => {
                assert!(template.bytes.len() <= 65_535, "longer than any packet");
                let mut out = Vec::new();
                let mut seed = 1u64;
                let mut random = || {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    seed
                };
                for (n, size) in [(0, 0), (1, 64), (u64::MAX, 9000)] {
                    template.write(n, size, &mut random, &mut out);
                    assert_eq!(out.len(), template.bytes.len().max(size));
                }
            }
            Err(error) => assert!(!error.is_empty()),
        }
    }
}
