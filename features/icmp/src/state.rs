// SPDX-License-Identifier: Apache-2.0
//! What an operator sets, and which nodes take what.

use crate::limit::Limit;
use crate::version::Icmp;
use graph::{NodeIndex, Shared, World, filled};
use std::marker::PhantomData;
use sync::{Snapshot, Turn};
use wire::IpProtocol;

/// What an operator sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Errors of each kind (unreachable, time exceeded, parameter problem, redirect) that a thread sends in a second.
    pub rate: u32,
    /// Of these, so many at once after a pause.
    pub burst: u32,
    /// Echo requests are answered.
    pub echo: bool,
    /// Also those that go to several hosts (RFC 1122 3.2.2.6); without it, in IPv4 only those of hosts of the link to a group.
    pub echo_broadcast: bool,
}

impl Settings {
    /// What is set if nobody says otherwise.
    pub fn usual<F: Icmp>() -> Self {
        Self { rate: 1000, burst: 100, echo: true, echo_broadcast: F::ECHO_GROUPS }
    }
}

/// What workers read.
pub struct Applied {
    pub settings: Settings,
    pub limit: Limit,
}

impl From<Settings> for Applied {
    fn from(settings: Settings) -> Self {
        let limit = Limit::new(settings.rate, settings.burst);
        Self { settings, limit }
    }
}

/// Who takes what a number stands for.
type Takers = [Option<NodeIndex>; 256];

/// The state of an instance, for one IP version.
pub struct State<F> {
    applied: Snapshot<Applied>,
    types: Snapshot<Takers>,
    quoted: Snapshot<Takers>,
    version: PhantomData<F>,
}

impl<F: Icmp> Shared for State<F> {
    fn make(world: &World) -> Self {
        let takers = || Snapshot::new(world.qsbr.clone(), [None; 256]);
        Self {
            applied: Snapshot::new(world.qsbr.clone(), Settings::usual::<F>().into()),
            types: takers(),
            quoted: takers(),
            version: PhantomData,
        }
    }
}

impl<F: Icmp> State<F> {
    /// What workers go by.
    #[inline(always)]
    pub(crate) fn applied<'t>(&'t self, turn: &'t Turn<'_>) -> &'t Applied {
        self.applied.get(turn)
    }

    /// How often a thread may say that something can't be delivered.
    #[inline(always)]
    pub fn limit(&self, turn: &Turn<'_>) -> Limit {
        self.applied(turn).limit
    }

    /// Who takes messages of a type.
    #[inline(always)]
    pub(crate) fn taker(&self, kind: u8, turn: &Turn<'_>) -> Option<NodeIndex> {
        self.types.get(turn)[usize::from(kind)]
    }

    /// Who takes errors about our packets of a protocol.
    #[inline(always)]
    pub(crate) fn quoted(&self, protocol: IpProtocol, turn: &Turn<'_>) -> Option<NodeIndex> {
        self.quoted.get(turn)[usize::from(protocol.0)]
    }

    /// What is set.
    pub fn settings(&self) -> Settings {
        self.applied.read(|a| a.settings.clone())
    }

    /// Changes what is set.
    pub fn change(&self, f: impl FnOnce(&mut Settings)) {
        let mut settings = self.settings();
        f(&mut settings);
        self.applied.set(settings.into());
    }
}

/// Sends received ICMP messages of a type to a node. Length and checksum are right, and all headers lie in the first segment,
/// which starts at the IP header; [`wire::UpperLayer::of`] tells where the message begins. Who wants a certain hop limit
/// looks himself.
///
/// # Errors
/// A node that doesn't exist; a type that another node takes.
pub fn register_icmp_type<F: Icmp>(world: &World, kind: u8, node: &str) -> Result<(), String> {
    let what = format!("{} type {kind}", F::ICMP);
    register::<F>(world, &world.get::<State<F>>().types, "{ip}-icmp-input", &what, kind, node)
}

/// Sends received ICMP errors about packets that we sent to a node, by the protocol of the packet that they quote. The quoted
/// headers and 8 bytes behind them lie in the first segment, which starts at the outer IP header.
///
/// # Errors
/// A node that doesn't exist; a protocol that another node takes.
pub fn register_icmp_error<F: Icmp>(world: &World, protocol: IpProtocol, node: &str) -> Result<(), String> {
    let what = format!("{} errors about {protocol}", F::ICMP);
    register::<F>(world, &world.get::<State<F>>().quoted, "{ip}-icmp-quoted", &what, protocol.0, node)
}

fn register<F: Icmp>(
    world: &World,
    takers: &Snapshot<Takers>,
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
