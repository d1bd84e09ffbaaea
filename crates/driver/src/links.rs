// SPDX-License-Identifier: Apache-2.0
//! The host's links that interfaces depend on: one process follows the kernel's notifications for
//! all of them.

use crate::home::Trash;
use graph::{Process, Shared, Sleep, SwIfIndex, Wake, World};
use netlink::{Ethtool, Link, LinkEvent, Monitor, Namespace, Rtnl};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// An event of a link that is followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinkNews {
    /// Present state, MTU, name and so on: after a change, and as the first event after
    /// [`Links::follow`].
    Is(Link),
    /// It was deleted, or moved to another namespace.
    Gone,
    /// After it was gone: another one of the same name is there.
    Back(Link),
}

/// Receives the events of a link, on the control thread.
pub trait LinkUser: Send + Sync {
    /// Handles an event.
    fn news(&self, world: &World, sw_if: SwIfIndex, news: LinkNews);
}

/// One namespace of the host in which links are followed.
struct Place {
    /// Device and inode of the namespace.
    id: (u64, u64),
    monitor: Monitor,
    rtnl: Rtnl,
    /// `None` where the kernel doesn't report speeds.
    ethtool: Option<Ethtool>,
}

impl Place {
    /// Adds the speed, which rtnetlink doesn't report.
    fn complete(&mut self, link: &mut Link) {
        link.speed = self.ethtool.as_mut().and_then(|ethtool| ethtool.speed(link));
    }
}

struct Followed {
    place: (u64, u64),
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
    places: Vec<Place>,
    followed: Vec<Followed>,
}

impl Shared for Links {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }
}

type News = Vec<(Arc<dyn LinkUser>, SwIfIndex, LinkNews)>;

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
        link.into_iter().for_each(|link| user.news(world, sw_if, LinkNews::Is(link)));
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
        link.into_iter().for_each(|link| user.news(world, sw_if, LinkNews::Back(link)));
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
        if !inner.places.iter().any(|p| p.id == id) {
            let make = || Ok((Monitor::new()?, Rtnl::new()?, Ethtool::new().ok()));
            // To enter a namespace takes a privilege, even for one's own.
            let (monitor, rtnl, ethtool) =
                namespace.map_or_else(make, |namespace| namespace.run(make))?;
            world.processes.watch(&monitor, &world.get::<Trash>().signal)?;
            inner.places.push(Place { id, monitor, rtnl, ethtool });
        }
        let place = inner.places.iter_mut().find(|p| p.id == id).ok_or(io::ErrorKind::NotFound)?;
        // The monitor is there already: nothing can happen unseen behind this.
        let (name, mut last) = find(&mut place.rtnl)?;
        last.iter_mut().for_each(|link| place.complete(link));
        inner.followed.push(Followed { place: id, sw_if, name, last: last.clone(), user });
        Ok(last)
    }

    /// Ends [`Self::follow`].
    pub fn forget(&self, sw_if: SwIfIndex) {
        let inner = &mut *self.inner();
        inner.followed.retain(|f| f.sw_if != sw_if);
        let followed = &inner.followed;
        // With its last link a namespace is let go.
        inner.places.retain(|p| followed.iter().any(|f| f.place == p.id));
    }

    /// Reads the kernel's pending notifications.
    fn read(&self) -> News {
        let mut news = News::new();
        let Inner { places, followed } = &mut *self.inner();
        for place in places {
            let mut events = Vec::new();
            if let Err(error) = place.monitor.read(|event| events.push(event)) {
                log::error!(target: "driver", "news of the host's links: {error}");
            }
            if events.contains(&LinkEvent::Lost) {
                match place.rtnl.links() {
                    Ok(links) => events = caught_up(&links, place.id, followed),
                    Err(error) => log::error!(target: "driver", "the host's links: {error}"),
                }
            }
            for mut event in events {
                if let LinkEvent::Changed(link) = &mut event
                    && followed.iter().any(|f| f.place == place.id && f.is_about(link))
                {
                    place.complete(link);
                }
                for f in followed.iter_mut().filter(|f| f.place == place.id) {
                    news.extend(f.hear(&event).map(|news| (f.user.clone(), f.sw_if, news)));
                }
            }
        }
        news
    }
}

