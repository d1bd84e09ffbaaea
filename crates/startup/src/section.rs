// SPDX-License-Identifier: Apache-2.0
//! Sections and their words: syntax, target field and help. `C` is the type that the values go
//! into.

use crate::cursor::Cursor;
use crate::error::Error;
use crate::slot::Slot;
use crate::value::{Size, Value};

/// The target of a word's value.
enum Target<C> {
    /// Into a field.
    Field(fn(&mut C) -> &mut dyn Slot),
    /// Accepted for VPP's sake, ignored, and noted.
    Unused {
        takes: IgnoredValue,
        /// The reason why it isn't needed.
        why: &'static str,
    },
}

/// The value of a word that is accepted and ignored: its syntax and its reader.
pub type IgnoredValue = (&'static str, fn(&mut Cursor) -> Result<(), Error>);
/// Nothing.
pub const NOTHING: IgnoredValue = ("", |_| Ok(()));
/// A size in bytes.
pub const SIZE: IgnoredValue = (Size::SYNTAX, |c| c.value::<Size>().map(drop));
/// A number.
pub const NUMBER: IgnoredValue = (u64::SYNTAX, |c| c.value::<u64>().map(drop));
/// One word.
pub const TEXT: IgnoredValue = (String::SYNTAX, |c| c.value::<String>().map(drop));

/// The reason why sizes of heaps and tables are ignored.
pub const GROWS: &str = "not needed: memory grows as it is used";

/// A word of a section.
pub struct Word<C: 'static> {
    name: &'static str,
    target: Target<C>,
    help: &'static str,
    check: fn(&C) -> Result<(), String>,
    alias: bool,
    pending: Option<&'static str>,
    secret: bool,
}

impl<C> Word<C> {
    /// A word that fills a field. `name` may be several words, as `default data-size`; `help` is
    /// one line.
    pub const fn new(
        name: &'static str,
        field: fn(&mut C) -> &mut dyn Slot,
        help: &'static str,
    ) -> Word<C> {
        let target = Target::Field(field);
        Word { name, target, help, check: |_| Ok(()), alias: false, pending: None, secret: false }
    }

    /// A word that VPP needs and Ferrovia doesn't: it is read, and noted with the reason.
    pub const fn unused(name: &'static str, takes: IgnoredValue, why: &'static str) -> Word<C> {
        let target = Target::Unused { takes, why };
        Word {
            name,
            target,
            help: why,
            check: |_| Ok(()),
            alias: false,
            pending: None,
            secret: false,
        }
    }

    /// The same, with a condition that has to hold once it is set.
    pub const fn check(mut self, check: fn(&C) -> Result<(), String>) -> Word<C> {
        self.check = check;
        self
    }

    /// The same, as a second name of a field that another word shows.
    pub const fn alias(mut self) -> Word<C> {
        self.alias = true;
        self
    }

    /// The same, without effect as long as `what` isn't built.
    pub const fn pending(mut self, what: &'static str) -> Word<C> {
        self.pending = Some(what);
        self
    }

    /// The same, with a value that is hidden from users who needn't know it.
    pub const fn secret(mut self) -> Word<C> {
        self.secret = true;
        self
    }

    fn read(&self, values: &mut C, section: &str, cursor: &mut Cursor) -> Result<(), Error> {
        let from = cursor.position();
        let note = match &self.target {
            Target::Field(field) => {
                field(values).read(cursor)?;
                self.pending.map(|what| format!("no effect: {what} is not part of this build"))
            }
            Target::Unused { takes: (_, read), why } => {
                read(cursor)?;
                Some(why.to_string())
            }
        };
        if let Some(note) = note {
            let said = [section, self.name, &cursor.text_since(from)].join(" ");
            cursor.notes.push(format!("{}: {note}", said.trim()));
        }
        (self.check)(values).map_err(|message| cursor.error_before(message))
    }

    fn view(&self, values: &mut C) -> WordView {
        let (syntax, shown) = match &self.target {
            Target::Field(field) => {
                let field = field(values);
                (field.syntax(), field.show())
            }
            Target::Unused { takes: (syntax, _), .. } => ((*syntax).to_string(), Vec::new()),
        };
        let (pending, secret, alias) = (self.pending.is_some(), self.secret, self.alias);
        WordView { name: self.name, help: self.help, syntax, values: shown, alias, pending, secret }
    }
}

/// The contents of a section.
enum Body<C: 'static> {
    /// `NAME { word … }`
    Words(&'static [Word<C>]),
    /// `NAME value`: the section is one word itself.
    Whole(Word<C>),
}

