// SPDX-License-Identifier: Apache-2.0
//! Interfaces: the control side.
//!
//! A hardware interface is a software interface of its own; a sub-interface is a software interface on top of another. Each is
//! named by its index, which is reused only after it was deleted. `local0` is number 0 and can't carry packets.

use crate::counters::IfCounters;
use crate::device::Device;
use crate::event::IfEvent;
use crate::view::{IfFlags, IfView};
use cli::Error;
use graph::{InputMode, NodeIndex, Shared, SwIfIndex, ThreadIndex, World};
use msg::retval;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Snapshot, Turn};
use wire::MacAddr;

mod rx;

pub use rx::RxChoice;

/// What an interface carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfKind {
    /// Ethernet frames.
    Ethernet,
    /// IP packets without a layer-2 header.
    Ip,
    /// Nothing: `local0`.
    Local,
}

/// Which tagged frames a sub-interface stands for. VLANs work once the VLAN feature is there; the model is here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SubInterface {
    /// The number behind the dot.
    pub id: u32,
    /// The outer tag's VLAN; `None` for any.
    pub outer: Option<u16>,
    /// The inner tag's VLAN, if there are two tags.
    pub inner: Option<u16>,
    /// The outer tag is 802.1ad.
    pub dot1ad: bool,
    /// Exactly these tags, no more.
    pub exact: bool,
}

/// Which packets an MTU is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MtuKind {
    /// What the link carries; the others are at most this.
    Link,
    /// All layer-3 packets that have no MTU of their own.
    L3,
    /// IPv4.
    Ip4,
    /// IPv6.
    Ip6,
    /// MPLS.
    Mpls,
}

/// What an interface was made with: what it goes back to when a setting is taken back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    /// Its name; its nodes are called after it for good.
    pub name: String,
    /// Its address.
    pub mac: MacAddr,
    /// What its link carried.
    pub mtu: u16,
}

/// An interface, as control knows it.
#[derive(Clone)]
pub struct Interface {
    /// Its number.
    pub sw_if: SwIfIndex,
    /// Its name.
    pub name: String,
    /// What it carries.
    pub kind: IfKind,
    /// The driver's side; of a sub-interface, its parent's.
    pub device: Arc<dyn Device>,
    /// The interface that it lies on; itself, if it is a hardware interface.
    pub parent: SwIfIndex,
    /// Which frames of the parent it stands for.
    pub sub: Option<SubInterface>,
    /// Admin state.
    pub admin_up: bool,
    /// Link state.
    pub link_up: bool,
    /// Takes frames for whatever MAC address.
    pub promiscuous: bool,
    /// Its own address.
    pub mac: MacAddr,
    /// MTUs in the order of [`MtuKind`]; 0 means "as the one before it": L3 as link, the others as L3.
    pub mtu: [u16; 5],
    /// The link's MTU, if an operator chose it.
    pub own_mtu: Option<u16>,
    /// A user's note.
    pub tag: String,
    /// Packets leave by this node.
    pub output: NodeIndex,
    /// The driver's transmit node.
    pub tx: NodeIndex,
    /// Index of the IPv4 table.
    pub fib4: u32,
    /// Index of the IPv6 table.
    pub fib6: u32,
    /// IPv4 and IPv6 are enabled.
    pub ip_enabled: [bool; 2],
    /// What it was made with.
    pub made: Made,
    /// What an operator chose for its receive queues.
    pub rx: BTreeMap<u16, RxChoice>,
}

impl Interface {
    /// The MTU in force for these packets.
    pub fn mtu_of(&self, kind: MtuKind) -> u16 {
        let [link, l3, ..] = self.mtu;
        let l3 = if l3 == 0 { link } else { l3.min(link) };
        match kind {
            MtuKind::Link => link,
            MtuKind::L3 => l3,
            _ => match self.mtu[kind as usize] {
                0 => l3,
                own => own.min(link),
            },
        }
    }

