// SPDX-License-Identifier: Apache-2.0
//! Operations on tables and interfaces, for commands and messages.

pub use crate::ranges::Range;

use crate::check::{PortRange, PublishedRanges, Tables};
use crate::ranges::Ranges;
use cli::{Error, Result, quote};
use graph::{Deleted, Phase, RunningConfig, Shared, SwIfIndex, World};
use net::Interfaces;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::Qsbr;
use tables::Forest;
use wire::Ip4Prefix;

/// Kind of a check of an interface, by the word of its command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckKind {
    /// TCP that comes in.
    TcpOut,
    /// UDP that comes in.
    UdpOut,
    /// TCP that leaves.
    TcpIn,
    /// UDP that leaves.
    UdpIn,
}

impl CheckKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::TcpOut, Self::UdpOut, Self::TcpIn, Self::UdpIn];

    /// Its word in commands.
    pub const fn name(self) -> &'static str {
        ["tcp-out-vrf", "udp-out-vrf", "tcp-in-vrf", "udp-in-vrf"][self as usize]
    }
}

/// The tables of an interface, by [`CheckKind`].
pub type Vrfs = [Option<u32>; 4];

/// All that is configured.
pub struct Checks {
    domain: Arc<Qsbr>,
    tables: Arc<PublishedRanges>,
    control: Mutex<Control>,
}

/// State that the packet path doesn't need.
#[derive(Default)]
struct Control {
    /// Where tables lie, once there is one.
    forest: Option<Arc<Forest>>,
    /// By the id of the VRF; with its number.
    tables: BTreeMap<u32, (u16, Arc<Ranges>)>,
    interfaces: BTreeMap<SwIfIndex, Vrfs>,
}

impl Shared for Checks {
    fn make(world: &World) -> Self {
        Self { domain: world.qsbr.clone(), tables: world.get(), control: Mutex::default() }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        let vrfs = self.control().interfaces.get(&sw_if).copied();
        if let Some(vrfs) = vrfs {
            let done = set(world, sw_if, vrfs, false);
            debug_assert!(done.is_ok(), "it was set: {done:?}");
        }
    }
}

impl Checks {
    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("no panic inside")
    }

    /// The interfaces that check, and by what tables.
    pub fn interfaces(&self) -> Vec<(SwIfIndex, Vrfs)> {
        self.control().interfaces.iter().map(|(sw_if, vrfs)| (*sw_if, *vrfs)).collect()
    }

    /// All tables with their networks.
    pub fn list(&self) -> Vec<(u32, Ip4Prefix, Vec<Range>)> {
        let of = |(id, (_, table)): (&u32, &(u16, Arc<Ranges>))| {
            table
                .list()
                .into_iter()
                .map(|(network, ranges)| (*id, network, ranges))
                .collect::<Vec<_>>()
        };
        self.control().tables.iter().flat_map(of).collect()
    }

    /// The network that speaks for a source in a table, and its ports.
    pub fn find(&self, vrf: u32, source: Ipv4Addr) -> Option<(Ip4Prefix, Vec<Range>)> {
        self.control().tables.get(&vrf)?.1.find(source)
    }
}

/// The table of a VRF; a new one if it has none.
fn table(checks: &Checks, control: &mut Control, vrf: u32) -> Result<(u16, Arc<Ranges>)> {
    if vrf == 0 {
        return Err(Error::parse(
            "table 0 is everybody's: expected one that is made for this check",
        )
        .retval(msg::retval::INVALID_VALUE));
    }
    if let Some(there) = control.tables.get(&vrf) {
        return Ok(there.clone());
    }
    // 0 stands for none in `Tables`.
    let number = u16::try_from(control.tables.len() + 1)
        .map_err(|_| Error::limit("65535 tables are all"))?;
    let forest = match &control.forest {
        Some(forest) => forest.clone(),
        None => {
            let no_space =
                |e| Error::limit(format!("no address space for tables: {e} (is `ulimit -v' set?)"));
            control.forest.insert(Forest::new(checks.domain.clone()).map_err(no_space)?).clone()
        }
    };
    let new = Arc::new(Ranges::new(&forest)?);
    checks.tables.set(number, new.clone());
    control.tables.insert(vrf, (number, new.clone()));
    Ok((number, new))
}

/// Allows the hosts of a network to send to these ports, or withdraws that.
///
/// # Errors
/// Table 0 (−7); withdrawing a range that wasn't allowed (−6); too many ranges.
pub fn allow(
    world: &World,
    vrf: u32,
    network: Ip4Prefix,
    ranges: &[Range],
    on: bool,
) -> Result<()> {
    let checks = world.get::<Checks>();
    let mut control = checks.control();
    if on {
        let (_, table) = table(&checks, &mut control, vrf)?;
        return table.add(network.network(), ranges);
    }
    let table = control.tables.get(&vrf).map(|(_, table)| table);
    let none =
        || Error::not_found(format!("table {vrf} has no ports")).retval(msg::retval::NO_SUCH_ENTRY);
    table.ok_or_else(none)?.remove(network.network(), ranges)
}

/// Sets or removes tables that an interface checks by; other tables stay. A table without networks
/// lets nothing pass.
///
/// # Errors
/// Table 0 (−7).
pub fn set(world: &World, sw_if: SwIfIndex, vrfs: Vrfs, on: bool) -> Result<()> {
    let checks = world.get::<Checks>();
    let mut control = checks.control();
    for vrf in vrfs.into_iter().flatten().filter(|_| on) {
        table(&checks, &mut control, vrf)?;
    }
    let mut all = control.interfaces.get(&sw_if).copied().unwrap_or_default();
    for (now, vrf) in all.iter_mut().zip(vrfs) {
        if vrf.is_some() {
            *now = vrf.filter(|_| on);
        }
    }
    let number = |kind: CheckKind| {
        let vrf = all[kind as usize];
        vrf.and_then(|vrf| control.tables.get(&vrf)).map_or(0, |(number, _)| *number)
    };
    let tables = |tcp, udp| {
        Some(Tables { tcp: number(tcp), udp: number(udp) }).filter(|t| *t != Tables::default())
    };
    let (rx, tx) =
        (tables(CheckKind::TcpOut, CheckKind::UdpOut), tables(CheckKind::TcpIn, CheckKind::UdpIn));
    world
        .configure_feature::<PortRange<false>>("ip4-unicast", sw_if, rx)
        .map_err(Error::unsupported)?;
    world
        .configure_feature::<PortRange<true>>("ip4-output", sw_if, tx)
        .map_err(Error::unsupported)?;
    if all == Vrfs::default() {
        control.interfaces.remove(&sw_if);
    } else {
        control.interfaces.insert(sw_if, all);
    }
    Ok(())
}

/// Says what was set.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let checks = world.get::<Checks>();
    config.list(Phase::FEATURES, checks.list(), |_, (vrf, network, ranges), lines| {
        for range in ranges {
            let line = format!("set ip source-and-port-range-check vrf {vrf} {network} {range}");
            lines.push(line.clone(), line + " del");
        }
    });
    config.list(Phase::FEATURES, checks.interfaces(), |world, (sw_if, vrfs), lines| {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        let mut line = format!("set interface ip source-and-port-range-check {name}");
        for (kind, vrf) in CheckKind::ALL.into_iter().zip(vrfs) {
            line.extend(vrf.map(|vrf| format!(" {} {vrf}", kind.name())));
        }
        lines.push(line.clone(), line + " del");
    });
}
