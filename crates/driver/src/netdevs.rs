// SPDX-License-Identifier: Apache-2.0
//! Changes that drivers make to netdevs of the host, and their end: the settings of a netdev are
//! restored when its interface is deleted, at a clean end, and by the next start after a crash.
//!
//! Drivers change the admin state, which goes up with the interface's, the MTU, and on request the
//! table of receive queues. Addresses and routes are never touched. MAC addresses, groups and
//! promiscuous mode are requested by sockets, and an XDP program is attached by a link of the
//! process: the kernel removes them when the process ends, however that happens.

use graph::{Process, Shared, Sleep, Wake, World};
use netlink::{Ethtool, Link, Namespace, Rtnl};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

/// A netdev that interfaces use.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Netdev {
    /// The name or path of its network namespace; empty for the daemon's own.
    netns: String,
    index: u32,
    name: String,
    /// The MTU before the first change, and the MTU that was set last.
    mtu: Option<(u32, u32)>,
    /// True if it was taken up.
    up: bool,
    /// True if its table of receive queues was set.
    rss: bool,
}

impl Netdev {
    fn is(&self, netns: &str, index: u32) -> bool {
        self.netns == netns && self.index == index
    }

    fn is_changed(&self) -> bool {
        self.mtu.is_some() || self.up || self.rss
    }

    /// Its line in the file.
    fn line(&self) -> String {
        let (before, now) = self.mtu.unwrap_or_default();
        let up = if self.up { "up" } else { "-" };
        let rss = if self.rss { "rss" } else { "-" };
        format!("{} {} {before} {now} {up} {rss} {}\n", self.index, self.name, self.netns)
    }

    /// Reads a line; `None` for one that this version wouldn't write.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(7, ' ');
        let mut word = || words.next().filter(|word| !word.is_empty());
        let (index, name) = (word()?.parse().ok()?, word()?.to_string());
        let mtu = (word()?.parse().ok()?, word()?.parse().ok()?);
        let up = match word()? {
            "up" => true,
            "-" => false,
            _ => return None,
        };
        let rss = match word()? {
            "rss" => true,
            "-" => false,
            _ => return None,
        };
        let netns = words.next()?.to_string();
        Some(Self { netns, index, name, mtu: (mtu != (0, 0)).then_some(mtu), up, rss })
    }

    /// Restores the settings that are still as they were set.
    fn restore(&self, same_name: bool) -> io::Result<()> {
        let open = || Ok((Rtnl::new()?, Ethtool::new().ok()));
        let (mut rtnl, ethtool) = match self.netns.strip_prefix("pid:").unwrap_or(&self.netns) {
            "" => open()?,
            name => Namespace::open(name)?.run(open)?,
        };
        let link = match rtnl.link_by_index(self.index) {
            Ok(link) if !same_name || link.name == self.name => link,
            // Another netdev, or none: there is nothing to restore.
            _ => return Ok(()),
        };
        if let Some((before, _)) = self.mtu.filter(|(_, set)| *set == link.mtu) {
            rtnl.set_mtu(link.index, before)?;
        }
        if let Some(mut ethtool) = ethtool.filter(|_| self.rss) {
            ethtool.set_rss_table(&link, &[])?;
        }
        // With an address of the host's it is used by others, too.
        let used = |rtnl: &mut Rtnl| {
            let addresses = rtnl.addresses()?;
            Ok::<_, io::Error>(addresses.iter().any(|a| a.index == link.index && a.global))
        };
        if self.up && link.is_admin_up() && !used(&mut rtnl)? {
            rtnl.set_admin_up(link.index, false)?;
        }
        Ok(())
    }

    fn restore_or_log(&self, same_name: bool) {
        if let Err(error) = self.restore(same_name) {
            log::warn!(target: "driver", "the host's interface {} can't be restored: {error}", self.name);
        }
    }
}

/// The netdevs that interfaces of this instance use.
pub struct Netdevs {
    file: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// With the number of interfaces of each.
    used: Vec<(Netdev, usize)>,
    /// Changed by a process that was killed, and not used since.
    left: Vec<Netdev>,
}

impl Shared for Netdevs {
    fn make(world: &World) -> Self {
        Self { file: world.runtime_dir().join("netdevs"), inner: Mutex::default() }
    }
}

impl Netdevs {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Records that an interface uses a netdev of a namespace (empty: the caller's).
    pub fn take(&self, netns: &str, link: &Link) {
        let mut inner = self.inner();
        if let Some((_, users)) = inner.used.iter_mut().find(|(n, _)| n.is(netns, link.index)) {
            *users += 1;
            return;
        }
        // Changed before a crash: its settings before that are the ones to restore.
        let is = |n: &Netdev| n.is(netns, link.index) && n.name == link.name;
        let netdev = match inner.left.iter().position(is) {
            Some(at) => inner.left.remove(at),
            None => Netdev {
                netns: netns.into(),
                index: link.index,
                name: link.name.clone(),
                mtu: None,
                up: false,
                rss: false,
            },
        };
        inner.used.push((netdev, 1));
    }

    /// Records that an interface doesn't use a netdev any more. With its last user its settings are
    /// restored, if it is `there`.
    pub fn release(&self, netns: &str, index: u32, there: bool) {
        let mut inner = self.inner();
        let Some(at) = inner.used.iter().position(|(n, _)| n.is(netns, index)) else { return };
        inner.used[at].1 -= 1;
        if inner.used[at].1 > 0 {
            return;
        }
        let (netdev, _) = inner.used.swap_remove(at);
        if netdev.is_changed() {
            if there {
                netdev.restore_or_log(false);
            }
            self.write(&inner);
        }
    }

    fn change(&self, netns: &str, link: &Link, change: impl FnOnce(&mut Netdev)) {
        let mut inner = self.inner();
        if let Some((netdev, _)) = inner.used.iter_mut().find(|(n, _)| n.is(netns, link.index)) {
            let before = netdev.clone();
            change(netdev);
            if *netdev != before {
                self.write(&inner);
            }
        }
    }

    /// Takes a netdev up.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_up(&self, rtnl: &mut Rtnl, netns: &str, link: &Link) -> io::Result<()> {
        // Recorded first: the process may be killed in between.
        self.change(netns, link, |netdev| netdev.up = true);
        rtnl.set_admin_up(link.index, true)
    }

