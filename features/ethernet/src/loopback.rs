// SPDX-License-Identifier: Apache-2.0
//! Loopback interfaces: always up while they are admin up; what is sent comes back in, or is switched if the interface is a BVI.

use crate::startup_conf::Startup;
use crate::types::Types;
use buffer::Buffer;
use cli::Error;
use graph::{Cx, Next, Node, NodeIndex, RunningConfig, Shared, SwIfIndex, World};
use net::{Device, IfFlags, IfKind, IfLanes, Interfaces, Made, NewInterface};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use wire::MacAddr;

/// The numbers in use.
pub struct Loopbacks(Mutex<Numbers>);

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

/// As VPP calls it.
const DRIVER: &str = "Loopback";

struct Loopback {
    instance: u32,
}

impl Device for Loopback {
    fn driver(&self) -> &'static str {
        DRIVER
    }
    fn delete(&self, world: &World) {
        world.get::<Loopbacks>().0.lock().expect("no panic inside").give(self.instance);
    }
}

/// VPP's habit, so that what is written down of an instance stays true: de:ad then the number.
fn own_mac(instance: u32) -> MacAddr {
    let [a, b, c, d] = instance.to_be_bytes();
    MacAddr([0xde, 0xad, a, b, c, d])
}

/// Makes `loopN`; without a number, the first that is free.
///
/// # Errors
/// A number that is taken; a group's address.
pub fn create(world: &World, mac: Option<MacAddr>, instance: Option<u32>) -> Result<SwIfIndex, Error> {
    if let Some(mac) = mac.filter(|mac| mac.is_multicast()) {
        return Err(
            Error::parse(format!("{mac} is no address of one host")).retval(msg::retval::INVALID_VALUE)
        );
    }
    let instance = {
        let loopbacks = world.get::<Loopbacks>();
        let taken = loopbacks.0.lock().expect("no panic inside").take(instance);
        taken.ok_or_else(|| {
            Error::failed(format!("there is a loop{} already", instance.unwrap_or_default()))
                .retval(msg::retval::INVALID_REGISTRATION)
        })?
    };
    let new = NewInterface {
        name: format!("loop{instance}"),
        kind: IfKind::Ethernet,
        device: Arc::new(Loopback { instance }),
        mac: mac.unwrap_or_else(|| own_mac(instance)),
        mtu: world.startup::<Startup>().default_mtu(),
        link_up: true,
    };
    let made = world.get::<Interfaces>().create(world, new, |world, thread, sw_if| LoopbackTx {
        sw_if: sw_if.0,
        lanes: IfLanes::of(world, thread),
        interfaces: world.get(),
        types: world.get(),
    });
    if made.is_err() {
        world.get::<Loopbacks>().0.lock().expect("no panic inside").give(instance);
    }
    made
}

/// Says which loopback interfaces there are.
pub fn say(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Interfaces>().indices(), |world, sw_if, lines| {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        let Made { name, mac, .. } = interface.made;
        let Some(instance) = name.strip_prefix("loop").filter(|_| interface.device.driver() == DRIVER) else {
            return;
        };
        let own = instance.parse().is_ok_and(|n| own_mac(n) == mac);
        let mac = if own { String::new() } else { format!(" mac {mac}") };
        lines.push(
            format!("create loopback interface instance {instance}{mac}"),
            format!("delete loopback interface intfc {name}"),
        );
    });
}

/// Takes a loopback interface away.
///
/// # Errors
/// An interface of another kind.
pub fn delete(world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
    let interfaces = world.get::<Interfaces>();
    let interface = interfaces.get(sw_if)?;
    if interface.device.driver() != DRIVER {
        return Err(Error::failed(format!("{} is no loopback interface", interface.name))
            .retval(msg::retval::INVALID_SW_IF_INDEX));
    }
    interfaces.delete(world, sw_if)
}

struct LoopbackTx {
    sw_if: u32,
    lanes: Arc<IfLanes>,
    interfaces: Arc<Interfaces>,
    types: Arc<Types>,
}

#[derive(Next, Clone, Copy)]
enum To {
    /// To its bridge domain.
    #[dynamic]
    Switched(NodeIndex),
    #[next("ethernet-input")]
    Back,
}

impl Node for LoopbackTx {
    const NAME: &'static str = "loopback-tx";
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        b.rx_if = self.sw_if;
        let view = self.interfaces.views(cx.turn).get(self.sw_if as usize);
        if let Some(l2) = self.types.get(cx.turn).l2
            && view.is_some_and(|view| view.flags.has(IfFlags::BVI))
        {
            b.mark_l2();
            return To::Switched(l2);
        }
        self.lanes.rx.frame(self.sw_if as usize, b);
        To::Back
    }
}
