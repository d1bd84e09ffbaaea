// SPDX-License-Identifier: Apache-2.0
//! Operations on source checks, for commands and messages.

use crate::accepted::Accepted;
use crate::check::Urpf as Node;
use crate::config::Config;
use cli::{Error, Result, quote, retval};
use graph::{Deleted, Phase, RunningConfig, Shared, SwIfIndex, World, filled};
use net::{DeletedTable, Fib, Interfaces, Net, TableIndex};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use wire::{Ip4, Ip6, Prefix};

/// The mode of source checks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Mode {
    /// Not at all.
    #[default]
    Off,
    /// They need a route.
    Loose,
    /// They need a route by this interface.
    Strict,
}

impl Mode {
    /// Its word in commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Loose => "loose",
            Self::Strict => "strict",
        }
    }
}

/// Where sources are checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Check {
    /// On this interface.
    pub sw_if: SwIfIndex,
    /// Of IPv6.
    pub v6: bool,
    /// True for received packets, false for sent packets.
    pub rx: bool,
}

/// The settings of a source check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CheckSettings {
    /// Mode of the check.
    pub mode: Mode,
    /// Table of the check, by its id; `None` for the interface's own.
    pub table: Option<u32>,
    /// The default route is no route of a source.
    pub deny_default: bool,
}

impl From<Mode> for CheckSettings {
    fn from(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }
}

/// Configured checks.
type Checks = BTreeMap<Check, CheckSettings>;

/// The control side.
#[derive(Default)]
pub struct Urpf(Mutex<Checks>);

impl Shared for Urpf {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.checks().retain(|check, _| check.sw_if != *sw_if);
        } else if let Some(table) = deleted.of::<DeletedTable<Ip4>>() {
            self.forget_table(world, false, table.id);
        } else if let Some(table) = deleted.of::<DeletedTable<Ip6>>() {
            self.forget_table(world, true, table.id);
        }
    }
}

impl Urpf {
    fn checks(&self) -> MutexGuard<'_, Checks> {
        self.0.lock().expect("no panic inside")
    }

    /// Checks that used a table fall back to their interface's.
    fn forget_table(&self, world: &World, v6: bool, id: Option<u32>) {
        let there = |(check, how): &(Check, CheckSettings)| {
            check.v6 == v6 && id.is_some() && how.table == id
        };
        for (check, how) in self.list().into_iter().filter(there) {
            let done = set(world, check, CheckSettings { table: None, ..how });
            debug_assert!(done.is_ok(), "it was set: {done:?}");
        }
    }

    /// All checks that aren't off.
    pub fn list(&self) -> Vec<(Check, CheckSettings)> {
        self.checks().iter().map(|(check, how)| (*check, *how)).collect()
    }
}

/// Says how sources are checked somewhere.
///
/// # Errors
/// A table that isn't there (−3); a family that isn't built.
pub fn set(world: &World, check: Check, how: CheckSettings) -> Result<()> {
    let CheckSettings { mode, table, deny_default } = how;
    let index = table.map(|id| find_table(world, check.v6, id)).transpose()?;
    let config = Config::new(index, deny_default);
    let set = match (check.v6, check.rx) {
        (false, true) => configure::<Ip4, false>(world, check, mode, config),
        (false, false) => configure::<Ip4, true>(world, check, mode, config),
        (true, true) => configure::<Ip6, false>(world, check, mode, config),
        (true, false) => configure::<Ip6, true>(world, check, mode, config),
    };
    set.map_err(Error::unsupported)?;
    let urpf = world.get::<Urpf>();
    match mode {
        Mode::Off => urpf.checks().remove(&check),
        _ => urpf.checks().insert(check, how),
    };
    Ok(())
}

/// Enables the node of a mode on the arc, and disables the other mode's node.
fn configure<F: Net, const TX: bool>(
    world: &World,
    Check { sw_if, .. }: Check,
    mode: Mode,
    config: Config,
) -> std::result::Result<(), String> {
    let arc = filled(if TX { "{ip}-output" } else { "{ip}-unicast" }, F::IS_V6);
    let of = |node| (mode == node).then_some(config);
    world.configure_feature::<Node<F, TX, false>>(&arc, sw_if, of(Mode::Loose))?;
    world.configure_feature::<Node<F, TX, true>>(&arc, sw_if, of(Mode::Strict))
}

fn find_table(world: &World, v6: bool, id: u32) -> Result<TableIndex> {
    if v6 { world.get::<Fib<Ip6>>().find_table(id) } else { world.get::<Fib<Ip4>>().find_table(id) }
}

/// A prefix of either family.
pub type AnyPrefix = (IpAddr, u8);

/// Accepts sources of a prefix in a table, by its id, whatever their routes; or removes the prefix.
///
/// # Errors
/// A table that isn't there (−3); removing a prefix that wasn't accepted (−6).
pub fn accept(world: &World, table: u32, prefix: AnyPrefix, on: bool) -> Result<()> {
    fn set<F: Net>(
        world: &World,
        table: u32,
        prefix: Option<Prefix<F::Addr>>,
        on: bool,
    ) -> Result<bool> {
        let prefix = prefix.ok_or_else(|| Error::parse("a network has no such length"))?;
        let index = world.get::<Fib<F>>().find_table(table)?;
        Ok(world.get::<Accepted<F>>().set(index, prefix.network(), on))
    }
    let (addr, len) = prefix;
    let there = match addr {
        IpAddr::V4(addr) => set::<Ip4>(world, table, Prefix::new(addr, len), on)?,
        IpAddr::V6(addr) => set::<Ip6>(world, table, Prefix::new(addr, len), on)?,
    };
    if on || there {
        return Ok(());
    }
    Err(Error::not_found(format!("{addr}/{len} isn't accepted in table {table}"))
        .retval(retval::NO_SUCH_ENTRY))
}

/// All accepted prefixes with the ids of their tables.
pub fn accepted(world: &World) -> Vec<(u32, String)> {
    let four =
        world.get::<Accepted<Ip4>>().list(world).into_iter().map(|(t, p)| (t, p.to_string()));
    let six = world.get::<Accepted<Ip6>>().list(world).into_iter().map(|(t, p)| (t, p.to_string()));
    four.chain(six).collect()
}

/// Says what was set.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, world.get::<Urpf>().list(), |world, (check, how), lines| {
        let CheckSettings { mode, table, deny_default } = how;
        let name = quote(&world.get::<Interfaces>().name(check.sw_if));
        let (ip, way) = (if check.v6 { "ip6" } else { "ip4" }, if check.rx { "rx" } else { "tx" });
        let table = table.map_or(String::new(), |id| format!(" table {id}"));
        let line = |what: &str| format!("set urpf {ip} {way} {what} {name}");
        let deny = if deny_default { " deny-default" } else { "" };
        lines.push(line(&format!("{}{deny}", mode.name())) + &table, line("off"));
    });
    say_accepted::<Ip4>(world, config);
    say_accepted::<Ip6>(world, config);
}

fn say_accepted<F: Net>(world: &World, config: &mut RunningConfig) {
    config.list(
        Phase::FEATURES,
        world.get::<Accepted<F>>().list(world),
        |_, (table, prefix), lines| {
            let line = |what| format!("set urpf-accept table {table} {what} {prefix}");
            lines.push(line("add"), line("del"));
        },
    );
}
