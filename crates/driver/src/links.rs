// SPDX-License-Identifier: Apache-2.0
//! The host's links that interfaces depend on: one process follows the kernel's notifications for
//! all of them.

use crate::aside::Aside;
use graph::{Process, Shared, Sleep, SwIfIndex, Wake, World};
use net::{Interfaces, MtuKind};
use netlink::{Ethtool, Link, LinkEvent, Monitor, Namespace, Rtnl};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// A change of a link that is followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinkChange {
    /// Present state, MTU, name and so on: after a change, and as the first event after
    /// [`Links::follow`].
    Is(Link),
    /// It was deleted, or moved to another namespace.
    Gone,
    /// After it was gone: another one of the same name is there.
    Back(Link),
}

/// Receives the changes of a link, on the control thread.
pub trait LinkUser: Send + Sync {
    /// Handles a change.
    fn link_changed(&self, world: &World, sw_if: SwIfIndex, change: LinkChange);
}

/// Gives an interface the MTU of its link, and whether that is up, as its driver sees it.
pub fn note_link(world: &World, sw_if: SwIfIndex, link: &Link, is_up: bool) {
    let interfaces = world.get::<Interfaces>();
    let Ok(interface) = interfaces.get(sw_if) else { return };
    let mtu = link.mtu.min(u16::MAX.into()) as u16;
    if interface.mtu_of(MtuKind::Link) != mtu {
        let _ = interfaces.note_mtu(world, sw_if, mtu);
    }
    // The interface is there: it was looked up above, on this thread.
    let _ = interfaces.set_link(world, sw_if, is_up);
}

/// A namespace of the host in which links are followed.
struct WatchedNamespace {
    /// Device and inode of the namespace.
    id: (u64, u64),
    monitor: Monitor,
    rtnl: Rtnl,
    /// `None` where the kernel doesn't report speeds.
    ethtool: Option<Ethtool>,
}

impl WatchedNamespace {
    /// Adds the speed, which rtnetlink doesn't report.
    fn complete(&mut self, link: &mut Link) {
        link.speed = self.ethtool.as_mut().and_then(|ethtool| ethtool.speed(link));
    }
}

struct FollowedLink {
    namespace: (u64, u64),
    sw_if: SwIfIndex,
    name: String,
    /// State that was reported last; `None` while the link is gone.
    last: Option<Link>,
    user: Arc<dyn LinkUser>,
}

/// The links that are followed.
pub struct Links(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    namespaces: Vec<WatchedNamespace>,
    followed: Vec<FollowedLink>,
}

impl Shared for Links {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }
}

type LinkChanges = Vec<(Arc<dyn LinkUser>, SwIfIndex, LinkChange)>;

impl Links {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no panic inside")
    }

    /// Reports the link `index` of a namespace (`None`: the caller's) to `user`, from its present
    /// state on, until [`Self::forget`].
    ///
    /// # Errors
    /// The kernel's; a link that isn't there.
    pub fn follow(
        &self,
        world: &World,
        namespace: Option<&Namespace>,
        index: u32,
        sw_if: SwIfIndex,
        user: Arc<dyn LinkUser>,
    ) -> io::Result<()> {
        let link = self.add(world, namespace, sw_if, user.clone(), |rtnl| {
            let link = rtnl.link_by_index(index)?;
            Ok((link.name.clone(), Some(link)))
        })?;
        link.into_iter().for_each(|link| user.link_changed(world, sw_if, LinkChange::Is(link)));
        Ok(())
    }

    /// Reports to `user` when a link of this name comes to the caller's namespace, and its events
    /// from then on, until [`Self::forget`].
    ///
    /// # Errors
    /// The kernel's.
    pub fn await_link(
        &self,
        world: &World,
        name: &str,
        sw_if: SwIfIndex,
        user: Arc<dyn LinkUser>,
    ) -> io::Result<()> {
        // The monitor hears of all links that come behind this, and of one that has just come.
        let link = self.add(world, None, sw_if, user.clone(), |rtnl| {
            let there = rtnl.links()?.into_iter().find(|link| link.name == name);
            Ok((name.to_string(), there))
        })?;
        link.into_iter().for_each(|link| user.link_changed(world, sw_if, LinkChange::Back(link)));
        Ok(())
    }

    /// Follows the link that `find` gives, by its name and as it is.
    fn add(
        &self,
        world: &World,
        namespace: Option<&Namespace>,
        sw_if: SwIfIndex,
        user: Arc<dyn LinkUser>,
        find: impl FnOnce(&mut Rtnl) -> io::Result<(String, Option<Link>)>,
    ) -> io::Result<Option<Link>> {
        let stat = match namespace {
            Some(namespace) => rustix::fs::fstat(namespace),
            None => rustix::fs::fstat(&Namespace::current()?),
        }?;
        let id = (stat.st_dev, stat.st_ino);
        let mut inner = self.inner();
        if !inner.namespaces.iter().any(|p| p.id == id) {
            let make = || Ok((Monitor::new()?, Rtnl::new()?, Ethtool::new().ok()));
            // To enter a namespace takes a privilege, even for one's own.
            let (monitor, rtnl, ethtool) =
                namespace.map_or_else(make, |namespace| namespace.run(make))?;
            world.processes.watch(&monitor, &world.get::<Aside>().signal)?;
            inner.namespaces.push(WatchedNamespace { id, monitor, rtnl, ethtool });
        }
        let namespace =
            inner.namespaces.iter_mut().find(|p| p.id == id).ok_or(io::ErrorKind::NotFound)?;
        // The monitor is there already: nothing can happen unseen behind this.
        let (name, mut last) = find(&mut namespace.rtnl)?;
        last.iter_mut().for_each(|link| namespace.complete(link));
        inner.followed.push(FollowedLink { namespace: id, sw_if, name, last: last.clone(), user });
        Ok(last)
    }

    /// Ends [`Self::follow`].
    pub fn forget(&self, sw_if: SwIfIndex) {
        let inner = &mut *self.inner();
        inner.followed.retain(|f| f.sw_if != sw_if);
        let followed = &inner.followed;
        // With its last link a namespace is let go.
        inner.namespaces.retain(|p| followed.iter().any(|f| f.namespace == p.id));
    }

    /// Reads the kernel's pending notifications.
    fn read(&self) -> LinkChanges {
        let mut changes = LinkChanges::new();
        let Inner { namespaces, followed } = &mut *self.inner();
        for namespace in namespaces {
            let mut events = Vec::new();
            if let Err(error) = namespace.monitor.read(|event| events.push(event)) {
                log::error!(target: "driver", "news of the host's links: {error}");
            }
            if events.contains(&LinkEvent::Lost) {
                match namespace.rtnl.links() {
                    Ok(links) => events = caught_up(&links, namespace.id, followed),
                    Err(error) => log::error!(target: "driver", "the host's links: {error}"),
                }
            }
            for mut event in events {
                if let LinkEvent::Changed(link) = &mut event
                    && followed.iter().any(|f| f.namespace == namespace.id && f.is_about(link))
                {
                    namespace.complete(link);
                }
                for f in followed.iter_mut().filter(|f| f.namespace == namespace.id) {
                    changes
                        .extend(f.apply(&event).map(|changes| (f.user.clone(), f.sw_if, changes)));
                }
            }
        }
        changes
    }
}

