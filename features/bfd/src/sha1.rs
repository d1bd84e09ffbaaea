// SPDX-License-Identifier: Apache-2.0
//! SHA-1 (FIPS 180-4 6.1), which RFC 5880 6.7.4 prescribes. It protects packets of a link for the
//! time of a few packets; nothing else may use it.

/// The digest of a message.
pub fn sha1(message: &[u8]) -> [u8; 20] {
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let (blocks, rest) = message.as_chunks::<64>();
    blocks.iter().for_each(|block| compress(&mut state, block));
    // A one bit, zeros, and the number of bits at the end of the last block (5.1.1).
    let mut last = [[0; 64]; 2];
    let flat = last.as_flattened_mut();
    flat[..rest.len()].copy_from_slice(rest);
    flat[rest.len()] = 0x80;
    let used = if rest.len() < 56 { 64 } else { 128 };
    flat[used - 8..used].copy_from_slice(&(message.len() as u64 * 8).to_be_bytes());
    last[..used / 64].iter().for_each(|block| compress(&mut state, block));
    let mut digest = [0; 20];
    digest.as_chunks_mut().0.iter_mut().zip(state).for_each(|(to, word)| *to = word.to_be_bytes());
    digest
}

fn compress(state: &mut [u32; 5], block: &[u8; 64]) {
    let mut w = [0u32; 80];
    let words = block.as_chunks().0;
    w.iter_mut().zip(words).for_each(|(word, bytes)| *word = u32::from_be_bytes(*bytes));
    for i in 16..80 {
        w[i] = (w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (i, word) in w.into_iter().enumerate() {
        let (f, k) = match i {
            0..20 => (b & c | !b & d, 0x5a82_7999),
            20..40 => (b ^ c ^ d, 0x6ed9_eba1),
            40..60 => (b & c | b & d | c & d, 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6u32),
        };
        let next = a.rotate_left(5).wrapping_add(f).wrapping_add(e).wrapping_add(k);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next.wrapping_add(word));
    }
    for (sum, add) in state.iter_mut().zip([a, b, c, d, e]) {
        *sum = sum.wrapping_add(add);
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::sha1;

    fn hex(bytes: [u8; 20]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Of RFC 3174 7.3, and lengths around the ends of blocks.
    #[suite::test]
    fn known_digests() {
        assert_eq!(hex(sha1(b"abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(hex(sha1(b"")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(
            hex(sha1(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        );
        assert_eq!(hex(sha1(&b"01234567".repeat(80))), "dea356a2cddd90c7a7ecedc5ebb563934f460452");
        assert_eq!(hex(sha1(&[b'a'; 55])), "c1c8bbdc22796e28c0e15163d20899b65621d65a");
        assert_eq!(hex(sha1(&[b'a'; 64])), "0098ba824b5c16427bd7a1122a5a442a25ec644d");
    }
}