/// A section.
pub struct Section<C: 'static> {
    name: &'static str,
    help: &'static str,
    body: Body<C>,
    /// Set if the section is there, whatever is in it.
    present: Option<fn(&mut C) -> &mut bool>,
}

impl<C> Section<C> {
    /// `NAME { word … }`; `help` is one line.
    pub const fn new(
        name: &'static str,
        help: &'static str,
        words: &'static [Word<C>],
    ) -> Section<C> {
        Section { name, help, body: Body::Words(words), present: None }
    }

    /// `NAME value`: a section that is one word itself.
    pub const fn whole(help: &'static str, word: Word<C>) -> Section<C> {
        Section { name: word.name, help, body: Body::Whole(word), present: None }
    }

    /// Sets this field if the section is there, even if it is empty.
    pub const fn present(mut self, field: fn(&mut C) -> &mut bool) -> Section<C> {
        self.present = Some(field);
        self
    }

    /// Its name, as written.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Reads what follows the section's name.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read(&self, values: &mut C, cursor: &mut Cursor) -> Result<(), Error> {
        if let Some(present) = self.present {
            *present(values) = true;
        }
        match &self.body {
            Body::Whole(word) => word.read(values, "", cursor),
            Body::Words(words) => cursor
                .block(&format!("`{{ … }}`, the section {}", self.name), |c| {
                    self.one_of(words, values, c)
                }),
        }
    }

    fn one_of(&self, words: &[Word<C>], values: &mut C, cursor: &mut Cursor) -> Result<(), Error> {
        let section = self.name;
        let first = cursor.word(&format!("a word of section {section}"))?;
        for word in words {
            let mut rest = word.name.split(' ');
            if rest.next() != Some(first) {
                continue;
            }
            let rest: Vec<&str> = rest.collect();
            if rest.iter().enumerate().all(|(i, part)| cursor.peek_word(i) == Some(part)) {
                cursor.skip(rest.len());
                return word.read(values, section, cursor);
            }
            let error = cursor
                .error_before(format!("`{first}` is not a word of section {section} on its own"));
            return Err(error.hint(format!("did you mean `{}`?", word.name)));
        }
        let error = cursor.error_before(format!("unknown word `{first}` in section {section}"));
        let known = || words.iter().map(|w| w.name);
        Err(match cli::nearest(first, known()) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error.hint(format!("known are {}", known().collect::<Vec<_>>().join(", "))),
        })
    }

    /// The section with these values.
    pub fn view(&self, values: &C) -> View
    where
        C: Clone,
    {
        // Fields are reached by functions that hand out mutable references only.
        let mut values = values.clone();
        let (whole, words) = match &self.body {
            Body::Words(words) => (false, *words),
            Body::Whole(word) => (true, std::slice::from_ref(word)),
        };
        let words = words.iter().map(|word| word.view(&mut values)).collect();
        let is_present = self.present.is_some_and(|present| *present(&mut values));
        View { name: self.name, help: self.help, whole, is_present, words }
    }
}

/// A section with its values, for the help and for `show config`.
#[derive(Debug)]
pub struct View {
    /// As written.
    pub name: &'static str,
    /// Its purpose, for the help.
    pub help: &'static str,
    /// The section is one word itself.
    pub whole: bool,
    /// The section is there, and means something even if it is empty.
    pub is_present: bool,
    /// Its words, in the order of their declaration.
    pub words: Vec<WordView>,
}

/// A word with its values.
#[derive(Debug)]
pub struct WordView {
    /// As written.
    pub name: &'static str,
    /// Its purpose, for the help.
    pub help: &'static str,
    /// Syntax of its value.
    pub syntax: String,
    /// Values that were given, one for each time the word has to be written.
    pub values: Vec<String>,
    /// True if it is a second name of a field that another word shows.
    pub alias: bool,
    /// True if the feature that would use it isn't built.
    pub pending: bool,
    /// True if its value is hidden from users who needn't know it.
    pub secret: bool,
}

/// Checks that there is some of `what`, if a number was given.
///
/// # Errors
/// There is none.
pub fn positive(n: Option<u32>, what: &str) -> Result<(), String> {
    if n == Some(0) { Err(format!("there have to be some {what}")) } else { Ok(()) }
}

/// Checks the limits of a number, if it was given.
///
/// # Errors
/// The number and the limits.
pub fn within(n: Option<u32>, low: u32, high: u32) -> Result<(), String> {
    match n {
        Some(n) if !(low..=high).contains(&n) => Err(format!("{n} is not within {low} to {high}")),
        _ => Ok(()),
    }
}
