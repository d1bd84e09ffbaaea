// SPDX-License-Identifier: Apache-2.0
//! Operations on interfaces, for commands and messages.

use crate::queues::{place_rx, set_tx_threads, tx_threads};
use cli::{Error, Result};
use graph::{InputMode, Replies, SwIfIndex, ThreadIndex, World};
use msg::retval;
use net::{
    Column, FurtherMacs, IfCounters, Interface, Interfaces, MacUser, MtuKind, Note, RxQueue,
};
use wire::MacAddr;

/// Interfaces whose name holds this text, in whatever case.
pub fn matching(w: &World, part: &str) -> Vec<Interface> {
    let part = part.to_lowercase();
    let mut all = w.get::<Interfaces>().list();
    all.retain(|i| i.name.to_lowercase().contains(&part));
    all
}

/// MTUs of an interface as shown: layer 3, then IPv4, IPv6 and MPLS; 0 follows the one before. A
/// sub-interface without an own MTU, which has its parent's, shows 0.
pub fn mtus(i: &Interface) -> [u16; 4] {
    let [_, l3, ip4, ip6, mpls] = i.mtu.own;
    [if l3 == 0 && i.sub.is_none() { i.mtu_of(MtuKind::L3) } else { l3 }, ip4, ip6, mpls]
}

/// Sets all four of them.
///
/// # Errors
/// An interface that isn't there; an MTU that can't be.
pub fn set_mtus(w: &World, sw_if: SwIfIndex, mtus: [u32; 4]) -> Result<()> {
    let too_large =
        |mtu| Error::parse(format!("an MTU of {mtu} is too large")).retval(retval::INVALID_VALUE);
    let mut new = [0; 4];
    for (new, mtu) in new.iter_mut().zip(mtus) {
        *new = u16::try_from(mtu).map_err(|_| too_large(mtu))?;
    }
    let interfaces = w.get::<Interfaces>();
    for (kind, mtu) in [MtuKind::L3, MtuKind::Ip4, MtuKind::Ip6, MtuKind::Mpls].into_iter().zip(new)
    {
        interfaces.set_mtu(w, sw_if, kind, mtu)?;
    }
    Ok(())
}

/// Sets a user's note, or takes it away.
///
/// # Errors
/// An interface that isn't there; a note without text.
pub fn set_tag(w: &World, sw_if: SwIfIndex, tag: Option<&str>) -> Result<()> {
    if tag == Some("") {
        return Err(Error::parse("a tag isn't empty").retval(retval::INVALID_VALUE));
    }
    w.get::<Column<Note>>().set(w, sw_if, Note(tag.unwrap_or_default().to_string()))
}

/// Adds a further MAC address of an interface for the operator, or removes it.
///
/// # Errors
/// An interface that isn't there (−2) or carries no Ethernet frames (−7); no address of a station
/// (−7); more than 512 addresses (−162); one to be removed that wasn't added (−6).
pub fn set_further_mac(w: &World, sw_if: SwIfIndex, mac: MacAddr, on: bool) -> Result<()> {
    let further = w.get::<FurtherMacs>();
    match on {
        true => further.add(w, sw_if, mac, MacUser::OPERATOR)?,
        false => further.remove(w, sw_if, mac, MacUser::OPERATOR)?,
    }
    w.note_config_change();
    Ok(())
}

/// Starts the counters of an interface, or of all, again at zero. Threads do it at their next turn.
pub fn clear_counters(w: &World, sw_if: Option<SwIfIndex>) -> Replies<()> {
    w.get::<IfCounters>().clear(w, sw_if)
}

/// Starts what drivers count for interfaces, or for all, again at zero.
pub fn clear_device_counters(w: &World, only: &[SwIfIndex]) -> Replies<()> {
    w.get::<IfCounters>().clear_device(w, only)
}

/// The receive queues of all interfaces, or of one, with their interfaces.
pub fn placements(w: &World, only: Option<SwIfIndex>) -> Vec<(Interface, RxQueue)> {
    let mut all = w.get::<Interfaces>().list();
    all.retain(|i| only.is_none_or(|only| only == i.sw_if));
    let queues = |i: &Interface| {
        i.device.rx_queues().into_iter().map(|q| (i.clone(), q)).collect::<Vec<_>>()
    };
    all.iter().flat_map(queues).collect()
}

