// SPDX-License-Identifier: Apache-2.0
//! Virtual subnet selection (RFC 6607): tells servers the VPN that a client's table is of.

use cli::{Error, Result, retval};
use std::fmt;

/// Bytes of a VPN's name at most.
pub const LONGEST: usize = 128;
/// Bytes of the information at most: its type, and a name.
pub const MOST: usize = 1 + LONGEST;

/// A VPN (RFC 6607 3.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Vss {
    /// The global address space (type 255).
    Default,
    /// A VPN-ID (type 1, RFC 2685): an organization's identifier of 3 bytes, and an index.
    Id {
        /// The organization, 24 bits.
        oui: u32,
        /// The index.
        index: u32,
    },
    /// A name (type 0).
    Name(String),
}

impl Vss {
    /// Checks that the information can be sent.
    ///
    /// # Errors
    /// A name that is empty or too long, an organization of more than 24 bits (−7).
    pub fn check(&self) -> Result<()> {
        let why = match self {
            Self::Id { oui, .. } if *oui > 0xff_ffff => {
                format!("an OUI has 24 bits: {oui} is above {}", 0xff_ffff)
            }
            Self::Name(name) if name.is_empty() => "a VPN's name can't be empty".into(),
            Self::Name(name) if name.len() > LONGEST => {
                format!("a VPN's name has {LONGEST} bytes at most, not {}", name.len())
            }
            _ => return Ok(()),
        };
        Err(Error::parse(why).retval(retval::INVALID_VALUE))
    }

    /// Type and information, as options carry them.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Default => vec![255],
            Self::Id { oui, index } => {
                [&[1], &oui.to_be_bytes()[1..], &index.to_be_bytes()[..]].concat()
            }
            Self::Name(name) => [&[0], name.as_bytes()].concat(),
        }
    }
}

impl fmt::Display for Vss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default VPN"),
            Self::Id { oui, index } => write!(f, "OUI {oui:#x} VPN-id {index:#x}"),
            Self::Name(name) => write!(f, "VPN name {name}"),
        }
    }
}
