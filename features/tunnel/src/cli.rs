// SPDX-License-Identifier: Apache-2.0
//! Words that the commands of all kinds have.

use crate::model::{Flags, Marks};
use cli::{Error, Matches, Result};

const WORDS: [(&str, Flags); 8] = [
    ("encap-copy-df", Flags::COPY_DF),
    ("encap-set-df", Flags::SET_DF),
    ("encap-copy-dscp", Flags::COPY_DSCP),
    ("encap-copy-ecn", Flags::COPY_ECN),
    ("decap-copy-ecn", Flags::DECAP_COPY_ECN),
    ("encap-inner-hash", Flags::INNER_HASH),
    ("encap-copy-hop-limit", Flags::COPY_HOP_LIMIT),
    ("encap-copy-flow-label", Flags::COPY_FLOW_LABEL),
];

/// Reads what an operator chooses of outer headers: `encap-copy-df`, …, `dscp <dscp:u8>`, `hop-limit <hoplimit:u8>`.
///
/// # Errors
/// A DSCP above 63.
pub fn parse(m: &Matches) -> Result<Marks> {
    let dscp: u8 = m.opt("dscp")?.unwrap_or(0);
    if dscp > 63 {
        return Err(Error::parse(format!("a DSCP is at most 63, not {dscp}")).at(m.span("dscp")));
    }
    let set = WORDS.iter().filter(|(word, _)| m.flag(word));
    let flags = set.fold(Flags::default(), |all, (_, flag)| all.with(*flag));
    Ok(Marks { flags, dscp, hop_limit: m.opt("hoplimit")?.unwrap_or(0) })
}

/// The words of what is copied.
pub fn flags(marks: &Marks) -> Vec<&'static str> {
    WORDS.iter().filter(|(_, flag)| marks.flags.has(*flag)).map(|(word, _)| *word).collect()
}

/// Writes the arguments that [`parse`] reads, each with a space in front.
pub fn describe(marks: &Marks) -> String {
    let mut text: String = flags(marks).iter().map(|word| format!(" {word}")).collect();
    if marks.dscp != 0 {
        text += &format!(" dscp {}", marks.dscp);
    }
    if marks.hop_limit != 0 {
        text += &format!(" hop-limit {}", marks.hop_limit);
    }
    text
}
