// SPDX-License-Identifier: Apache-2.0
//! Every level does what the scalar twin does.
#![forbid(unsafe_code)] // as in the crates that use `variants!`

use core::sync::atomic::AtomicU64;
use proptest::prelude::*;
use simd::{Isa, Level, Variants, mask, scalar, variants};

variants! {
    fn all_equal<I: Isa>(codes: &[u32; 256], n: usize) -> bool = simd::all_equal::<I>;
}
variants! {
    fn equal_mask<I: Isa>(codes: &[u32; 256], n: usize, value: u32) -> [u64; 4] = simd::equal_mask::<I>;
}
variants! {
    fn equal_words<I: Isa>(words: &[u32; 64], value: u32) -> u64 = simd::equal_words::<I>;
}
variants! {
    fn compress_u32<I: Isa>(src: &[u32; 256], mask: &[u64; 4], dst: &mut [u32; 256], at: usize) -> usize
        = simd::compress_u32::<I>;
}
variants! {
    fn ip4_header_sum<I: Isa>(header: &[u8; 20]) -> u16 = simd::ip4_header_sum::<I>;
}
variants! {
    fn copy_rewrite<I: Isa, const N: usize>(dst: &mut [u8; N], end: usize, rewrite: &[u8; 64], len: usize)
        = simd::copy_rewrite::<I, N>;
}
variants! {
    fn rank<I: Isa>(line: &simd::Separators, key: &u64) -> u32 = simd::rank::<I>;
}
variants! {
    fn rank_of_three<I: Isa>(line: &simd::Separators, value: u32) -> u32 = simd::rank_of_three::<I>;
}
variants! {
    fn rank_of_four<I: Isa>(line: &simd::Separators, value: u32) -> u32 = simd::rank_of_four::<I>;
}
variants! {
    fn rank_of_eight<I: Isa>(line: &simd::Separators, value: u32) -> u32 = simd::rank_of_eight::<I>;
}
variants! {
    fn rank_of_sixteen<I: Isa>(line: &simd::Separators, value: &u32) -> u32 = simd::rank_of_sixteen::<I>;
}

fn supported<F: Copy>(variants: Variants<F>) -> impl Iterator<Item = (Level, F)> {
    Level::ALL.into_iter().filter_map(move |level| Some((level, variants.get(level)?)))
}

/// Codes as frames have them: mostly one value, few values, or anything.
fn codes() -> impl Strategy<Value = [u32; 256]> {
    let few = prop_oneof![
        Just(0..1u32),
        Just(0..2),
        Just(7..11),
        Just(0xffff_fffe..0xffff_ffff),
        Just(0..0x1_ffff)
    ];
    let stray = prop_oneof![Just(None), (0..256usize, any::<u32>()).prop_map(Some)];
    (few, any::<[u32; 256]>(), stray).prop_map(|(range, random, stray)| {
        let mut codes = random.map(|r| range.start + r % (range.end - range.start));
        if let Some((at, value)) = stray {
            codes[at] = value;
        }
        codes
    })
}

fn masks() -> impl Strategy<Value = [u64; 4]> {
    (any::<[u64; 4]>(), any::<[u64; 4]>(), 0..4u8, 0..=256usize).prop_map(|(a, b, density, n)| {
        match density {
            0 => mask::first_n(n),
            1 => mask::and(&a, &b),
            2 => mask::or(&a, &b),
            _ => mask::and(&a, &mask::first_n(n)),
        }
    })
}

