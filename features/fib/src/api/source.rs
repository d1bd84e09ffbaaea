// SPDX-License-Identifier: Apache-2.0
//! Sources of routes. Clients know sources by the numbers that VPP gives them.

use cli::{Error, Result};
use graph::World;
use msg::{Messages, retval};
use net::{Source, Sources};

pub(super) fn messages(m: &mut Messages<World>) {
    m.dump(dump);
    m.call(add);
}

/// The number of a source.
pub fn id(source: Source) -> u8 {
    source.id()
}

/// The source that a client may add routes as; 0 is the binary API.
pub fn to_add(w: &World, id: u8) -> Result<Source> {
    let wrong = || {
        Error::unsupported(format!("{id} is no source of routes for clients"))
            .retval(retval::INVALID_VALUE)
    };
    let for_clients = |s: &Source| {
        matches!(
            s,
            Source::Plugin
                | Source::Api
                | Source::Cli
                | Source::Dhcp
                | Source::Advertised
                | Source::Added { .. }
        )
    };
    match id {
        0 => Ok(Source::Api),
        id => w.get::<Sources>().of(id).filter(for_clients).ok_or_else(wrong),
    }
}

msg::messages! {
    /// A source of routes.
    FibSource,
    /// Asks for all sources of routes.
    FibSourceDump,
    /// A source of routes.
    FibSourceDetails,
    /// Adds a source, for routes of a client's own; its number is assigned, whatever the request
    /// says.
    FibSourceAdd,
    /// Number of the new source.
    FibSourceAddReply,
}

fn dump(w: &World, _: FibSourceDump) -> Result<Vec<FibSourceDetails>> {
    let sources = w.get::<Sources>();
    let details = |source: Source| FibSourceDetails {
        src: FibSource {
            priority: source.priority(),
            id: source.id(),
            name: sources.name(source).as_str().into(),
        },
    };
    Ok(sources.all().into_iter().map(details).collect())
}

fn add(w: &World, r: FibSourceAdd) -> Result<u8> {
    let source = w.get::<Sources>().add(r.src.name.as_str(), r.src.priority)?;
    Ok(source.id())
}
