// SPDX-License-Identifier: Apache-2.0
//! Who routes are from. Clients know sources by the numbers that VPP gives them.

use cli::{Error, Result};
use graph::World;
use msg::{Caller, Message, Messages, Str, Wire, retval};
use net::Source;

pub(super) fn messages(m: &mut Messages<World>) {
    m.dump(dump);
}

/// Every source with its number and its priority.
const SOURCES: [(Source, u8, u8); 8] = [
    (Source::Special, 1, 0),
    (Source::Interface, 4, 3),
    (Source::Plugin, 22, 0x10),
    (Source::Api, 8, 0x80),
    (Source::Cli, 9, 0x81),
    (Source::Dhcp, 12, 0xb0),
    (Source::Neighbor, 15, 0xd0),
    (Source::Default, 20, 0xfd),
];

/// The number of a source.
pub fn id(source: Source) -> u8 {
    SOURCES.iter().find(|s| s.0 == source).map_or(0, |s| s.1)
}

/// The source of a number.
pub fn of(id: u8) -> Option<Source> {
    SOURCES.iter().find(|s| s.1 == id).map(|s| s.0)
}

/// The source that a client may add routes as; 0 is the binary API.
pub fn to_add(id: u8) -> Result<Source> {
    let wrong = || {
        Error::unsupported(format!("{id} is no source of routes for clients")).retval(retval::INVALID_VALUE)
    };
    match id {
        0 => Ok(Source::Api),
        id => of(id)
            .filter(|s| matches!(s, Source::Plugin | Source::Api | Source::Cli | Source::Dhcp))
            .ok_or_else(wrong),
    }
}

/// A source of routes.
#[derive(Wire, Clone, Debug, PartialEq, Eq)]
pub struct FibSource {
    /// The least one's routes count.
    pub priority: u8,
    /// Its number.
    pub id: u8,
    /// Its name.
    pub name: Str<64>,
}

/// Asks for all sources of routes.
#[derive(Message)]
#[msg(details)]
pub struct FibSourceDump {}

/// A source of routes.
#[derive(Message)]
pub struct FibSourceDetails {
    /// The source.
    pub src: FibSource,
}

fn dump(_: &World, _: &Caller<'_, World>, _: FibSourceDump) -> Result<Vec<FibSourceDetails>> {
    let details = |&(source, id, priority): &(Source, u8, u8)| FibSourceDetails {
        src: FibSource { priority, id, name: source.name().into() },
    };
    Ok(SOURCES.iter().map(details).collect())
}
