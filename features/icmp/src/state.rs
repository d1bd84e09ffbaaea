// SPDX-License-Identifier: Apache-2.0
//! ICMP settings, and the nodes registered for ICMP types and for protocols of quoted packets.

use crate::version::Icmp;
use graph::{NodeIndex, Shared, World, filled};
use ip::ErrorLimit;
use std::sync::Arc;
use sync::{Snapshot, Turn};
use wire::IpProtocol;

/// The settings of ICMP or ICMPv6.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Number of errors of each kind (unreachable, time exceeded, parameter problem, redirect)
    /// that a thread sends per second.
    pub rate: u32,
    /// Number of errors of one kind that a thread sends at once after a pause.
    pub burst: u32,
    /// True if echo requests are answered.
    pub echo: bool,
    /// True if requests to several hosts are answered too (RFC 1122 3.2.2.6); if false, only IPv4
    /// ones to a group, from the link, are.
    pub echo_broadcast: bool,
}

impl Settings {
    /// Returns the default settings.
    pub fn usual<F: Icmp>() -> Self {
        Self {
            rate: ErrorLimit::<F>::RATE,
            burst: ErrorLimit::<F>::BURST,
            echo: true,
            echo_broadcast: F::ECHO_GROUPS,
        }
    }
}

/// Node registered for each number: ICMP type, or IP protocol.
type TypeNodes = [Option<NodeIndex>; 256];

/// The state of an instance, for one IP version.
pub struct State<F> {
    settings: Snapshot<Settings>,
    limit: Arc<ErrorLimit<F>>,
    types: Snapshot<TypeNodes>,
    quoted: Snapshot<TypeNodes>,
}

impl<F: Icmp> Shared for State<F> {
    fn make(world: &World) -> Self {
        let takers = || Snapshot::new(world.qsbr.clone(), [None; 256]);
        Self {
            settings: Snapshot::new(world.qsbr.clone(), Settings::usual::<F>()),
            limit: world.get(),
            types: takers(),
            quoted: takers(),
        }
    }
}

impl<F: Icmp> State<F> {
    /// Returns the settings that apply.
    #[inline(always)]
    pub(crate) fn applied<'t>(&'t self, turn: &'t Turn<'_>) -> &'t Settings {
        self.settings.get(turn)
    }

    /// Returns the node registered for messages of this type.
    #[inline(always)]
    pub(crate) fn taker(&self, kind: u8, turn: &Turn<'_>) -> Option<NodeIndex> {
        self.types.get(turn)[usize::from(kind)]
    }

    /// Returns the node registered for errors about our packets of this protocol.
    #[inline(always)]
    pub(crate) fn quoted(&self, protocol: IpProtocol, turn: &Turn<'_>) -> Option<NodeIndex> {
        self.quoted.get(turn)[usize::from(protocol.0)]
    }

    /// Returns the settings.
    pub fn settings(&self) -> Settings {
        self.settings.read(Settings::clone)
    }

    /// Changes the settings.
    pub fn change(&self, f: impl FnOnce(&mut Settings)) {
        let mut settings = self.settings();
        f(&mut settings);
        self.limit.set(settings.rate, settings.burst);
        self.settings.set(settings);
    }
}

/// Registers a node for received ICMP messages of a type. Length and checksum are verified, and all
/// headers are in the first segment, which starts at the IP header; [`wire::UpperLayer::of`]
/// returns the offset of the message. A node that requires a certain hop limit checks it itself.
///
/// # Errors
/// A node that doesn't exist; a type that another node takes.
pub fn register_icmp_type<F: Icmp>(world: &World, kind: u8, node: &str) -> Result<(), String> {
    let what = format!("{} type {kind}", F::ICMP);
    register::<F>(world, &world.get::<State<F>>().types, "{ip}-icmp-input", &what, kind, node)
}

/// Registers a node for received ICMP errors about packets that we sent, by the protocol of the
/// quoted packet. The quoted headers and 8 bytes behind them are in the first segment, which starts
/// at the outer IP header.
///
/// # Errors
/// A node that doesn't exist; a protocol that another node takes.
pub fn register_icmp_error<F: Icmp>(
    world: &World,
    protocol: IpProtocol,
    node: &str,
) -> Result<(), String> {
    let what = format!("{} errors about {protocol}", F::ICMP);
    register::<F>(
        world,
        &world.get::<State<F>>().quoted,
        "{ip}-icmp-quoted",
        &what,
        protocol.0,
        node,
    )
}

fn register<F: Icmp>(
    world: &World,
    takers: &Snapshot<TypeNodes>,
    from: &str,
    what: &str,
    number: u8,
    node: &str,
) -> Result<(), String> {
    let taker = world.link(&filled(from, F::IS_V6), &filled(node, F::IS_V6))?;
    let at = usize::from(number);
    if let Some(other) = takers.read(|t| t[at]) {
        return Err(format!("{what}: taken by {}", world.node_name(other)));
    }
    takers.update(|old| {
        let mut new = *old;
        new[at] = Some(taker);
        new
    });
    Ok(())
}
