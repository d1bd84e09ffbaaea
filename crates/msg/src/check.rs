// SPDX-License-Identifier: Apache-2.0
//! Two readers of the same bytes: the derived one, and the one that goes by the description. They
//! must agree.

use crate::table::Entry;
use crate::wire::{Malformed, Reader};

/// Reads the bytes behind a message's number in both ways.
///
/// # Panics
/// If the two don't agree, or what was read and written is read differently: a fault of the codec.
pub fn codec<W: 'static>(entry: &Entry<W>, bytes: &[u8]) {
    let shown = crate::show_fields(&entry.fields, &mut Reader::new(bytes));
    match entry.read_and_write(bytes) {
        Ok(written) => {
            assert!(shown.is_ok(), "{}: read by its type, not by its description", entry.name);
            assert!(written.len() <= bytes.len() + 3 * bytes.len(), "{}: grows", entry.name);
            let again = entry.read_and_write(&written);
            assert_eq!(
                again.as_ref(),
                Ok(&written),
                "{}: changes when it is read again",
                entry.name
            );
        }
        // A value that its type doesn't have is shown as the number that it is.
        Err(Malformed::Value) => {}
        Err(Malformed::Short) => {
            assert_eq!(
                shown,
                Err(Malformed::Short),
                "{}: read by its description, not by its type",
                entry.name
            );
        }
    }
}