/// Events that lead from the state reported last to the present state.
fn caught_up(links: &[Link], namespace: (u64, u64), followed: &[FollowedLink]) -> Vec<LinkEvent> {
    let known =
        followed.iter().filter(|f| f.namespace == namespace).filter_map(|f| f.last.as_ref());
    let gone = known
        .filter(|l| links.iter().all(|now| now.index != l.index))
        .cloned()
        .map(LinkEvent::Gone);
    gone.chain(links.iter().cloned().map(LinkEvent::Changed)).collect()
}

impl FollowedLink {
    fn is_about(&self, link: &Link) -> bool {
        self.last.as_ref().map_or(link.name == self.name, |last| last.index == link.index)
    }

    fn apply(&mut self, event: &LinkEvent) -> Option<LinkChange> {
        match (event, &self.last) {
            (LinkEvent::Changed(link), Some(last)) if link.index == last.index => {
                if link == last {
                    return None;
                }
                self.name.clone_from(&link.name);
                self.last = Some(link.clone());
                Some(LinkChange::Is(link.clone()))
            }
            (LinkEvent::Gone(link), Some(last)) if link.index == last.index => {
                self.last = None;
                Some(LinkChange::Gone)
            }
            (LinkEvent::Changed(link), None) if link.name == self.name => {
                self.last = Some(link.clone());
                Some(LinkChange::Back(link.clone()))
            }
            _ => None,
        }
    }
}

/// The process: gives the kernel's news to the interfaces, and has what threads have given back
/// dropped.
pub(crate) struct LinkMonitor;

impl Process for LinkMonitor {
    fn name(&self) -> &'static str {
        "host-link-monitor"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        world.get::<Aside>().run(world);
        for (user, sw_if, changes) in world.get::<Links>().read() {
            user.link_changed(world, sw_if, changes);
        }
        Sleep::Event
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn link(index: u32, name: &str, mtu: u32) -> Link {
        Link { index, name: name.into(), mtu, ..Link::default() }
    }

    struct Nobody;
    impl LinkUser for Nobody {
        fn link_changed(&self, _: &World, _: SwIfIndex, _: LinkChange) {}
    }

    fn followed(last: Link) -> FollowedLink {
        let name = last.name.clone();
        FollowedLink {
            namespace: (0, 0),
            sw_if: SwIfIndex(1),
            name,
            last: Some(last),
            user: Arc::new(Nobody),
        }
    }

    #[suite::test]
    fn news_are_told_once_and_only_of_the_own_link() {
        let mut f = followed(link(3, "eth0", 1500));
        assert_eq!(f.apply(&LinkEvent::Changed(link(3, "eth0", 1500))), None);
        assert_eq!(f.apply(&LinkEvent::Changed(link(4, "eth1", 1400))), None);
        let renamed = link(3, "wan", 9000);
        assert_eq!(f.apply(&LinkEvent::Changed(renamed.clone())), Some(LinkChange::Is(renamed)));
        assert_eq!(f.apply(&LinkEvent::Gone(link(4, "eth1", 1400))), None);
        assert_eq!(f.apply(&LinkEvent::Gone(link(3, "wan", 9000))), Some(LinkChange::Gone));
        assert_eq!(f.apply(&LinkEvent::Changed(link(7, "eth0", 1500))), None, "it was renamed");
        let back = link(7, "wan", 1500);
        assert_eq!(f.apply(&LinkEvent::Changed(back.clone())), Some(LinkChange::Back(back)));
    }

    #[suite::test]
    fn what_was_lost_is_made_up_for() {
        let (a, b) = (followed(link(3, "a", 1)), followed(link(4, "b", 1)));
        let mut all = [a, b];
        let now = [link(4, "b", 2), link(9, "a", 1)];
        let events = caught_up(&now, (0, 0), &all);
        let changes: Vec<_> = events
            .iter()
            .flat_map(|e| all.iter_mut().filter_map(|f| f.apply(e)).collect::<Vec<_>>())
            .collect();
        let want =
            [LinkChange::Gone, LinkChange::Is(now[0].clone()), LinkChange::Back(now[1].clone())];
        assert_eq!(changes, want);
    }
}
