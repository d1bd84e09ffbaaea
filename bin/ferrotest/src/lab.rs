// SPDX-License-Identifier: Apache-2.0
//! Laboratory: three network namespaces and two veth pairs. The tester's ports are in the outer
//! namespaces, the device is in the middle.
//!
//! A lab of a measurement has no names: it is gone when the process is gone, however that ends.
//! `lab up` makes one with names, for experiments by hand.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Command;

use measure::Direction;
use netlink::{Ethtool, Namespace, Rtnl};
use wire::MacAddr;

use crate::port::interface::{Kind, Port, PortRx, PortTx};
use crate::port::{host, memif, tap};
use crate::traffic::flow::Ends;
use crate::traffic::neighbor::Host;

/// Offloads that would spoil counts: segments that are joined or cut, checksums that are left out.
pub const OFFLOADS: [&str; 7] = [
    "rx-checksum",
    "tx-checksum-ip-generic",
    "tx-scatter-gather",
    "tx-generic-segmentation",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "rx-gro",
];

/// Side of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The port from which forward traffic comes.
    Left,
    /// The other.
    Right,
}

impl End {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Left, Self::Right];

    /// Name of the device's interface on this side.
    pub fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
        }
    }

    /// The end at which the packets of a direction begin.
    pub fn source(direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self::Left,
            Direction::Reverse => Self::Right,
        }
    }

    /// The opposite end.
    pub fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }

    /// Addresses of this side. The networks are those of siitperf: 198.18.0.0/24 and 198.19.0.0/24,
    /// 2001:2::/64 and 2001:2:0:8000::/64; the device is host 1, the tester host 2.
    pub fn addresses(self) -> Addresses {
        let side = match self {
            Self::Left => 0,
            Self::Right => 1,
        };
        let ip4 = |c, d| Ipv4Addr::new(198, 18 + side, c, d);
        let ip6 = |d, h| Ipv6Addr::new(0x2001, 2, 0, u16::from(side) << 15 | d, 0, 0, 0, h);
        Addresses {
            device: (ip4(0, 1), ip6(0, 1)),
            tester: (ip4(0, 2), ip6(0, 2)),
            network: (ip4(0, 0), ip6(0, 0)),
            range: Ends { ip4: ip4(1, 0), ip6: ip6(1, 0) },
        }
    }
}

/// Addresses of one side.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// The device's.
    pub device: (Ipv4Addr, Ipv6Addr),
    /// The tester's.
    pub tester: (Ipv4Addr, Ipv6Addr),
    /// Networks that are routed to the tester, a /16 and a /49.
    pub network: (Ipv4Addr, Ipv6Addr),
    /// First addresses of ranges, behind the tester.
    pub range: Ends,
}

/// Prefix lengths of the links.
pub const LINK: (u8, u8) = (24, 64);

/// Prefix lengths of the routes to all that the tester plays.
pub const ROUTE: (u8, u8) = (16, 49);

impl Addresses {
    /// The tester on this side, with this Ethernet address.
    pub fn host(&self, mac: MacAddr) -> Host {
        Host { mac, own: self.tester, gateway: self.device, prefix: ROUTE }
    }

    /// The one address of the tester, for flows without a range.
    pub fn fixed(&self) -> Ends {
        Ends { ip4: self.tester.0, ip6: self.tester.1 }
    }
}

/// Three namespaces, cabled.
#[derive(Debug)]
pub struct Lab {
    /// Namespace of the device, with the interfaces `left` and `right`.
    pub device: Namespace,
    testers: [Namespace; 2],
    /// Kind of the interfaces.
    pub ports: Kind,
}

/// Name of the tester's interface in each outer namespace.
const PORT: &str = "port";

fn named(what: &str) -> impl Fn(io::Error) -> String {
    move |error| match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "{what}: {error}; run as root, or where user namespaces are allowed \
             (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces)"
        ),
        _ => format!("{what}: {error}"),
    }
}

/// Writes a kernel parameter of a namespace.
pub fn sysctl(namespace: &Namespace, name: &str, value: &str) -> Result<(), String> {
    let path = format!("/proc/sys/{name}");
    namespace.run(|| fs::write(&path, value)).map_err(named(&path))
}

impl Lab {
    /// Makes a lab without names.
    ///
    /// # Errors
    /// The kernel's, with the step that failed.
    pub fn new() -> Result<Self, String> {
        let create = || Namespace::create().map_err(named("make a network namespace"));
        Self::cable(create()?, [create()?, create()?])
    }