    fn view(&self) -> IfView {
        let mut flags = IfFlags::default();
        flags.put(IfFlags::ADMIN, self.admin_up);
        flags.put(IfFlags::LINK, self.link_up);
        flags.put(IfFlags::PROMISCUOUS, self.promiscuous);
        flags.put(IfFlags::IP_MODE, self.kind == IfKind::Ip);
        flags.put(IfFlags::IP4, self.ip_enabled[0]);
        flags.put(IfFlags::IP6, self.ip_enabled[1]);
        IfView {
            flags,
            fib4: self.fib4,
            fib6: self.fib6,
            mtu4: self.mtu_of(MtuKind::Ip4),
            mtu6: self.mtu_of(MtuKind::Ip6),
            output: self.output,
            mac: self.mac,
            mtu: self.mtu_of(MtuKind::L3),
        }
    }
}

/// What a driver says of a new interface.
pub struct NewInterface {
    /// Its name; must be free.
    pub name: String,
    /// What it carries.
    pub kind: IfKind,
    /// The driver's side.
    pub device: Arc<dyn Device>,
    /// Its own address.
    pub mac: MacAddr,
    /// What the link carries.
    pub mtu: u16,
    /// Link state at the start.
    pub link_up: bool,
}

type Subscriber = Arc<dyn Fn(&World, IfEvent) + Send + Sync>;
type MakeOutput = fn(&World, &str, SwIfIndex, NodeIndex) -> NodeIndex;

#[derive(Default)]
struct Inner {
    all: Vec<Option<Interface>>,
    names: HashMap<String, SwIfIndex>,
    subscribers: Vec<Subscriber>,
    make_output: Option<MakeOutput>,
    /// How new receive queues are polled, if an operator chose it.
    rx_mode: Option<InputMode>,
}

/// All interfaces of an instance.
pub struct Interfaces {
    inner: Mutex<Inner>,
    views: Snapshot<Vec<IfView>>,
    counters: Arc<IfCounters>,
}

struct Local0;
impl Device for Local0 {
    fn driver(&self) -> &'static str {
        "local"
    }
    fn set_admin(&self, _: &World, _: SwIfIndex, up: bool) -> Result<(), Error> {
        if up { Err(Error::unsupported("local0 carries no packets and stays down")) } else { Ok(()) }
    }
}

impl Shared for Interfaces {
    fn make(world: &World) -> Self {
        let local0 = Interface {
            sw_if: SwIfIndex(0),
            name: "local0".into(),
            kind: IfKind::Local,
            device: Arc::new(Local0),
            parent: SwIfIndex(0),
            sub: None,
            admin_up: false,
            link_up: false,
            promiscuous: false,
            mac: MacAddr::ZERO,
            mtu: [0; 5],
            own_mtu: None,
            tag: String::new(),
            output: NodeIndex(0),
            tx: NodeIndex(0),
            fib4: 0,
            fib6: 0,
            ip_enabled: [false; 2],
            made: Made { name: "local0".into(), mac: MacAddr::ZERO, mtu: 0 },
            rx: BTreeMap::new(),
        };
        let views = vec![local0.view()];
        let counters: Arc<IfCounters> = world.get();
        counters.extend(world, SwIfIndex(0));
        counters.list(world, SwIfIndex(0), "", "local0");
        let names = HashMap::from([("local0".to_string(), SwIfIndex(0))]);
        world.register_live("interface", |w| {
            w.get::<Interfaces>().list().into_iter().map(|i| i.name).collect()
        });
        Self {
            inner: Mutex::new(Inner { all: vec![Some(local0)], names, ..Inner::default() }),
            views: Snapshot::new(world.qsbr.clone(), views),
            counters,
        }
    }
}

fn no_interface(sw_if: SwIfIndex) -> Error {
    Error::not_found(format!("no interface has the index {sw_if}")).retval(-2)
}