/// Events that lead from the state reported last to the present state.
fn caught_up(links: &[Link], place: (u64, u64), followed: &[Followed]) -> Vec<LinkEvent> {
    let known = followed.iter().filter(|f| f.place == place).filter_map(|f| f.last.as_ref());
    let gone = known
        .filter(|l| links.iter().all(|now| now.index != l.index))
        .cloned()
        .map(LinkEvent::Gone);
    gone.chain(links.iter().cloned().map(LinkEvent::Changed)).collect()
}

impl Followed {
    fn is_about(&self, link: &Link) -> bool {
        self.last.as_ref().map_or(link.name == self.name, |last| last.index == link.index)
    }

    fn hear(&mut self, event: &LinkEvent) -> Option<LinkNews> {
        match (event, &self.last) {
            (LinkEvent::Changed(link), Some(last)) if link.index == last.index => {
                if link == last {
                    return None;
                }
                self.name.clone_from(&link.name);
                self.last = Some(link.clone());
                Some(LinkNews::Is(link.clone()))
            }
            (LinkEvent::Gone(link), Some(last)) if link.index == last.index => {
                self.last = None;
                Some(LinkNews::Gone)
            }
            (LinkEvent::Changed(link), None) if link.name == self.name => {
                self.last = Some(link.clone());
                Some(LinkNews::Back(link.clone()))
            }
            _ => None,
        }
    }
}

/// The process: gives the kernel's news to the interfaces, and drops what threads have given back.
pub(crate) struct LinkMonitor;

impl Process for LinkMonitor {
    fn name(&self) -> &'static str {
        "host-link-monitor"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        world.get::<Trash>().empty();
        for (user, sw_if, news) in world.get::<Links>().read() {
            user.news(world, sw_if, news);
        }
        Sleep::Event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: u32, name: &str, mtu: u32) -> Link {
        Link { index, name: name.into(), mtu, ..Link::default() }
    }

    struct Nobody;
    impl LinkUser for Nobody {
        fn news(&self, _: &World, _: SwIfIndex, _: LinkNews) {}
    }

    fn followed(last: Link) -> Followed {
        let name = last.name.clone();
        Followed {
            place: (0, 0),
            sw_if: SwIfIndex(1),
            name,
            last: Some(last),
            user: Arc::new(Nobody),
        }
    }

    #[test]
    fn news_are_told_once_and_only_of_the_own_link() {
        let mut f = followed(link(3, "eth0", 1500));
        assert_eq!(f.hear(&LinkEvent::Changed(link(3, "eth0", 1500))), None);
        assert_eq!(f.hear(&LinkEvent::Changed(link(4, "eth1", 1400))), None);
        let renamed = link(3, "wan", 9000);
        assert_eq!(f.hear(&LinkEvent::Changed(renamed.clone())), Some(LinkNews::Is(renamed)));
        assert_eq!(f.hear(&LinkEvent::Gone(link(4, "eth1", 1400))), None);
        assert_eq!(f.hear(&LinkEvent::Gone(link(3, "wan", 9000))), Some(LinkNews::Gone));
        assert_eq!(f.hear(&LinkEvent::Changed(link(7, "eth0", 1500))), None, "it was renamed");
        let back = link(7, "wan", 1500);
        assert_eq!(f.hear(&LinkEvent::Changed(back.clone())), Some(LinkNews::Back(back)));
    }

    #[test]
    fn what_was_lost_is_made_up_for() {
        let (a, b) = (followed(link(3, "a", 1)), followed(link(4, "b", 1)));
        let mut all = [a, b];
        let now = [link(4, "b", 2), link(9, "a", 1)];
        let events = caught_up(&now, (0, 0), &all);
        let news: Vec<_> = events
            .iter()
            .flat_map(|e| all.iter_mut().filter_map(|f| f.hear(e)).collect::<Vec<_>>())
            .collect();
        let want = [LinkNews::Gone, LinkNews::Is(now[0].clone()), LinkNews::Back(now[1].clone())];
        assert_eq!(news, want);
    }
}