    /// A lab whose interfaces are taps, with the tester's ports.
    ///
    /// # Errors
    /// The kernel's, with the step that failed.
    pub fn with_taps() -> Result<(Self, [Port; 2]), String> {
        let create = || Namespace::create().map_err(named("make a network namespace"));
        let (device, testers) = (create()?, [create()?, create()?]);
        without_detection(&device)?;
        let port = |end: End| {
            let open = || tap::open(end.name());
            let (tx, rx) = device.run(open).map_err(named("make a tap"))?;
            prepare(&device, end.name())?;
            Ok::<_, String>(Port { tx: PortTx::Tap(tx), rx: PortRx::Tap(rx) })
        };
        let ports = [port(End::Left)?, port(End::Right)?];
        Ok((Self { device, testers, ports: Kind::Tap }, ports))
    }

    /// A lab for a device whose interfaces are memif, with the tester's ports, which wait for it.
    ///
    /// # Errors
    /// The kernel's, with the step that failed.
    pub fn with_memif() -> Result<(Self, [Port; 2]), String> {
        let create = || Namespace::create().map_err(named("make a network namespace"));
        let (device, testers) = (create()?, [create()?, create()?]);
        let port = |end: End| {
            let open = || memif::open(end.name());
            let (tx, rx) = device.run(open).map_err(named("open a memif socket"))?;
            Ok::<_, String>(Port { tx: PortTx::Memif(tx), rx: PortRx::Memif(rx) })
        };
        let ports = [port(End::Left)?, port(End::Right)?];
        Ok((Self { device, testers, ports: Kind::Memif }, ports))
    }

    /// One veth pair between the tester's ports, without a device.
    ///
    /// # Errors
    /// The kernel's, with the step that failed.
    pub fn direct() -> Result<Self, String> {
        let create = || Namespace::create().map_err(named("make a network namespace"));
        let (device, testers) = (create()?, [create()?, create()?]);
        for namespace in &testers {
            quiet(namespace)?;
        }
        let mut left = Rtnl::in_namespace(&testers[0]).map_err(named("ask for interfaces"))?;
        left.add_veth(PORT, PORT, Some(&testers[1])).map_err(named("make a veth pair"))?;
        testers.iter().try_for_each(|namespace| prepare(namespace, PORT))?;
        Ok(Self { device, testers, ports: Kind::Veth })
    }

    fn cable(device: Namespace, testers: [Namespace; 2]) -> Result<Self, String> {
        for namespace in &testers {
            quiet(namespace)?;
        }
        without_detection(&device)?;
        let mut middle = Rtnl::in_namespace(&device).map_err(named("ask for interfaces"))?;
        for (end, tester) in End::BOTH.into_iter().zip(&testers) {
            let name = end.name();
            middle.add_veth(name, PORT, Some(tester)).map_err(named("make a veth pair"))?;
            prepare(&device, name)?;
            prepare(tester, PORT)?;
        }
        Ok(Self { device, testers, ports: Kind::Veth })
    }

    /// Opens the tester's port of one side.
    ///
    /// # Errors
    /// The kernel's.
    pub fn port(&self, end: End) -> Result<Port, String> {
        let namespace = match end {
            End::Left => &self.testers[0],
            End::Right => &self.testers[1],
        };
        let open = || host::open(PORT);
        let (tx, rx) = namespace.run(open).map_err(named("open the tester's port"))?;
        Ok(Port { tx: PortTx::Veth(tx), rx: PortRx::Veth(rx) })
    }
}

/// Makes link-local addresses usable at once: the tester is alone on its link.
fn without_detection(device: &Namespace) -> Result<(), String> {
    for scope in ["all", "default"] {
        let name = format!("net/ipv6/conf/{scope}/accept_dad");
        if std::path::Path::new("/proc/sys/net/ipv6").exists() {
            sysctl(device, &name, "0")?;
        }
    }
    Ok(())
}

/// Lets no packets of the kernel's own out of a namespace.
pub fn quiet(namespace: &Namespace) -> Result<(), String> {
    for scope in ["all", "default"] {
        let name = format!("net/ipv6/conf/{scope}/disable_ipv6");
        // A kernel without IPv6 has nothing to say.
        if std::path::Path::new("/proc/sys/net/ipv6").exists() {
            sysctl(namespace, &name, "1")?;
        }
    }
    Ok(())
}

/// Switches offloads off and the interface on.
fn prepare(namespace: &Namespace, name: &str) -> Result<(), String> {
    let mut rtnl = Rtnl::in_namespace(namespace).map_err(named("ask for interfaces"))?;
    let link = rtnl.link(name).map_err(named(name))?;
    // Names differ between kernels; a missing feature needs no switching off.
    let mut ethtool = Ethtool::in_namespace(namespace).map_err(named("ask for offloads"))?;
    for feature in OFFLOADS {
        let _ = ethtool.set_features(&link, &[feature], false);
    }
    rtnl.set_admin_up(link.index, true).map_err(named(name))
}

