// SPDX-License-Identifier: Apache-2.0
//! `lcp lcp-sync`: admin state, MTU and addresses of interfaces go to the kernel's. A process of
//! the control thread does it, a few pairs at a time; changes that come meanwhile are one.

use crate::control;
use crate::kernel::Kernel;
use crate::pairs::{HostKind, Made, Pair, Pairs, Request};
use crate::settings::Settings;
use cli::{Result, retval};
use graph::{Deleted, Process, Shared, Signal, Sleep, SwIfIndex, Wake, World};
use net::{Addresses, IfEvent, Interface, Interfaces, MtuKind, SubFrames};
use netlink::Rtnl;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use wire::{Ip4, Ip6};

/// Pairs, or new sub-interfaces, that are processed in one turn of the control thread.
const AT_ONCE: usize = 8;

type Prefix = (IpAddr, u8);

/// Changes that are pending.
#[derive(Default)]
struct Inner {
    /// Interfaces whose state may differ from the kernel's.
    changed: BTreeSet<SwIfIndex>,
    /// New sub-interfaces, which may get a pair.
    fresh: BTreeSet<SwIfIndex>,
    /// Addresses that the kernel's interface of a pair was given, or had already.
    pushed: BTreeMap<SwIfIndex, BTreeSet<Prefix>>,
    /// Interfaces that had a pair at the last look.
    known: BTreeSet<SwIfIndex>,
}

/// Changes that the kernel doesn't have yet.
pub struct Sync {
    inner: Mutex<Inner>,
    signal: Signal,
}

impl Shared for Sync {
    fn make(world: &World) -> Self {
        Self { inner: Mutex::default(), signal: world.processes.signal() }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        if let Some((_, pair)) = world.get::<Pairs>().of(sw_if) {
            control::remove(world, &pair, Some(sw_if));
        }
        let mut inner = self.inner();
        inner.fresh.remove(&sw_if);
        inner.changed.remove(&sw_if);
        inner.pushed.remove(&sw_if);
    }
}

impl Sync {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Starts the process.
    pub fn start(world: &World) {
        let this: Arc<Self> = world.get();
        world.processes.spawn(Box::new(Pushes(this.clone())), &this.signal);
        world.get::<Pairs>().subscribe(&this.signal);
        world.get::<Interfaces>().subscribe(move |world, event| this.note(world, event));
    }

    /// Takes a change of an interface over.
    fn note(&self, world: &World, event: IfEvent) {
        let (sw_if, has_children) = match event {
            IfEvent::Added(sw_if) => return self.note_new(world, sw_if),
            IfEvent::Admin(sw_if, _) | IfEvent::Mtu(sw_if) => (sw_if, true),
            IfEvent::Address(sw_if, _) | IfEvent::Ip(sw_if, ..) => (sw_if, false),
            // The kernel's frames have its own address as their source.
            IfEvent::Mac(sw_if) => return control::follow_mac(world, sw_if),
            _ => return,
        };
        if !world.get::<Settings>().get().sync || world.get::<Pairs>().of_phy(sw_if).is_none() {
            return;
        }
        let mut changed = vec![sw_if];
        match has_children {
            true => changed.extend(world.get::<Interfaces>().subs(sw_if)),
            false => {
                changed.extend(world.get::<Addresses<Ip4>>().borrowers(sw_if));
                changed.extend(world.get::<Addresses<Ip6>>().borrowers(sw_if));
            }
        }
        self.inner().changed.extend(changed);
        self.signal.raise();
    }

    fn note_new(&self, world: &World, sw_if: SwIfIndex) {
        let is_sub = world.get::<Interfaces>().get(sw_if).is_ok_and(|i| i.sub.is_some());
        if is_sub && world.get::<Settings>().get().auto_subint {
            self.inner().fresh.insert(sw_if);
            self.signal.raise();
        }
    }

    /// Pushes the state of all pairs.
    pub fn push_all(&self, world: &World) {
        let all = world.get::<Pairs>().list();
        self.inner().changed.extend(all.into_iter().map(|(_, pair)| pair.phy));
        self.signal.raise();
    }

    /// Pushes the state of new pairs, and forgets those that are gone.
    fn follow_pairs(&self, world: &World) {
        let all = world.get::<Pairs>().list().into_iter().map(|(_, pair)| pair.phy);
        let all: BTreeSet<SwIfIndex> = all.collect();
        let mut inner = self.inner();
        let Inner { changed, pushed, known, .. } = &mut *inner;
        changed.extend(all.difference(known));
        changed.retain(|phy| all.contains(phy));
        pushed.retain(|phy, _| all.contains(phy));
        *known = all;
    }

    fn run(&self, world: &World) -> Sleep {
        self.follow_pairs(world);
        for _ in 0..AT_ONCE {
            let next = {
                let mut inner = self.inner();
                let fresh = inner.fresh.pop_first();
                fresh.map(|sub| (sub, true)).or_else(|| Some((inner.changed.pop_first()?, false)))
            };
            match next {
                None => return Sleep::Event,
                Some((sub, true)) => mirror_sub(world, sub),
                Some((phy, false)) => self.push(world, phy),
            }
        }
        Sleep::Until(world.clock.now())
    }

