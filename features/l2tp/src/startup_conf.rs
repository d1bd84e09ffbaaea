// SPDX-License-Identifier: Apache-2.0
//! The section `l2tp` of startup.conf.

use crate::model::LookupBy;
use startup::{Section, Word};

/// The settings of the section `l2tp`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Startup {
    source: bool,
    destination: bool,
    session: bool,
}

impl Startup {
    /// The field by which received packets find their session.
    pub fn lookup(&self) -> LookupBy {
        match self {
            Self { source: true, .. } => LookupBy::Source,
            Self { session: true, .. } => LookupBy::Session,
            _ => LookupBy::Destination,
        }
    }
}

fn at_most_one(c: &Startup) -> Result<(), String> {
    let given = [c.source, c.destination, c.session].into_iter().filter(|given| *given).count();
    if given > 1 {
        return Err("sessions are looked up in one way: two are given".into());
    }
    Ok(())
}

impl startup::Startup for Startup {
    const SECTIONS: &'static [Section<Self>] = &[Section::new(
        "l2tp",
        "L2TPv3: lookup of sessions",
        &[
            Word::new(
                "lookup-v6-src",
                |c: &mut Self| &mut c.source,
                "by the source address of received packets",
            )
            .check(at_most_one),
            Word::new(
                "lookup-v6-dst",
                |c: &mut Self| &mut c.destination,
                "by the destination address of received packets (default)",
            )
            .check(at_most_one),
            Word::new(
                "lookup-session-id",
                |c: &mut Self| &mut c.session,
                "by the session identifier of received packets",
            )
            .check(at_most_one),
        ],
    )];
}