/// Gives the device's interfaces in a namespace their addresses, and the kernel the routes to what
/// the tester plays.
///
/// # Errors
/// The kernel's.
pub fn route_by_kernel(device: &Namespace) -> Result<(), String> {
    sysctl(device, "net/ipv4/ip_forward", "1")?;
    sysctl(device, "net/ipv4/conf/all/rp_filter", "0")?;
    sysctl(device, "net/ipv4/conf/all/send_redirects", "0")?;
    sysctl(device, "net/ipv6/conf/all/forwarding", "1")?;
    let mut rtnl = Rtnl::in_namespace(device).map_err(named("ask for interfaces"))?;
    for end in End::BOTH {
        let link = rtnl.link(end.name()).map_err(named(end.name()))?;
        let Addresses { device, tester, network, .. } = end.addresses();
        let four = (IpAddr::from(device.0), IpAddr::from(network.0), IpAddr::from(tester.0));
        let six = (IpAddr::from(device.1), IpAddr::from(network.1), IpAddr::from(tester.1));
        for ((own, network, gateway), link_len, route_len) in
            [(four, LINK.0, ROUTE.0), (six, LINK.1, ROUTE.1)]
        {
            rtnl.add_address(link.index, own, link_len).map_err(named("add an address"))?;
            rtnl.set_route(link.index, network, route_len, gateway)
                .map_err(named("add a route"))?;
        }
    }
    Ok(())
}

/// Names of the namespaces of `lab up`.
pub const NAMES: [&str; 3] = ["ferrotest-left", "ferrotest-device", "ferrotest-right"];

fn ip(words: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(words).output();
    let output = output.map_err(|error| format!("ip (package iproute2): {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(format!("ip {}: {}", words.join(" "), why.trim()))
}

/// Makes the lab with names; an earlier one is removed first.
///
/// # Errors
/// The program `ip` is missing, or the kernel refuses.
pub fn up() -> Result<(), String> {
    down()?;
    let made = NAMES.iter().try_for_each(|name| ip(&["netns", "add", name])).and_then(|()| {
        let open = |name| Namespace::open(name).map_err(|error| error.to_string());
        Lab::cable(open(NAMES[1])?, [open(NAMES[0])?, open(NAMES[2])?]).map(drop)
    });
    made.inspect_err(|_| drop(down()))
}

/// Names of the lab, and the addresses that measurements use in it; `lab up` sets none of them.
pub fn overview() -> String {
    let mut text = format!("namespace {}: device under test\n", NAMES[1]);
    for (end, tester) in End::BOTH.into_iter().zip([NAMES[0], NAMES[2]]) {
        let (name, Addresses { device, tester: own, network, .. }) = (end.name(), end.addresses());
        let _ = writeln!(
            text,
            "  interface {name}, for {}/{} and {}/{}, routes {}/{} and {}/{} by the tester\n\
             namespace {tester}: tester, {name} side\n  interface {PORT}, for {} and {}",
            device.0,
            LINK.0,
            device.1,
            LINK.1,
            network.0,
            ROUTE.0,
            network.1,
            ROUTE.1,
            own.0,
            own.1
        );
    }
    text.push_str("no address is set yet; `ferrotest lab down' removes all of it\n");
    text
}

/// Removes the lab with names, if there is one.
///
/// # Errors
/// The program `ip` is missing, or the kernel refuses.
pub fn down() -> Result<(), String> {
    for name in NAMES {
        if std::path::Path::new("/run/netns").join(name).exists() {
            ip(&["netns", "del", name])?;
        }
    }
    Ok(())
}

/// Becomes root of a user namespace of its own, unless the process is root already. Must be called
/// before the process has other threads.
///
/// # Errors
/// The kernel allows no user namespaces.
pub fn become_root() -> Result<(), String> {
    use rustix::thread::UnshareFlags;
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // `unshare` is deprecated because some of its flags let a thread lose its descriptors or its
    // address space; these two take away neither.
    #[expect(deprecated)]
    rustix::thread::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)
        .map_err(io::Error::from)
        .map_err(named("make a user namespace"))?;
    let write = |path: &str, text: String| fs::write(path, text).map_err(named(path));
    // A group may be mapped only by processes that can't call setgroups (user_namespaces(7)).
    write("/proc/self/setgroups", "deny".into())?;
    write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    write("/proc/self/gid_map", format!("0 {gid} 1"))
}