proptest! {
    #[suite::test]
    fn all_equal_agrees(codes in codes(), n in 0..=256usize) {
        for (level, f) in supported(all_equal()) {
            prop_assert_eq!(f(&codes, n), scalar::all_equal(&codes, n), "{}", level);
        }
    }

    #[suite::test]
    fn equal_words_agrees(words in prop::collection::vec(0u32..3, 64), at in 0..64usize) {
        let words: [u32; 64] = words.try_into().expect("64 words");
        for (level, f) in supported(equal_words()) {
            for value in [words[at], words[at].wrapping_add(1)] {
                prop_assert_eq!(f(&words, value), scalar::equal_words(&words, value), "{}", level);
            }
        }
    }

    #[suite::test]
    fn equal_mask_agrees(codes in codes(), n in 0..=256usize, at in 0..256usize) {
        for (level, f) in supported(equal_mask()) {
            for value in [codes[at], codes[at].wrapping_add(1)] {
                prop_assert_eq!(f(&codes, n, value), scalar::equal_mask(&codes, n, value), "{}", level);
            }
        }
    }

    #[suite::test]
    fn rank_agrees(mut line in any::<[u64; 8]>(), key in any::<u64>(), at in 0..8usize, near in 0..3u64, full in 0..=8usize) {
        line[full..].fill(u64::MAX);
        line.sort_unstable();
        let separators = line.map(AtomicU64::from);
        for (level, f) in supported(rank()) {
            for key in [key, line[at].wrapping_add(near).wrapping_sub(1), u64::MAX] {
                let expected = line.iter().filter(|separator| **separator < key).count() as u32;
                prop_assert_eq!(f(&separators, &key), expected, "{}", level);
                prop_assert_eq!(scalar::rank(&separators, key), expected);
            }
        }
    }

    #[suite::test]
    fn ranks_of_halves_agree(line in any::<[u32; 16]>(), value in any::<u32>(), at in 0..16usize, near in 0..3u32) {
        let line_of_words = core::array::from_fn(|i| u64::from(line[2 * i]) | u64::from(line[2 * i + 1]) << 32);
        let separators = line_of_words.map(AtomicU64::from);
        let values = [value, line[at].wrapping_add(near).wrapping_sub(1), u32::MAX, 0];
        for value in values {
            let at_most = line[2..5].iter().filter(|number| **number <= value).count() as u32;
            let below = |numbers: &[u32]| numbers.iter().filter(|number| **number < value).count() as u32;
            for (level, f) in supported(rank_of_three()) {
                prop_assert_eq!(f(&separators, value), at_most, "{}", level);
            }
            for (level, f) in supported(rank_of_four()) {
                prop_assert_eq!(f(&separators, value), below(&line[..4]), "{}", level);
            }
            for (level, f) in supported(rank_of_eight()) {
                prop_assert_eq!(f(&separators, value), below(&line[..8]), "{}", level);
            }
            for (level, f) in supported(rank_of_sixteen()) {
                prop_assert_eq!(f(&separators, &value), below(&line), "{}", level);
            }
            prop_assert_eq!(scalar::rank_of_three(&separators, value), at_most);
            prop_assert_eq!(scalar::rank_of_four(&separators, value), below(&line[..4]));
            prop_assert_eq!(scalar::rank_of_eight(&separators, value), below(&line[..8]));
            prop_assert_eq!(scalar::rank_of_sixteen(&separators, value), below(&line));
        }
    }

    #[suite::test]
    fn compress_agrees(src in any::<[u32; 256]>(), mask in masks(), at in 0..=256usize) {
        for (level, f) in supported(compress_u32()) {
            let (mut expected, mut dst) = ([0xaaaa_aaaa; 256], [0xaaaa_aaaa; 256]);
            let end = scalar::compress_u32(&src, &mask, &mut expected, at);
            prop_assert_eq!(f(&src, &mask, &mut dst, at), end, "{}", level);
            prop_assert_eq!(&dst[..end], &expected[..end], "{}", level);
        }
    }

    #[suite::test]
    fn header_sum_agrees(header in any::<[u8; 20]>(), ones in any::<u32>()) {
        // Runs of 0xff make carries that random bytes hardly ever make.
        let dense: [u8; 20] = core::array::from_fn(|i| if ones >> i & 1 == 1 { 0xff } else { header[i] });
        for (level, f) in supported(ip4_header_sum()) {
            prop_assert_eq!(f(&header), scalar::ip4_header_sum(&header), "{}", level);
            prop_assert_eq!(f(&dense), scalar::ip4_header_sum(&dense), "{}", level);
        }
    }

    #[suite::test]
    fn rewrite_agrees(dst in any::<[u8; 128]>(), end in 64..=128usize, len in 0..=64usize, half in any::<[u8; 32]>()) {
        let rewrite: [u8; 64] = core::array::from_fn(|i| half[i % 32].wrapping_add(i as u8));
        for (level, f) in supported(copy_rewrite::<128>()) {
            let (mut expected, mut got) = (dst, dst);
            scalar::copy_rewrite(&mut expected, end, &rewrite, len);
            f(&mut got, end, &rewrite, len);
            prop_assert_eq!(got, expected, "{}", level);
        }
    }
}