    /// Gives the kernel's interface of a pair the present state.
    fn push(&self, world: &World, phy: SwIfIndex) {
        let Some((_, pair)) = world.get::<Pairs>().of_phy(phy) else { return };
        if !world.get::<Settings>().get().sync || pair.made == Made::Given {
            return;
        }
        let Some(wanted) = Wanted::of(world, phy) else { return };
        let known = self.inner().pushed.remove(&phy).unwrap_or_default();
        let doing = format!("state of the kernel's interface {}", pair.name);
        let namespace = pair.namespace.as_deref();
        let done =
            world.get::<Kernel>().with(namespace, &doing, |rtnl| wanted.apply(rtnl, &pair, &known));
        if let Err(error) = done {
            log::warn!(target: "linux-cp", "{error}");
        }
        self.inner().pushed.insert(phy, wanted.addresses);
    }
}

/// State that the kernel's interface is to have.
struct Wanted {
    up: bool,
    mtu: u16,
    addresses: BTreeSet<Prefix>,
}

impl Wanted {
    fn of(world: &World, phy: SwIfIndex) -> Option<Self> {
        let interfaces = world.get::<Interfaces>();
        let interface = interfaces.get(phy).ok()?;
        let parent = interfaces.get(interface.parent).ok()?;
        let mtu = |i: &Interface| i.mtu_of(MtuKind::L3);
        Some(Self {
            // The kernel has no VLAN link that is up above one that is down.
            up: interface.admin_up && parent.admin_up,
            mtu: match mtu(&interface) {
                0 => mtu(&parent),
                own => own.min(mtu(&parent)),
            },
            addresses: addresses(world, phy),
        })
    }

    /// Changes what differs. Of the kernel's addresses only those that were ours are deleted.
    fn apply(&self, rtnl: &mut Rtnl, pair: &Pair, known: &BTreeSet<Prefix>) -> io::Result<()> {
        let vif = pair.vif;
        let link = rtnl.link_by_index(vif)?;
        if self.mtu != 0 && link.mtu != u32::from(self.mtu) {
            rtnl.set_mtu(vif, self.mtu.into())?;
        }
        if link.is_admin_up() != self.up {
            rtnl.set_admin_up(vif, self.up)?;
        }
        for (address, len) in known.difference(&self.addresses) {
            rtnl.ensure_address(vif, *address, *len, false)?;
        }
        for (address, len) in &self.addresses {
            rtnl.ensure_address(vif, *address, *len, true)?;
        }
        Ok(())
    }
}

/// The addresses of an interface: its own, and those that it borrows if that is on.
fn addresses(world: &World, phy: SwIfIndex) -> BTreeSet<Prefix> {
    let borrowed = world.get::<Settings>().get().sync_unnumbered;
    let (ip4, ip6) = (world.get::<Addresses<Ip4>>(), world.get::<Addresses<Ip6>>());
    let ip4 = if borrowed { ip4.list(phy) } else { ip4.own(phy) };
    let ip6 = if borrowed { ip6.list(phy) } else { ip6.own(phy) };
    let ip4 = ip4.into_iter().map(|prefix| (IpAddr::from(prefix.addr()), prefix.len()));
    let ip6 = ip6.into_iter().map(|prefix| (IpAddr::from(prefix.addr()), prefix.len()));
    ip4.chain(ip6).collect()
}

/// Makes the pair of a new sub-interface, if its parent has one and the kernel can tell its frames.
fn mirror_sub(world: &World, sub: SwIfIndex) {
    let interfaces = world.get::<Interfaces>();
    let Ok(interface) = interfaces.get(sub) else { return };
    let (Some(of), Some((_, parent))) =
        (interface.sub, world.get::<Pairs>().of_phy(interface.parent))
    else {
        return;
    };
    let is_exact = matches!(of.frames, SubFrames::Tagged(tags) if tags.exact);
    if parent.made != Made::Tap || !is_exact {
        return;
    }
    let name = format!("{}.{}", parent.name, of.id);
    let namespace = Some(parent.namespace.unwrap_or_default());
    let request = Request { phy: sub, name, kind: HostKind::Tap, namespace };
    match control::create(world, &request) {
        Ok(_) => {}
        Err(error) if error.is(retval::VALUE_EXIST) => {}
        Err(error) => {
            log::warn!(target: "linux-cp", "{} gets no mirror: {error}", interface.name);
        }
    }
}

struct Pushes(Arc<Sync>);

impl Process for Pushes {
    fn name(&self) -> &'static str {
        "linux-cp-sync"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world)
    }
}

/// Switches the push of state on or off; on pushes all at once.
pub fn set(world: &World, on: bool) -> Result<()> {
    world.get::<Settings>().change(world, |values| values.sync = on);
    if on {
        world.get::<Sync>().push_all(world);
    }
    Ok(())
}

/// Switches the push of borrowed addresses on or off.
pub fn set_unnumbered(world: &World, on: bool) -> Result<()> {
    world.get::<Settings>().change(world, |values| values.sync_unnumbered = on);
    world.get::<Sync>().push_all(world);
    Ok(())
}
