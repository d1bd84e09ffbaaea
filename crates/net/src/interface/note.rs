// SPDX-License-Identifier: Apache-2.0
//! Notes of the operator.

use super::Property;

/// A note that the operator gave an interface (VPP: tag); empty for none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Note(pub String);

impl Property for Note {}
