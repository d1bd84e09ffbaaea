// SPDX-License-Identifier: Apache-2.0
//! Encoding of values: packed, in network byte order, but for floating point, which is in the
//! host's.

use std::fmt;

/// The reason why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// They end before the message does.
    Short,
    /// A value that its type doesn't have.
    Value,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Short => "the message ends too soon",
            Malformed::Value => "a field has a value that its type doesn't have",
        })
    }
}

/// Reads a message from front to back.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(head)
    }

    /// Bytes that are left.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

/// A type that is encoded in messages.
pub trait Wire: Sized {
    /// Appends it.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads it.
    ///
    /// # Errors
    /// Bytes that are too few, or that no value has.
    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed>;
}

macro_rules! numbers {
    ($($t:ident, $put:ident, $get:ident;)*) => {$(
        impl Wire for $t {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.$put());
            }
            fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
                let bytes = r.take(size_of::<$t>())?;
                Ok($t::$get(bytes.try_into().expect("as many as were asked for")))
            }
        }
    )*};
}

numbers! {
    u8, to_be_bytes, from_be_bytes;
    i8, to_be_bytes, from_be_bytes;
    u16, to_be_bytes, from_be_bytes;
    i16, to_be_bytes, from_be_bytes;
    u32, to_be_bytes, from_be_bytes;
    i32, to_be_bytes, from_be_bytes;
    u64, to_be_bytes, from_be_bytes;
    i64, to_be_bytes, from_be_bytes;
    f64, to_ne_bytes, from_ne_bytes;
}

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(r.take(1)?[0] != 0)
    }
}

/// `T x[N]`
impl<T: Wire, const N: usize> Wire for [T; N] {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|x| x.put(out));
    }
    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        // Routes come with such arrays by the hundred thousand: without a detour by the heap.
        let mut all = [const { None }; N];
        for x in &mut all {
            *x = Some(T::get(r)?);
        }
        Ok(all.map(|x: Option<T>| x.expect("all were read")))
    }
}

/// Text up to its end mark. `?` stands for bytes that aren't UTF-8, and for the replacement
/// character: a saved configuration with that character wouldn't be loaded, since the bytes that it
/// replaced are unknown.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).replace(char::REPLACEMENT_CHARACTER, "?")
}

/// `string x[]`: a length and as many bytes.
impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        length::<u32>(self.len()).put(out);
        out.extend_from_slice(self.as_bytes());
    }
    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let n = u32::get(r)?;
        let text = r.take(n as usize)?;
        // Some clients count the end mark, some don't.
        Ok(text_of(text))
    }
}

/// `string x[N]`: text of at most `N − 1` bytes, filled up with zeros. What is longer is cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Str<const N: usize>(pub String);

impl<const N: usize> Str<N> {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const N: usize> From<&str> for Str<N> {
    fn from(text: &str) -> Self {
        Str(text.to_string())
    }
}

impl<const N: usize> From<String> for Str<N> {
    fn from(text: String) -> Self {
        Str(text)
    }
}

impl<const N: usize> fmt::Display for Str<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const N: usize> Wire for Str<N> {
    fn put(&self, out: &mut Vec<u8>) {
        let end = out.len() + N;
        out.extend_from_slice(
            &self.0.as_bytes()[..self.0.floor_char_boundary(N.saturating_sub(1))],
        );
        out.resize(end, 0);
    }
    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Str(text_of(r.take(N)?)))
    }
}

/// A number of elements that follow.
pub trait Length: Wire + TryFrom<usize> {
    /// Its largest value.
    const MAX: Self;
}

impl Length for u8 {
    const MAX: Self = u8::MAX;
}
impl Length for u16 {
    const MAX: Self = u16::MAX;
}
impl Length for u32 {
    const MAX: Self = u32::MAX;
}

/// The length of an array for the wire.
pub fn length<L: Length>(n: usize) -> L {
    L::try_from(n).unwrap_or(L::MAX)
}

/// Writes the elements of a counted array.
pub fn put_all<T: Wire>(all: &[T], out: &mut Vec<u8>) {
    all.iter().for_each(|x| x.put(out));
}

/// Reads the elements of a counted array. Memory grows with what is there, not with what is
/// promised.
///
/// # Errors
/// The errors of an element.
pub fn get_all<T: Wire>(n: usize, r: &mut Reader<'_>) -> Result<Vec<T>, Malformed> {
    // An element takes a byte at least.
    if n > r.rest().len() {
        return Err(Malformed::Short);
    }
    (0..n).map(|_| T::get(r)).collect()
}
