// SPDX-License-Identifier: Apache-2.0
//! Column widths of VPP's `show interface` commands: scripts cut lines at these offsets.

/// Width of the column with an interface's name.
pub const NAME: usize = 32;