#[suite::test]
fn one_stray_code_at_every_place_and_length() {
    for (level, f) in supported(all_equal()) {
        for n in 0..=256 {
            assert!(f(&[5; 256], n), "{level} {n}");
            for stray in 0..256 {
                let mut codes = [5; 256];
                codes[stray] = 6;
                assert_eq!(f(&codes, n), scalar::all_equal(&codes, n), "{level} {n} {stray}");
            }
        }
        // Longer than a frame counts as a whole one.
        assert!(f(&[5; 256], 1000), "{level}");
    }
}

#[suite::test]
fn compress_never_leaves_the_array() {
    let src = core::array::from_fn(|i| i as u32);
    for (level, f) in supported(compress_u32()) {
        for at in [0, 1, 240, 241, 248, 249, 255, 256, 1000] {
            let (mut dst, mut expected) = ([0; 256], [0; 256]);
            assert_eq!(f(&src, &[!0; 4], &mut dst, at), 256, "{level} {at}");
            scalar::compress_u32(&src, &[!0; 4], &mut expected, at);
            assert_eq!(dst, expected, "{level} {at}");
        }
    }
}

/// Wikipedia's example header; its checksum is 0xb861.
#[suite::test]
fn header_sum_of_a_known_header() {
    let mut header = [
        0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0,
        0xc7,
    ];
    for (level, f) in supported(ip4_header_sum()) {
        assert_eq!(f(&header), 0xffff, "{level}");
        assert_eq!((f(&[0xff; 20]), f(&[0; 20])), (0xffff, 0), "{level}");
    }
    header[10..12].fill(0);
    for (level, f) in supported(ip4_header_sum()) {
        assert_eq!((!f(&header)).to_ne_bytes(), [0xb8, 0x61], "{level}");
    }
}

#[suite::test]
fn rewrite_bounds_are_checked() {
    for (level, f) in supported(copy_rewrite::<64>()) {
        for (end, len) in [(65, 1), (3, 4), (64, 65), (usize::MAX, 1), (0, 1)] {
            let result = std::panic::catch_unwind(|| f(&mut [0; 64], end, &[0; 64], len));
            assert!(result.is_err(), "{level} {end} {len}");
        }
    }
}

trait Named {
    const NAME: &str;
}
struct Node;
impl Named for Node {
    const NAME: &str = "node";
}

#[inline(always)]
fn describe<I: Isa, N: Named, T, const TRACED: bool>(value: &T, out: &mut String) -> usize {
    *out = format!("{} {} {TRACED}", I::LEVEL, N::NAME);
    size_of_val(value)
}

variants! {
    /// Type parameters with and without a bound, const parameters, a trailing comma.
    pub(crate) fn described<I: Isa, N: Named, T, const TRACED: bool,>(value: &T, out: &mut String) -> usize
        = describe::<I, N, T, TRACED>;
}

#[suite::test]
fn variants_pass_parameters_on_and_know_their_level() {
    const CONST: Variants<fn(&u64, &mut String) -> usize> = described::<Node, u64, true>();
    let mut levels = Vec::new();
    for (level, f) in supported(CONST) {
        let mut out = String::new();
        assert_eq!(f(&7, &mut out), 8);
        assert_eq!(out, format!("{level} node true"));
        levels.push(level);
    }
    assert_eq!(levels.last(), Some(&Level::detect()));
    let mut out = String::new();
    CONST.best()(&7, &mut out);
    assert_eq!(out, format!("{} node true", Level::detect()));
}
