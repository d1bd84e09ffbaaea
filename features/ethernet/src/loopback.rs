// SPDX-License-Identifier: Apache-2.0
//! Loopback interfaces: always up while admin up; a sent frame comes back in, or is switched if the
//! interface is a BVI.

use crate::startup_conf::Startup;
use crate::types::Types;
use buffer::Buffer;
use cli::Error;
use graph::{Cx, Next, Node, NodeIndex, RunningConfig, Shared, SwIfIndex, World};
use net::{Device, FrameInput, IfFlags, IfKind, Interfaces, NewInterface, OriginalSettings};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use wire::MacAddr;

/// The two kinds of loopback interfaces. Each has numbers of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopbackKind {
    /// `loopN`.
    Loopback,
    /// `bviN`, made to be the routed interface of a bridge domain.
    Bvi,
}

impl LoopbackKind {
    const ALL: [Self; 2] = [Self::Loopback, Self::Bvi];

    /// As VPP calls it.
    const fn driver(self) -> &'static str {
        match self {
            Self::Loopback => "Loopback",
            Self::Bvi => "BVI",
        }
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Loopback => "loop",
            Self::Bvi => "bvi",
        }
    }

    /// VPP's habit, so that what is written down of an instance stays true: de:ad or b0:b0, then
    /// the number.
    fn own_mac(self, instance: u32) -> MacAddr {
        let [a, b, c, d] = instance.to_be_bytes();
        match self {
            Self::Loopback => MacAddr([0xde, 0xad, a, b, c, d]),
            Self::Bvi => MacAddr([0xb0, 0xb0, a, b, c, d]),
        }
    }

    /// The kind of an interface with this driver.
    fn of(driver: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.driver() == driver)
    }
}

/// Numbers of BVIs that clients choose are below this, as in VPP.
const MAX_BVI: u32 = 16_384;

/// The numbers in use, by kind.
pub struct Loopbacks(Mutex<[Numbers; 2]>);

impl Loopbacks {
    fn with<R>(&self, kind: LoopbackKind, f: impl FnOnce(&mut Numbers) -> R) -> R {
        f(&mut self.0.lock().expect("no panic inside")[kind as usize])
    }
}

#[derive(Default)]
struct Numbers {
    used: BTreeSet<u32>,
    /// All below are in use.
    first: u32,
}

impl Numbers {
    /// Takes a number, or the first that is free; `None` if it is taken.
    fn take(&mut self, number: Option<u32>) -> Option<u32> {
        while self.used.contains(&self.first) {
            self.first += 1;
        }
        let number = number.unwrap_or(self.first);
        self.used.insert(number).then_some(number)
    }

    fn give(&mut self, number: u32) {
        self.used.remove(&number);
        self.first = self.first.min(number);
    }
}

impl Shared for Loopbacks {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }
}

struct Loopback {
    kind: LoopbackKind,
    instance: u32,
}

impl Device for Loopback {
    fn driver(&self) -> &'static str {
        self.kind.driver()
    }
    fn delete(&self, world: &World) {
        world.get::<Loopbacks>().with(self.kind, |numbers| numbers.give(self.instance));
    }
}

/// Returns true if the interface is a loopback interface of either kind: frames that it sends come
/// back in.
pub fn is_loopback(world: &World, sw_if: SwIfIndex) -> bool {
    world.get::<Interfaces>().driver(sw_if).is_some_and(|driver| LoopbackKind::of(driver).is_some())
}

/// Makes `loopN`; without a number, the first that is free.
///
/// # Errors
/// A number that is taken; a group's address.
pub fn create(
    world: &World,
    mac: Option<MacAddr>,
    instance: Option<u32>,
) -> Result<SwIfIndex, Error> {
    create_kind(world, LoopbackKind::Loopback, mac, instance)
}

/// Makes `bviN`; without a number, the first that is free.
///
/// # Errors
/// A number that is taken or above 16,383 (−31); a group's address (−7).
pub fn create_bvi(
    world: &World,
    mac: Option<MacAddr>,
    instance: Option<u32>,
) -> Result<SwIfIndex, Error> {
    if let Some(instance) = instance.filter(|instance| *instance >= MAX_BVI) {
        return Err(Error::parse(format!(
            "the number of a BVI is below {MAX_BVI}, not {instance}"
        ))
        .retval(msg::retval::INVALID_REGISTRATION));
    }
    create_kind(world, LoopbackKind::Bvi, mac, instance)
}

