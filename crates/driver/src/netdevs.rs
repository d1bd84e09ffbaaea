// SPDX-License-Identifier: Apache-2.0
//! Changes that drivers make to netdevs of the host, and their end: the settings of a netdev are
//! restored when its interface is deleted, at a clean end, and by the next start after a crash.
//!
//! Drivers change the admin state, which goes up with the interface's, the MTU, and on request the
//! table of receive queues. Addresses and routes are never touched. MAC addresses, groups and
//! promiscuous mode are requested by sockets, and an XDP program is attached by a link of the
//! process: the kernel removes them when the process ends, however that happens.

use graph::{Shared, World};
use netlink::{Ethtool, Link, Namespace, Rtnl};
use rustix::io::Errno;
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
    /// The table of receive queues before the first change; an empty one is the driver's own.
    rss: Option<Vec<u32>>,
}

impl Netdev {
    fn is(&self, netns: &str, index: u32) -> bool {
        self.netns == netns && self.index == index
    }

    fn is_changed(&self) -> bool {
        self.mtu.is_some() || self.up || self.rss.is_some()
    }

    /// Its line in the file.
    fn line(&self) -> String {
        let (before, now) = self.mtu.unwrap_or_default();
        let up = if self.up { "up" } else { "-" };
        let rss = match self.rss.as_deref() {
            None => "-".into(),
            Some([]) => "own".into(),
            Some(table) => table.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
        };
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
            "-" => None,
            "own" => Some(Vec::new()),
            table => Some(table.split(',').map(str::parse).collect::<Result<_, _>>().ok()?),
        };
        let netns = words.next()?.to_string();
        Some(Self { netns, index, name, mtu: (mtu != (0, 0)).then_some(mtu), up, rss })
    }

    /// Restores the settings that are still as they were set.
    fn restore(&self, same_name: bool) -> io::Result<()> {
        let open = || Ok((Rtnl::new()?, self.rss.is_some().then(Ethtool::new).transpose()?));
        let (mut rtnl, ethtool) = match self.netns.strip_prefix("pid:").unwrap_or(&self.netns) {
            "" => open()?,
            name => Namespace::open(name)?.run(open)?,
        };
        let link = match rtnl.link_by_index(self.index) {
            Ok(link) if !same_name || link.name == self.name => link,
            // Another netdev, or none: there is nothing to restore.
            _ => return Ok(()),
        };
        let mtu = match self.mtu {
            Some((before, set)) if set == link.mtu => rtnl.set_mtu(link.index, before),
            _ => Ok(()),
        };
        let rss = match (ethtool, &self.rss) {
            (Some(mut ethtool), Some(table)) => ethtool.set_rss_table(&link, table),
            _ => Ok(()),
        };
        // With an address of the host's it is used by others, too.
        let used = |rtnl: &mut Rtnl| {
            let addresses = rtnl.addresses()?;
            Ok::<_, io::Error>(addresses.iter().any(|a| a.index == link.index && a.global))
        };
        if self.up && link.is_admin_up() && !used(&mut rtnl)? {
            rtnl.set_admin_up(link.index, false)?;
        }
        mtu.and(rss)
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
                rss: None,
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

    /// Spreads received packets of a netdev over some of its queues, in turn; without a list its
    /// table is again the one before the first change.
    ///
    /// # Errors
    /// The kernel's: `EOPNOTSUPP` if it or the netdev has no such table.
    pub fn set_rss_queues(
        &self,
        ethtool: &mut Ethtool,
        netns: &str,
        link: &Link,
        queues: Option<&[u16]>,
    ) -> io::Result<()> {
        let used = |inner: &Inner| {
            let netdev = inner.used.iter().find(|(n, _)| n.is(netns, link.index));
            netdev.and_then(|(netdev, _)| netdev.rss.clone())
        };
        let before = used(&self.inner());
        let Some(queues) = queues else {
            let Some(before) = before else { return Ok(()) };
            ethtool.set_rss_table(link, &before)?;
            self.change(netns, link, |netdev| netdev.rss = None);
            return Ok(());
        };
        let now = ethtool.rss_table(link)?;
        let table: Vec<_> = queues.iter().cycle().take(now.len()).map(|q| u32::from(*q)).collect();
        if table.is_empty() {
            return Err(Errno::OPNOTSUPP.into());
        }
        let is_first = before.is_none();
        if is_first {
            let receiving = ethtool.channels(link).map(|channels| channels.rx);
            self.change(netns, link, |netdev| netdev.rss = Some(to_restore(now, receiving)));
        }
        ethtool.set_rss_table(link, &table).inspect_err(|_| {
            if is_first {
                self.change(netns, link, |netdev| netdev.rss = None);
            }
        })
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

    /// Reads the changes of a process before this one.
    pub(crate) fn read(&self) {
        if let Ok(text) = std::fs::read_to_string(&self.file) {
            self.inner().left = text.lines().filter_map(Netdev::parse).collect();
        }
    }

    /// Restores netdevs that a process before this one has changed and that none uses now: the
    /// configuration has taken the others again, so their links don't go down for that.
    pub(crate) fn restore_left(&self) {
        let mut inner = self.inner();
        if inner.left.is_empty() {
            return;
        }
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

/// The table to be set for this one to be in force again: none if it is the driver's own, which
/// follows the number of queues (the kernel's `ethtool_rxfh_indir_default`).
fn to_restore(table: Vec<u32>, queues: Option<u32>) -> Vec<u32> {
    let is_own = |queues: &u32| (0..*queues).cycle().zip(&table).all(|(own, now)| own == *now);
    if queues.as_ref().is_some_and(is_own) { Vec::new() } else { table }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[suite::test]
    fn lines_are_read_as_they_were_written() {
        let plain = Netdev {
            netns: "".into(),
            index: 7,
            name: "eth0".into(),
            mtu: None,
            up: false,
            rss: Some(vec![]),
        };
        for netdev in [
            plain.clone(),
            Netdev { up: true, rss: Some(vec![0, 3, 70_000]), ..plain.clone() },
            Netdev { up: true, rss: None, ..plain.clone() },
            Netdev { mtu: Some((1500, 9000)), netns: "/run/netns/a b".into(), ..plain },
        ] {
            assert_eq!(Netdev::parse(netdev.line().trim_end_matches('\n')), Some(netdev));
        }
        for bad in [
            "",
            "7",
            "7 eth0 1500 9000 up",
            "x eth0 1500 9000 up - ",
            "7 eth0 1 2 down - ",
            "7 eth0 1 2 up 1,x ",
        ] {
            assert_eq!(Netdev::parse(bad), None, "{bad}");
        }
    }

    #[suite::test]
    fn the_drivers_own_table_is_known_by_the_number_of_queues() {
        let own: Vec<u32> = (0..128).map(|i| i % 4).collect();
        assert_eq!(to_restore(own.clone(), Some(4)), Vec::<u32>::new());
        // The operator's, of the same form over fewer queues; a kernel that doesn't report them.
        assert_eq!(to_restore(own.clone(), Some(8)), own);
        assert_eq!(to_restore(own.clone(), None), own);
        assert_eq!(to_restore(vec![0; 128], Some(4)), vec![0; 128]);
    }

    proptest! {
        #[suite::test]
        fn any_line_is_read_or_refused(line in ".{0,60}") {
            if let Some(netdev) = Netdev::parse(&line) {
                prop_assert_eq!(Netdev::parse(netdev.line().trim_end_matches('\n')), Some(netdev));
            }
        }
    }
}