/// A receive queue of an interface, or all of them.
fn queues(w: &World, sw_if: SwIfIndex, wanted: Option<u32>) -> Result<Vec<u16>> {
    let interface = w.get::<Interfaces>().get(sw_if)?;
    let all = interface.device.rx_queues();
    let found: Vec<u16> = all.iter().map(|q| q.queue).collect();
    let found: Vec<u16> =
        found.into_iter().filter(|q| wanted.is_none_or(|w| w == u32::from(*q))).collect();
    match (found.is_empty(), wanted) {
        (true, Some(queue)) if !all.is_empty() => {
            let error =
                format!("{} has no receive queue {queue}; it has {}", interface.name, all.len());
            Err(Error::not_found(error).retval(retval::INVALID_QUEUE))
        }
        (true, _) => Err(Error::unsupported(format!("{} has no receive queue", interface.name))
            .retval(retval::UNIMPLEMENTED)),
        _ => Ok(found),
    }
}

/// Chooses how a receive queue, or all of an interface, are polled; `None`: as when they were made.
///
/// # Errors
/// An interface or a queue that isn't there; a mode that the device hasn't got.
pub fn set_rx_mode(
    w: &World,
    sw_if: SwIfIndex,
    queue: Option<u32>,
    mode: Option<InputMode>,
) -> Result<()> {
    let mut all = queues(w, sw_if, queue)?.into_iter();
    all.try_for_each(|q| place_rx(w, sw_if, q, |config| config.mode = mode))
}

/// The thread that polls a receive queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poller {
    /// A worker, from 0.
    Worker(u32),
    /// The main thread.
    Main,
    /// The default thread: the first one of the queue.
    First,
}

/// Chooses the thread that polls a receive queue, or all of an interface.
///
/// # Errors
/// An interface, a queue or a worker that isn't there.
pub fn set_rx_placement(
    w: &World,
    sw_if: SwIfIndex,
    queue: Option<u32>,
    poller: Poller,
) -> Result<()> {
    let workers = w.threads() as u32 - 1;
    let thread = match poller {
        Poller::Worker(worker) if worker < workers => Some(ThreadIndex(worker as u16 + 1)),
        Poller::Worker(worker) => {
            let error = format!("there is no worker {worker}; there are {workers}");
            return Err(Error::not_found(error).retval(retval::INVALID_WORKER));
        }
        Poller::Main => Some(ThreadIndex(0)),
        Poller::First => None,
    };
    let mut all = queues(w, sw_if, queue)?.into_iter();
    all.try_for_each(|q| place_rx(w, sw_if, q, |config| config.thread = thread))
}

/// True for a sub-interface, whose packets go by the queues of its parent.
pub fn is_sub(w: &World, sw_if: SwIfIndex) -> bool {
    w.get::<Interfaces>().get(sw_if).is_ok_and(|interface| interface.sub.is_some())
}

/// The threads that send by a transmit queue.
pub fn senders(w: &World, interface: &Interface, queue: u16) -> Vec<u16> {
    let threads = tx_threads(w, interface, queue);
    threads.into_iter().map(|thread| thread.0).collect()
}

/// The transmit queues of all interfaces, or of one, with the threads that send by them.
pub fn tx_placements(w: &World, only: Option<SwIfIndex>) -> Vec<(Interface, u16, Vec<u16>)> {
    let mut all = w.get::<Interfaces>().list();
    all.retain(|i| i.sub.is_none() && only.is_none_or(|only| only == i.sw_if));
    let queues = |i: Interface| {
        let n = i.device.tx_queues();
        let one = |queue| (i.clone(), queue, senders(w, &i, queue));
        (0..n).map(one).collect::<Vec<_>>()
    };
    all.into_iter().flat_map(queues).collect()
}

/// Chooses the threads that send by a transmit queue; `None`: as when it was made.
///
/// # Errors
/// An interface (−2), a queue (−125) or a thread (−7) that isn't there; a device whose queues can't
/// be moved (−9).
pub fn set_tx_placement(
    w: &World,
    sw_if: SwIfIndex,
    queue: u32,
    threads: Option<&[u32]>,
) -> Result<()> {
    // A number that no queue and no thread has.
    let number = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
    let threads: Option<Vec<_>> =
        threads.map(|all| all.iter().map(|t| ThreadIndex(number(*t))).collect());
    set_tx_threads(w, sw_if, number(queue), threads.as_deref())
}
