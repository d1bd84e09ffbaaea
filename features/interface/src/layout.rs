// SPDX-License-Identifier: Apache-2.0
//! Column widths of VPP's `show interface` commands: scripts cut lines at these offsets.

use std::fmt::Display;

/// Width of the column with an interface's name.
pub const NAME: usize = 32;

/// Centres a value in a column; an odd space goes in front.
pub fn centre(value: impl Display, width: usize) -> String {
    let value = value.to_string();
    let left = width.saturating_sub(value.len()).div_ceil(2);
    format!("{:left$}{value:<1$}", "", width.saturating_sub(left))
}