fn create_kind(
    world: &World,
    kind: LoopbackKind,
    mac: Option<MacAddr>,
    instance: Option<u32>,
) -> Result<SwIfIndex, Error> {
    if let Some(mac) = mac.filter(|mac| mac.is_multicast()) {
        return Err(Error::parse(wire::not_one_station(mac)).retval(msg::retval::INVALID_VALUE));
    }
    let instance = {
        let loopbacks = world.get::<Loopbacks>();
        let taken = loopbacks.with(kind, |numbers| numbers.take(instance));
        taken.ok_or_else(|| {
            let name = format!("{}{}", kind.prefix(), instance.unwrap_or_default());
            Error::failed(format!("there is a {name} already"))
                .retval(msg::retval::INVALID_REGISTRATION)
        })?
    };
    let new = NewInterface {
        name: format!("{}{instance}", kind.prefix()),
        kind: IfKind::Ethernet,
        device: Arc::new(Loopback { kind, instance }),
        mac: mac.unwrap_or_else(|| kind.own_mac(instance)),
        mtu: world.startup::<Startup>().default_mtu(),
        link_up: true,
    };
    let made = world.get::<Interfaces>().create(world, new, |world, thread, sw_if| LoopbackTx {
        sw_if: sw_if.0,
        input: FrameInput::new(world, thread),
        interfaces: world.get(),
        types: world.get(),
    });
    match made {
        Ok(sw_if) => {
            let tx = world.get::<Interfaces>().get(sw_if)?.tx;
            world.link(&world.node_name(tx), "ethernet-input").map_err(Error::failed)?;
            Ok(sw_if)
        }
        Err(error) => {
            world.get::<Loopbacks>().with(kind, |numbers| numbers.give(instance));
            Err(error)
        }
    }
}

/// Says which loopback interfaces there are.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Interfaces>().indices(), |world, sw_if, lines| {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        let OriginalSettings { name, mac, .. } = interface.original;
        let Some(kind) = LoopbackKind::of(interface.device.driver()) else { return };
        let Some(instance) = name.strip_prefix(kind.prefix()) else { return };
        let own = instance.parse().is_ok_and(|n| kind.own_mac(n) == mac);
        let mac = if own { String::new() } else { format!(" mac {mac}") };
        let (create, delete) = match kind {
            LoopbackKind::Loopback => {
                ("create loopback interface", "delete loopback interface intfc")
            }
            LoopbackKind::Bvi => ("bvi create", "bvi delete"),
        };
        lines.push(format!("{create} instance {instance}{mac}"), format!("{delete} {name}"));
    });
}

/// Takes a loopback interface away.
///
/// # Errors
/// An interface of another kind.
pub fn delete(world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
    delete_kind(world, LoopbackKind::Loopback, sw_if)
}

/// Takes a BVI away.
///
/// # Errors
/// An interface that isn't there or of another kind (−2).
pub fn delete_bvi(world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
    delete_kind(world, LoopbackKind::Bvi, sw_if)
}

fn delete_kind(world: &World, kind: LoopbackKind, sw_if: SwIfIndex) -> Result<(), Error> {
    let interfaces = world.get::<Interfaces>();
    let interface = interfaces.get(sw_if)?;
    if interface.device.driver() != kind.driver() {
        let what = match kind {
            LoopbackKind::Loopback => "loopback interface",
            LoopbackKind::Bvi => "BVI that `bvi create' made",
        };
        return Err(Error::failed(format!("{} is no {what}", interface.name))
            .retval(msg::retval::INVALID_SW_IF_INDEX));
    }
    interfaces.delete(world, sw_if)
}

struct LoopbackTx {
    sw_if: u32,
    input: FrameInput,
    interfaces: Arc<Interfaces>,
    types: Arc<Types>,
}

#[derive(Next, Clone, Copy)]
enum To {
    /// To its bridge domain; otherwise to the first feature of received frames, or
    /// `ethernet-input`.
    #[dynamic]
    Node(NodeIndex),
    /// packet has come back too often
    #[drop]
    Looped,
}

impl Node for LoopbackTx {
    const NAME: &'static str = "loopback-tx";
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if !b.flags.count_return() {
            return To::Looped;
        }
        b.rx_if = self.sw_if;
        let view = self.interfaces.views(cx.turn).get(self.sw_if as usize);
        if let Some(l2) = self.types.get(cx.turn).l2
            && view.is_some_and(|view| view.flags.contains(IfFlags::BVI))
        {
            b.mark_l2();
            return To::Node(l2);
        }
        To::Node(self.input.receive(b, cx))
    }
}
