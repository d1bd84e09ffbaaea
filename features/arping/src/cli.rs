// SPDX-License-Identifier: Apache-2.0
//! The command.

use crate::request::{Request, interval};
use crate::run::Run;
use cli::{Command, Error, Matches, Output, Result};
use graph::{SwIfIndex, World};
use net::Interfaces;
use net::args::interface;
use std::net::IpAddr;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Send ARP requests or neighbour solicitations to a host of a link, and print which stations
    /// answer; or announce an address
    "arping",
    "{[gratuitous] <addr:ip> <interface:interface> | [gratuitous] <joined:word> [<interface:interface>]} \
     [interval <sec:f64>] [repeat <cnt:u32>]" => arping;
};

/// The word that may stand in front of an address without a blank.
const GRATUITOUS: &str = "gratuitous";

fn arping(w: &World, m: &Matches) -> Result<Output> {
    let (address, sw_if, announces) = match m.opt::<IpAddr>("addr")? {
        Some(address) => (address, interface(w, m, "interface")?, false),
        None => joined(w, m)?,
    };
    let request = Request {
        address,
        sw_if,
        gratuitous: announces || m.flag(GRATUITOUS),
        detects_conflicts: false,
        repeat: m.get("cnt").unwrap_or(1),
        interval: interval(m.get("sec").unwrap_or(1.0)).map_err(m.at("sec"))?,
    };
    Run::new(w, request).map(Output::task)
}

/// Words without blanks between them: VPP's parser ends an address where it can't go on, so
/// `gratuitous10.0.0.1pg1` names an address and an interface.
fn joined(w: &World, m: &Matches) -> Result<(IpAddr, SwIfIndex, bool)> {
    let word = m.str("joined");
    let (rest, announces) =
        word.strip_prefix(GRATUITOUS).map_or((word, false), |rest| (rest, true));
    let wrong = |why: String| m.at("joined")(Error::parse(why));
    if m.has("interface") {
        let address = rest.parse::<IpAddr>();
        let address =
            address.map_err(|_| wrong(format!("expecting IP4/IP6 address, not `{rest}'")))?;
        return Ok((address, interface(w, m, "interface")?, announces));
    }
    // The longest address behind which an interface's name follows: `a` to `f` could belong to
    // both.
    let ends = rest.char_indices().map(|(at, _)| at).filter(|at| *at > 0);
    let mut addresses = ends
        .rev()
        .filter_map(|at| Some((rest.get(..at)?.parse::<IpAddr>().ok()?, rest.get(at..)?)))
        .peekable();
    let Some((_, name)) = addresses.peek() else {
        let why = match rest.parse::<IpAddr>() {
            Ok(_) => format!("expecting an interface behind `{rest}'"),
            Err(_) => format!("expecting IP4/IP6 address, not `{rest}'"),
        };
        return Err(wrong(why));
    };
    let unknown = wrong(format!("unknown interface `{name}'"));
    let interfaces = w.get::<Interfaces>();
    addresses
        .find_map(|(address, name)| Some((address, interfaces.find(name).ok()?, announces)))
        .ok_or(unknown)
}