impl Interfaces {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// What workers read; index it by software interface.
    #[inline(always)]
    pub fn views<'t>(&'t self, turn: &'t Turn<'_>) -> &'t [IfView] {
        self.views.get(turn)
    }

    /// Says how an interface's output node is made. The feature that owns these nodes calls it once, at the start.
    pub fn set_make_output(&self, make: fn(&World, &str, SwIfIndex, NodeIndex) -> NodeIndex) {
        self.inner().make_output = Some(make);
    }

    /// Calls `f` after every change, on the control thread.
    pub fn subscribe(&self, f: impl Fn(&World, IfEvent) + Send + Sync + 'static) {
        self.inner().subscribers.push(Arc::new(f));
    }

    fn publish(&self, inner: &Inner) {
        let view = |i: &Option<Interface>| i.as_ref().map(Interface::view).unwrap_or_default();
        self.views.set(inner.all.iter().map(view).collect());
    }

    /// Tells subscribers.
    pub(crate) fn tell(&self, world: &World, event: IfEvent) {
        let mut all = self.inner().subscribers.clone();
        if matches!(event, IfEvent::Deleting(_)) {
            all.reverse();
        }
        for subscriber in all {
            subscriber(world, event);
        }
    }

    /// Adds a hardware interface: `tx` makes its transmit node (`NAME-tx`) for each thread. It starts admin down.
    ///
    /// # Errors
    /// A name that is taken.
    pub fn create<N: graph::Node>(
        &self,
        world: &World,
        new: NewInterface,
        tx: impl Fn(&World, ThreadIndex, SwIfIndex) -> N + Send + Sync + 'static,
    ) -> Result<SwIfIndex, Error> {
        let sw_if = {
            let mut inner = self.inner();
            if inner.names.contains_key(&new.name) {
                return Err(Error::failed(format!("there is an interface {} already", new.name))
                    .retval(retval::IF_ALREADY_EXISTS));
            }
            // Its nodes keep the name that it was made with.
            if let Some(other) = inner.all.iter().flatten().find(|i| i.made.name == new.name) {
                let error = format!("{} was made as {}, and its nodes are called so", other.name, new.name);
                return Err(Error::failed(error).retval(-56));
            }
            let free = inner.all.iter().position(Option::is_none).unwrap_or(inner.all.len());
            let sw_if = SwIfIndex(free as u32);
            inner.names.insert(new.name.clone(), sw_if);
            sw_if
        };
        self.counters.extend(world, sw_if);
        let tx = world.add_node(&format!("{}-tx", new.name), move |world, thread| tx(world, thread, sw_if));
        let make_output = self.inner().make_output;
        let output = make_output.map_or(tx, |make| make(world, &format!("{}-output", new.name), sw_if, tx));
        let made = Made { name: new.name.clone(), mac: new.mac, mtu: new.mtu };
        let interface = Interface {
            sw_if,
            name: new.name.clone(),
            kind: new.kind,
            device: new.device,
            parent: sw_if,
            sub: None,
            admin_up: false,
            link_up: new.link_up,
            promiscuous: false,
            mac: new.mac,
            mtu: [new.mtu, 0, 0, 0, 0],
            own_mtu: None,
            tag: String::new(),
            output,
            tx,
            fib4: 0,
            fib6: 0,
            ip_enabled: [false; 2],
            made,
            rx: BTreeMap::new(),
        };
        {
            let mut inner = self.inner();
            if inner.all.len() <= sw_if.at() {
                inner.all.resize(sw_if.at() + 1, None);
            }
            inner.all[sw_if.at()] = Some(interface);
            self.publish(&inner);
        }
        self.counters.list(world, sw_if, "", &new.name);
        self.tell(world, IfEvent::Added(sw_if));
        Ok(sw_if)
    }

    /// Takes an interface away: down first, then subscribers and driver let go of it.
    ///
    /// # Errors
    /// One that isn't there; one that others lie on; `local0`.
    pub fn delete(&self, world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        if sw_if.0 == 0 {
            return Err(Error::unsupported("local0 can't be deleted"));
        }
        if let Some(other) = self.list().iter().find(|i| i.parent == sw_if && i.sw_if != sw_if) {
            return Err(Error::failed(format!(
                "{} lies on {}: delete that first",
                other.name, interface.name
            )));
        }
        self.set_admin(world, sw_if, false)?;
        self.tell(world, IfEvent::Deleting(sw_if));
        interface.device.delete(world);
        {
            let mut inner = self.inner();
            inner.names.remove(&interface.name);
            inner.all[sw_if.at()] = None;
            self.publish(&inner);
        }
        self.counters.end(world, sw_if, &interface.name);
        Ok(())
    }

    /// Whether an interface is there.
    ///
    /// # Errors
    /// That it isn't (−2).
    pub fn check(&self, sw_if: SwIfIndex) -> Result<(), Error> {
        match self.inner().all.get(sw_if.at()) {
            Some(Some(_)) => Ok(()),
            _ => Err(no_interface(sw_if)),
        }
    }

    /// A copy of what is known of an interface.
    ///
    /// # Errors
    /// One that isn't there (−2).
    pub fn get(&self, sw_if: SwIfIndex) -> Result<Interface, Error> {
        let found = self.inner().all.get(sw_if.at()).cloned().flatten();
        found.ok_or_else(|| no_interface(sw_if))
    }

    /// The interface of this name.
    ///
    /// # Errors
    /// One that isn't there (−2), with the nearest name.
    pub fn find(&self, name: &str) -> Result<SwIfIndex, Error> {
        let inner = self.inner();
        inner.names.get(name).copied().ok_or_else(|| {
            Error::not_found(format!("no interface is named `{name}'"))
                .near(name, inner.names.keys())
                .retval(retval::INVALID_SW_IF_INDEX)
        })
    }

    /// The name of an interface, or its number if it is gone.
    pub fn name(&self, sw_if: SwIfIndex) -> String {
        self.get(sw_if).map_or_else(|_| format!("sw_if_index {sw_if}"), |i| i.name)
    }

    /// All interfaces, by index.
    pub fn list(&self) -> Vec<Interface> {
        self.inner().all.iter().flatten().cloned().collect()
    }

    /// Indices that were ever used, for the length of counter vectors.
    pub fn max(&self) -> usize {
        self.inner().all.len()
    }

    fn change(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        event: IfEvent,
        f: impl FnOnce(&mut Interface),
    ) -> Result<(), Error> {
        {
            let mut inner = self.inner();
            let slot = inner.all.get_mut(sw_if.at()).and_then(Option::as_mut);
            let interface = slot.ok_or_else(|| no_interface(sw_if))?;
            f(interface);
            self.publish(&inner);
        }
        self.tell(world, event);
        Ok(())
    }

    /// Takes an interface up or down.
    ///
    /// # Errors
    /// One that isn't there; what the device says.
    pub fn set_admin(&self, world: &World, sw_if: SwIfIndex, up: bool) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        if interface.admin_up == up {
            return Ok(());
        }
        if interface.parent == sw_if {
            interface.device.set_admin(world, sw_if, up)?;
        }
        self.change(world, sw_if, IfEvent::Admin(sw_if, up), |i| i.admin_up = up)
    }

    /// Notes that the link went up or down. Drivers call it.
    ///
    /// # Errors
    /// One that isn't there.
    pub fn set_link(&self, world: &World, sw_if: SwIfIndex, up: bool) -> Result<(), Error> {
        if self.get(sw_if)?.link_up == up {
            return Ok(());
        }
        self.change(world, sw_if, IfEvent::Link(sw_if, up), |i| i.link_up = up)
    }

    /// Changes the MAC address.
    ///
    /// # Errors
    /// One that isn't there; a group address; what the device says.
    pub fn set_mac(&self, world: &World, sw_if: SwIfIndex, mac: MacAddr) -> Result<(), Error> {
        if mac.is_multicast() || mac == MacAddr::ZERO {
            return Err(
                Error::parse(format!("{mac} is no address of one host")).retval(retval::INVALID_VALUE)
            );
        }
        self.get(sw_if)?.device.set_mac(world, mac)?;
        self.change(world, sw_if, IfEvent::Mac(sw_if), |i| i.mac = mac)
    }

    /// Changes an MTU; 0 takes it back: a protocol has none of its own then, the link what it was made with.
    ///
    /// # Errors
    /// One that isn't there; below 68 (RFC 791 3.2) or 1280 for IPv6 (RFC 8200 5); what the device says.
    pub fn set_mtu(&self, world: &World, sw_if: SwIfIndex, kind: MtuKind, mtu: u16) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        let least = match kind {
            MtuKind::Ip6 => 1280,
            _ => 68,
        };
        if mtu < least && mtu != 0 {
            return Err(Error::parse(format!("an MTU of {mtu} is too small: at least {least}"))
                .retval(retval::INVALID_VALUE));
        }
        if kind != MtuKind::Link {
            return self.change(world, sw_if, IfEvent::Mtu(sw_if), |i| i.mtu[kind as usize] = mtu);
        }
        let link = if mtu == 0 { interface.made.mtu } else { mtu };
        interface.device.set_mtu(world, link)?;
        self.change(world, sw_if, IfEvent::Mtu(sw_if), |i| {
            i.mtu[0] = link;
            i.own_mtu = (mtu != 0).then_some(mtu);
        })
    }

    /// Notes what the link carries now. Drivers call it when the device changed by itself.
    ///
    /// # Errors
    /// One that isn't there.
    pub fn note_mtu(&self, world: &World, sw_if: SwIfIndex, mtu: u16) -> Result<(), Error> {
        self.change(world, sw_if, IfEvent::Mtu(sw_if), |i| i.mtu[0] = mtu)
    }

    /// Gives an interface another name.
    ///
    /// # Errors
    /// One that isn't there; a name that is taken or can't be typed.
    pub fn set_name(&self, world: &World, sw_if: SwIfIndex, name: &str) -> Result<(), Error> {
        if name.is_empty() || name.len() > 63 || name.contains(char::is_whitespace) {
            return Err(
                Error::parse("a name has 1 to 63 characters and no space").retval(retval::INVALID_VALUE)
            );
        }
        {
            let mut inner = self.inner();
            if inner.names.contains_key(name) {
                return Err(Error::failed(format!("there is an interface {name} already"))
                    .retval(retval::IF_ALREADY_EXISTS));
            }
            inner.names.retain(|_, index| *index != sw_if);
            inner.names.insert(name.to_string(), sw_if);
        }
        self.counters.list(world, sw_if, &self.get(sw_if)?.name, name);
        self.change(world, sw_if, IfEvent::Name(sw_if), |i| i.name = name.to_string())
    }

    /// Sets a user's note.
    ///
    /// # Errors
    /// One that isn't there.
    pub fn set_tag(&self, sw_if: SwIfIndex, tag: &str) -> Result<(), Error> {
        self.get(sw_if)?;
        if let Some(Some(interface)) = self.inner().all.get_mut(sw_if.at()) {
            interface.tag = tag.to_string();
        }
        Ok(())
    }

    /// Takes frames for whatever MAC address, or no longer.
    ///
    /// # Errors
    /// One that isn't there, or has no MAC address (−7); what the device says.
    pub fn set_promiscuous(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        if interface.kind != IfKind::Ethernet {
            return Err(Error::unsupported(format!("{} carries no Ethernet frames", interface.name))
                .retval(retval::INVALID_VALUE));
        }
        interface.device.set_promiscuous(world, on)?;
        self.change(world, sw_if, IfEvent::Mac(sw_if), |i| i.promiscuous = on)
    }

    /// Notes whether a protocol is enabled: `ip6` false for IPv4. The addresses' owner calls it.
    ///
    /// # Errors
    /// One that isn't there.
    pub fn set_ip_enabled(&self, world: &World, sw_if: SwIfIndex, ip6: bool, on: bool) -> Result<(), Error> {
        let at = usize::from(ip6);
        if self.get(sw_if)?.ip_enabled[at] == on {
            return Ok(());
        }
        self.change(world, sw_if, IfEvent::Ip(sw_if, ip6, on), |i| i.ip_enabled[at] = on)
    }

    /// Moves an interface to a table, by the table's index. The IP features call it.
    ///
    /// # Errors
    /// One that isn't there.
    pub fn set_fib(&self, world: &World, sw_if: SwIfIndex, ip6: bool, fib: u32) -> Result<(), Error> {
        self.change(
            world,
            sw_if,
            IfEvent::Table(sw_if, ip6),
            |i| if ip6 { i.fib6 = fib } else { i.fib4 = fib },
        )
    }
}
