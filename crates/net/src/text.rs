// SPDX-License-Identifier: Apache-2.0
//! Text received from the network.

/// Returns true if a character may be shown on a terminal. Control characters may not, nor may line
/// separators and invisible characters that change the order of others (Unicode's Bidi_Control) or
/// have no width.
pub const fn is_printable(c: char) -> bool {
    !matches!(
        c,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
    )
}
