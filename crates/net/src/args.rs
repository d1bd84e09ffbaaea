// SPDX-License-Identifier: Apache-2.0
//! Arguments of commands that name objects of this crate, and answers and saved lines that do.
//! Errors point at the argument's words.

use crate::{Fib, Interfaces, Net, TableIndex};
use cli::{Error, Matches, Output, Result, Value};
use graph::{Phase, RunningConfig, SwIfIndex, World};
use wire::Prefix;

/// The interface whose name was given for a placeholder.
///
/// # Errors
/// No such interface (−2).
pub fn interface(w: &World, m: &Matches, name: &str) -> Result<SwIfIndex> {
    w.get::<Interfaces>().find(m.str(name)).map_err(m.at(name))
}

/// As [`interface`]; none if the placeholder wasn't given.
///
/// # Errors
/// No such interface (−2).
pub fn given_interface(w: &World, m: &Matches, name: &str) -> Result<Option<SwIfIndex>> {
    m.has(name).then(|| interface(w, m, name)).transpose()
}

/// The answer of a command that makes an interface: its name.
pub fn made(w: &World, sw_if: SwIfIndex) -> Output {
    Output::text(format!("{}\n", w.get::<Interfaces>().name(sw_if)))
}

/// Writes a line for each interface: `line NAME on`, which `line NAME off` takes back. Either word
/// may be "".
pub fn write_switches(
    config: &mut RunningConfig,
    phase: Phase,
    all: impl IntoIterator<Item = SwIfIndex, IntoIter: 'static>,
    line: &'static str,
    [on, off]: [&'static str; 2],
) {
    config.list(phase, all, move |world, sw_if, lines| {
        let line = format!("{line} {}", world.get::<Interfaces>().word(sw_if));
        let [text, undo] = [on, off].map(|word| format!("{line} {word}").trim_end().to_string());
        lines.push(text, undo);
    });
}

/// The route table whose id was given for a placeholder; the default one without it.
///
/// # Errors
/// No such table (−3).
pub fn table<F: Net>(w: &World, m: &Matches, name: &str) -> Result<TableIndex> {
    match m.opt::<u32>(name)? {
        None => Ok(TableIndex::DEFAULT),
        Some(id) => w.get::<Fib<F>>().find_table(id).map_err(m.at(name)),
    }
}

/// Error for an address or prefix of the other IP version.
pub fn other_version<F: Net>(m: &Matches, name: &str) -> Error {
    let wrong = format!("{} is no IPv{} address", m.str(name), F::VERSION);
    Error::parse(wrong).at(m.span(name))
}

/// True if an IPv6 address or prefix was given for a placeholder.
pub fn is_v6(m: &Matches, name: &str) -> bool {
    match m.arg(name).map(|arg| arg.value) {
        Some(Value::Prefix(addr, _) | Value::Ip(addr)) => addr.is_ipv6(),
        _ => false,
    }
}

/// The prefix that was given for a placeholder.
///
/// # Errors
/// A prefix of the other IP version.
pub fn prefix<F: Net>(m: &Matches, name: &str) -> Result<Prefix<F::Addr>> {
    let bad = || Error::usage(format!("<{name}> is missing"));
    let arg = m.arg(name).ok_or_else(bad)?;
    match arg.value {
        Value::Prefix(addr, len) => {
            let addr = F::of_ip(addr).ok_or_else(|| other_version::<F>(m, name))?;
            Prefix::new(addr, len).ok_or_else(bad)
        }
        _ => Err(bad()),
    }
}
