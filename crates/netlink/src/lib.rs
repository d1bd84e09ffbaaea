// SPDX-License-Identifier: Apache-2.0
//! Netlink client of the host kernel: its interfaces, their addresses and routes, and notifications
//! of changes, by rtnetlink (rtnetlink(7)); speeds and offloads of links, by ethtool's generic
//! netlink; and network namespaces to ask in.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! let mut rtnl = netlink::Rtnl::new()?;
//! let link = rtnl.link("eth0")?;
//! println!("{} is {:?}, MTU {}", link.name, link.oper, link.mtu);
//!
//! let mut monitor = netlink::Monitor::new()?; // wait for its descriptor to be readable, then:
//! monitor.read(|event| println!("{event:?}"))?;
//! # Ok(())
//! # }
//! ```
//!
//! Everything here belongs to the control thread: requests wait for the kernel's answer (which is
//! immediate) and allocate. [`Monitor::read`] never waits.
#![forbid(unsafe_code)]

mod changes;
mod ethtool;
mod follow;
mod link;
mod message;
mod monitor;
mod namespace;
mod requests;
mod route;
mod rss;
mod rtnl;
mod socket;

pub use changes::{
    Change, Hop, KernelRoute, NeighborEntry, NextHopObject, NextHopTarget, OFFLOAD, ROUTE_FLAGS,
    RouteKind,
};
pub use ethtool::{Channels, Ethtool};
pub use follow::{Dump, DumpOf, Follower, ReadState};
pub use link::{Link, OperState};
pub use message::{Message, split};
pub use monitor::{LinkEvent, Monitor};
pub use namespace::Namespace;
pub use route::{Address, DefaultRoute};
pub use rtnl::{Rtnl, VlanLink};
