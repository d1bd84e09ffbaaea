// SPDX-License-Identifier: Apache-2.0
//! Texts joined when the program is compiled: usages that are made of parts.

/// Bytes of all parts, with a blank between each two.
#[doc(hidden)]
pub const fn joined_len(parts: &[&str]) -> usize {
    let (mut len, mut at) = (0, 0);
    while at < parts.len() {
        len += parts[at].len() + (at > 0) as usize;
        at += 1;
    }
    len
}

/// The parts, with a blank between each two.
#[doc(hidden)]
pub const fn joined<const LEN: usize>(parts: &[&str]) -> [u8; LEN] {
    let (mut bytes, mut len, mut at) = ([b' '; LEN], 0, 0);
    while at < parts.len() {
        len += (at > 0) as usize;
        let (part, mut byte) = (parts[at].as_bytes(), 0);
        while byte < part.len() {
            bytes[len] = part[byte];
            (len, byte) = (len + 1, byte + 1);
        }
        at += 1;
    }
    bytes
}

/// Joins constant texts, with a blank between each two.
///
/// ```
/// const END: &str = "[del]";
/// assert_eq!(cli::join!("<interface:interface>", END), "<interface:interface> [del]");
/// ```
#[macro_export]
macro_rules! join {
    ($($part:expr),+ $(,)?) => {{
        const PARTS: &[&str] = &[$($part),+];
        const BYTES: [u8; $crate::joined_len(PARTS)] = $crate::joined(PARTS);
        const TEXT: &str = match ::core::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => "",
        };
        TEXT
    }};
}
