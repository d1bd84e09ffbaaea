// SPDX-License-Identifier: Apache-2.0
//! Configuration text, and where it comes from.

/// The origin of configuration text. It decides how a position is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file, by its name.
    File(String),
    /// Command-line arguments: for each one its number in `argv` and the byte at which it starts in
    /// the text.
    Arguments(Vec<(usize, usize)>),
}

/// Text to be parsed, with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Origin of the text.
    pub origin: Origin,
    /// The text itself.
    pub text: String,
}

impl Source {
    /// Text of the file `name`.
    pub fn file(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source { origin: Origin::File(name.into()), text: text.into() }
    }

    /// Arguments joined with single spaces, as VPP joins them. `first` is the number of the first
    /// one in `argv`.
    pub fn arguments<S: AsRef<str>>(first: usize, args: &[S]) -> Source {
        let mut text = String::new();
        let mut starts = Vec::with_capacity(args.len());
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                text.push(' ');
            }
            starts.push((first + i, text.len()));
            text.push_str(arg.as_ref());
        }
        Source { origin: Origin::Arguments(starts), text }
    }

    /// Returns true if the text may have comments.
    pub fn comments(&self) -> bool {
        matches!(self.origin, Origin::File(_))
    }
}
