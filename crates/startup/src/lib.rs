// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
#![warn(missing_docs)]
//! startup.conf: VPP's brace syntax, and sections that are declared by what they configure.
//!
//! A [`Section`] has [`Word`]s, and each word fills a field ([`Slot`]) of a type, or is read and
//! noted. Parsing, errors, the help and `show config` come from that declaration. A plugin declares
//! sections by a type that implements [`Startup`] and gets the type's values at the start.

mod cursor;
mod declared;
mod error;
pub mod section;
mod slot;
mod source;
pub mod text;
pub mod value;

pub use cursor::Cursor;
pub use declared::{Startup, StartupDef, Values};
pub use error::Error;
pub use section::{Section, View, Word, WordView};
pub use slot::Slot;
pub use source::{Origin, Source};