    /// Sets a netdev's MTU.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_mtu(&self, rtnl: &mut Rtnl, netns: &str, link: &Link, mtu: u32) -> io::Result<()> {
        self.change(netns, link, |netdev| {
            let before = netdev.mtu.map_or(link.mtu, |(before, _)| before);
            netdev.mtu = Some((before, mtu)).filter(|(before, now)| before != now);
        });
        rtnl.set_mtu(link.index, mtu)
    }

    /// Sets the table by which a netdev spreads received packets over its queues; an empty one
    /// stands for the netdev's own, which is also the one that is restored.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_rss_table(
        &self,
        ethtool: &mut Ethtool,
        netns: &str,
        link: &Link,
        table: &[u32],
    ) -> io::Result<()> {
        if table.is_empty() {
            ethtool.set_rss_table(link, table)?;
            self.change(netns, link, |netdev| netdev.rss = false);
            return Ok(());
        }
        self.change(netns, link, |netdev| netdev.rss = true);
        ethtool.set_rss_table(link, table)
    }

    /// Writes the changed netdevs to the file, or removes it if there are none.
    fn write(&self, inner: &Inner) {
        let used = inner.used.iter().map(|(netdev, _)| netdev);
        let changed = used.chain(&inner.left).filter(|n| n.is_changed() && !n.netns.contains('\n'));
        let text: String = changed.map(Netdev::line).collect();
        let written = match text.is_empty() {
            true => match std::fs::remove_file(&self.file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                result => result,
            },
            false => self.replace(&text),
        };
        if let Err(error) = written {
            log::warn!(target: "driver", "{}: {error}: changed interfaces of the host aren't restored after a crash", self.file.display());
        }
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        self.file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        let new = self.file.with_extension("new");
        std::fs::write(&new, text)?;
        std::fs::rename(new, &self.file)
    }

    /// Reads the changes of a process before this one; returns true if there are some.
    pub(crate) fn read(&self) -> bool {
        let Ok(text) = std::fs::read_to_string(&self.file) else { return false };
        let mut inner = self.inner();
        inner.left = text.lines().filter_map(Netdev::parse).collect();
        !inner.left.is_empty()
    }

    /// Restores netdevs that a process before this one has changed and that none uses now.
    fn restore_left(&self) {
        let mut inner = self.inner();
        for netdev in std::mem::take(&mut inner.left) {
            log::info!(target: "driver", "the host's interface {} is restored: it was changed before a crash", netdev.name);
            netdev.restore_or_log(true);
        }
        self.write(&inner);
    }

    /// Restores all netdevs, at the end.
    pub(crate) fn restore_all(&self) {
        let mut inner = self.inner();
        for (netdev, _) in std::mem::take(&mut inner.used) {
            netdev.restore_or_log(false);
        }
        for netdev in std::mem::take(&mut inner.left) {
            netdev.restore_or_log(true);
        }
        self.write(&inner);
    }
}

/// Restores what a killed process has left, when the configuration has had time to take the netdevs
/// again: so their links don't go down for that.
pub(crate) struct Restorer;

/// Nanoseconds after the start.
const LATER: u64 = 10_000_000_000;

impl Process for Restorer {
    fn name(&self) -> &'static str {
        "netdev-restore-process"
    }

    fn run(&mut self, world: &World, wake: Wake) -> Sleep {
        if wake == Wake::Start {
            return Sleep::Until(world.clock.now() + LATER);
        }
        world.get::<Netdevs>().restore_left();
        Sleep::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let plain = Netdev {
            netns: "".into(),
            index: 7,
            name: "eth0".into(),
            mtu: None,
            up: false,
            rss: true,
        };
        for netdev in [
            plain.clone(),
            Netdev { up: true, ..plain.clone() },
            Netdev { mtu: Some((1500, 9000)), netns: "/run/netns/a b".into(), ..plain },
        ] {
            assert_eq!(Netdev::parse(netdev.line().trim_end_matches('\n')), Some(netdev));
        }
        for bad in ["", "7", "7 eth0 1500 9000 up", "x eth0 1500 9000 up - ", "7 eth0 1 2 down - "]
        {
            assert_eq!(Netdev::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line in ".{0,60}") {
            if let Some(netdev) = Netdev::parse(&line) {
                prop_assert_eq!(Netdev::parse(netdev.line().trim_end_matches('\n')), Some(netdev));
            }
        }
    }
}
