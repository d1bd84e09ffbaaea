// SPDX-License-Identifier: Apache-2.0
//! Splits a line into words, quoted strings and blocks.

/// The form of a token; its meaning is the grammar's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Word,
    /// `"…"` or `'…'`; the content is raw, there are no escapes.
    Quoted,
    /// `{ … }`.
    Block,
    /// A quote without its end.
    OpenQuote,
    /// A block without its end.
    OpenBlock,
}

/// Bytes `start..end` of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub start: u32,
    pub end: u32,
    pub shape: Shape,
}

impl Token {
    /// The value's bytes: without quotes or braces.
    #[inline]
    pub fn inner(&self) -> std::ops::Range<usize> {
        let (start, end) = (self.start as usize, self.end as usize);
        match self.shape {
            Shape::Word => start..end,
            Shape::Quoted | Shape::Block => start + 1..end - 1,
            Shape::OpenQuote | Shape::OpenBlock => start + 1..end,
        }
    }

    pub fn outer(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

#[inline]
fn is_blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0)
}

/// Splits `line` (below 4 GiB; longer ones are cut) into `out`.
pub(crate) fn split(line: &str, out: &mut Vec<Token>) {
    let line = &line[..line.floor_char_boundary(u32::MAX as usize)];
    let b = line.as_bytes();
    let mut i = 0;
    loop {
        while i < b.len() && is_blank(b[i]) {
            i += 1;
        }
        if i == b.len() {
            return;
        }
        let start = i;
        let shape = match b[i] {
            b'{' => match block_end(b, i) {
                Some(end) => {
                    i = end;
                    Shape::Block
                }
                None => {
                    i = b.len();
                    Shape::OpenBlock
                }
            },
            q @ (b'"' | b'\'') => match b[i + 1..].iter().position(|c| *c == q) {
                Some(n) => {
                    i += n + 2;
                    Shape::Quoted
                }
                None => {
                    i = b.len();
                    Shape::OpenQuote
                }
            },
            _ => {
                while i < b.len() && !is_blank(b[i]) {
                    i += 1;
                }
                Shape::Word
            }
        };
        if matches!(shape, Shape::OpenBlock | Shape::OpenQuote) {
            let end = start + line[start..i].trim_end().len();
            out.push(Token { start: start as u32, end: end as u32, shape });
            return;
        }
        out.push(Token { start: start as u32, end: i as u32, shape });
    }
}

/// The byte behind the brace that closes the one at `open`.
pub(crate) fn block_end(b: &[u8], open: usize) -> Option<usize> {
    Braces::default().scan(&b[open..]).map(|n| open + n)
}

/// Nesting depth of braces in a text; braces in double quotes don't count.
#[derive(Debug, Default)]
pub(crate) struct Braces {
    depth: usize,
    quoted: bool,
}

impl Braces {
    /// Scans further bytes; returns the offset behind the brace that closes the outermost one.
    pub fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        for (i, c) in bytes.iter().enumerate() {
            match c {
                b'"' => self.quoted = !self.quoted,
                b'{' if !self.quoted => self.depth += 1,
                b'}' if !self.quoted => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(i + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the number of open blocks.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the nesting depth at the end of `text`, if it ends inside a block.
    pub fn open(text: &str) -> Option<Self> {
        if !text.as_bytes().contains(&b'{') {
            return None;
        }
        let mut tokens = Vec::new();
        split(text, &mut tokens);
        let open = tokens.last().filter(|t| t.shape == Shape::OpenBlock)?;
        let mut braces = Self::default();
        braces.scan(&text.as_bytes()[open.start as usize..]);
        Some(braces)
    }

    /// Returns true if this block, or one that begins behind its end, is open after this further
    /// line.
    pub fn continues(&mut self, line: &str) -> bool {
        let Some(end) = self.scan(line.as_bytes()) else { return true };
        match Self::open(&line[end..]) {
            Some(next) => {
                *self = next;
                true
            }
            None => false,
        }
    }
}

/// Returns true if the line ends inside a `{ … }` block, so that the next line belongs to it.
pub fn is_open(line: &str) -> bool {
    Braces::open(line).is_some()
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<(&str, Shape)> {
        let mut out = Vec::new();
        split(line, &mut out);
        out.iter().map(|t| (&line[t.inner()], t.shape)).collect()
    }

    #[suite::test]
    fn words_quotes_blocks() {
        assert_eq!(
            words(" a  \"b c\" { d { e } \"}\" } f{g 'h"),
            [
                ("a", Shape::Word),
                ("b c", Shape::Quoted),
                (" d { e } \"}\" ", Shape::Block),
                ("f{g", Shape::Word),
                ("h", Shape::OpenQuote)
            ]
        );
        assert_eq!(words("\"\" {}"), [("", Shape::Quoted), ("", Shape::Block)]);
        assert_eq!(words("don't {"), [("don't", Shape::Word), ("", Shape::OpenBlock)]);
        assert_eq!(words(" \t\r\n"), []);
    }

    #[suite::test]
    fn open_blocks() {
        assert!(is_open("new { a"));
        assert!(!is_open("new { a }"));
        assert!(!is_open("echo a{"));
        let mut b = Braces::open("new { a { \"{").unwrap();
        assert!(b.continues("}\" } b") && b.continues("} c { d"));
        assert!(!b.continues("} e"));
    }
}
