// SPDX-License-Identifier: Apache-2.0
//! The target of a configuration word: one trait, so that parsing, `show config` and the help come
//! from one declaration.

use crate::cursor::Cursor;
use crate::error::Error;
use crate::value::Value;

/// A value that a word of the configuration sets.
pub trait Slot {
    /// Syntax behind the word, for the help. Empty for a flag.
    fn syntax(&self) -> String;
    /// Reads the value behind the word.
    fn read(&mut self, cursor: &mut Cursor) -> Result<(), Error>;
    /// The values behind the word, one for each time it would have to be written. Empty when it was
    /// never given.
    fn show(&self) -> Vec<String>;
}

/// A flag: true once the word was seen.
impl Slot for bool {
    fn syntax(&self) -> String {
        String::new()
    }
    fn read(&mut self, _: &mut Cursor) -> Result<(), Error> {
        *self = true;
        Ok(())
    }
    fn show(&self) -> Vec<String> {
        if *self { vec![String::new()] } else { Vec::new() }
    }
}

/// One value; the last one given counts.
impl<V: Value> Slot for Option<V> {
    fn syntax(&self) -> String {
        V::SYNTAX.into()
    }
    fn read(&mut self, cursor: &mut Cursor) -> Result<(), Error> {
        *self = Some(cursor.value()?);
        Ok(())
    }
    fn show(&self) -> Vec<String> {
        self.iter().map(V::show).collect()
    }
}

/// Values in the order given, one for each time the word stands there.
impl<V: Value> Slot for Vec<V> {
    fn syntax(&self) -> String {
        format!("{} (may be repeated)", V::SYNTAX)
    }
    fn read(&mut self, cursor: &mut Cursor) -> Result<(), Error> {
        self.push(cursor.value()?);
        Ok(())
    }
    fn show(&self) -> Vec<String> {
        self.iter().map(V::show).collect()
    }
}
