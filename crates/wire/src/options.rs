// SPDX-License-Identifier: Apache-2.0
//! Options as IPv4 and TCP write them: a kind, a length that counts both bytes, data; two kinds are
//! a lone byte.

use core::fmt;

/// One option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlvOption<'a> {
    /// Its kind.
    pub kind: u8,
    /// Offset of its kind byte, counted from the first option byte.
    pub offset: usize,
    /// The bytes behind kind and length.
    pub data: &'a [u8],
}

/// The options can't be read further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionError {
    /// Offset of the offending kind byte, counted from the first option byte.
    pub offset: usize,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed option at byte {}", self.offset)
    }
}

impl core::error::Error for OptionError {}

/// Iterator over options. No-operation bytes are stepped over, end-of-list or the last byte ends
/// it, a length below two or beyond the end gives one error and ends it. Every step consumes a
/// byte, so there are at most as many steps as bytes.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Options<'a> {
    /// Kind of the lone byte that ends the list.
    pub const END: u8 = 0;
    /// Kind of the lone byte that fills.
    pub const NOP: u8 = 1;

    /// Over the bytes between the fixed header and the payload.
    #[inline(always)]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<TlvOption<'a>, OptionError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.bytes.get(self.at) == Some(&Self::NOP) {
            self.at += 1;
        }
        let offset = self.at;
        let kind = *self.bytes.get(offset)?;
        if kind == Self::END {
            self.at = self.bytes.len();
            return None;
        }
        let end = self.bytes.get(offset + 1).map_or(offset, |&len| offset + usize::from(len));
        match self.bytes.get(offset + 2..end) {
            Some(data) => {
                self.at = end;
                Some(Ok(TlvOption { kind, offset, data }))
            }
            None => {
                self.at = self.bytes.len();
                Some(Err(OptionError { offset }))
            }
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[suite::test]
    fn mss_and_window_scale() {
        let bytes = [2, 4, 5, 0xb4, 1, 3, 3, 7, 0, 9, 9, 9];
        let seen: Vec<_> = Options::new(&bytes).map(Result::unwrap).collect();
        assert_eq!(
            seen,
            [
                TlvOption { kind: 2, offset: 0, data: &[5, 0xb4] },
                TlvOption { kind: 3, offset: 5, data: &[7] }
            ]
        );
    }

    #[suite::test]
    fn malformed() {
        for (bytes, offset) in [
            (&[8u8][..], 0),
            (&[8, 0], 0),
            (&[8, 1], 0),
            (&[1, 1, 8, 3], 2),
            (&[8, 2, 7, 255, 0], 2),
        ] {
            let last = Options::new(bytes).last();
            assert_eq!(last, Some(Err(OptionError { offset })), "{bytes:?}");
        }
    }

    proptest! {
        #[suite::test]
        fn ends_in_bounds(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut low = 0;
            for item in Options::new(&bytes) {
                match item {
                    Ok(o) => {
                        prop_assert!(o.offset >= low);
                        prop_assert_eq!(bytes[o.offset], o.kind);
                        prop_assert_eq!(usize::from(bytes[o.offset + 1]), o.data.len() + 2);
                        low = o.offset + o.data.len() + 2;
                    }
                    Err(e) => {
                        prop_assert!(e.offset >= low);
                        low = bytes.len() + 1;
                    }
                }
            }
        }
    }
}
