// SPDX-License-Identifier: Apache-2.0
//! Opens the sockets of a netdev and attaches the program.

use super::program::{Attach, Attached, Program};
use super::shared::Shared;
use super::sys::{self, RingMemory};
use super::tx::{Side, Sides};
use super::{CHUNK, RxQueue};
use buffer::{Lent, Pool};
use mem::PageKind;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

/// The step of [`open`] that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Memory,
    Socket,
    Map,
    Option,
    LoadProgram,
    AttachProgram,
    TooManyQueues,
}

/// The reason why a netdev can't be opened.
#[derive(Debug)]
pub struct StepError {
    pub step: Step,
    pub error: io::Error,
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = &self.error;
        match self.step {
            Step::Memory => write!(f, "the packet buffers can't be registered: {error}"),
            Step::Socket => write!(f, "AF_XDP socket: {error}"),
            Step::Map => write!(f, "map of sockets: {error}"),
            Step::Option => write!(f, "option of an AF_XDP socket: {error}"),
            Step::LoadProgram => write!(f, "XDP program: {error}"),
            Step::AttachProgram if is_taken(error) => f.write_str(
                "the netdev has an XDP program of another owner, which stays: take it off \
                 (`ip link set dev NETDEV xdp off', or end the program that holds it), then try again",
            ),
            Step::AttachProgram => write!(f, "the XDP program can't be attached: {error}"),
            Step::TooManyQueues => f.write_str("the netdev has fewer queues"),
        }
    }
}

/// True if the queue has a socket, or the netdev a program: in this mode, or in the other one.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST))
}

fn at(step: Step) -> impl Fn(io::Error) -> StepError {
    move |error| StepError { step, error }
}

/// The sockets that are wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The netdev.
    pub index: u32,
    /// Receive queues, from 0 up; `None` for as many as there are.
    pub rx: Option<u32>,
    /// Queues of the netdev, as far as they are known.
    pub channels: (Option<u32>, u32),
    /// Transmit queues.
    pub tx: u32,
    pub rx_size: u32,
    pub tx_size: u32,
    /// Zero copy: needed, refused, or if it can be.
    pub zero_copy: Option<bool>,
    pub attach: Option<Attach>,
    /// A pinned program of the operator's.
    pub program: Option<String>,
}

/// Sockets and program of a netdev. Everything in the kernel ends with this value and its queues.
pub struct Opened {
    pub rx: Vec<RxQueue>,
    pub(super) tx: Vec<Arc<Mutex<Side>>>,
    pub sockets: Vec<Arc<Shared>>,
    pub attached: Attached,
    pub zero_copy: bool,
    /// Packets may be chains.
    pub multi_buffer: bool,
    _program: Program,
}

impl Opened {
    /// The mode of the program.
    pub fn mode(&self) -> Attach {
        self.attached.mode
    }

    /// The sending sides.
    pub fn sides(&self) -> Sides {
        Sides::new(self.tx.clone(), self.multi_buffer)
    }

    /// The rest, once the queues are with their threads.
    pub fn without_queues(mut self) -> Self {
        (self.rx, self.tx) = (Vec::new(), Vec::new());
        self
    }
}

struct One {
    shared: Arc<Shared>,
    rx: Option<RxQueue>,
    tx: Option<Side>,
}

/// Opens it, in the network namespace of the calling thread. `idle` is called while a queue is
/// busy: it may close sockets that aren't used any more.
///
/// # Errors
/// The step that failed, and why.
pub fn open(pool: &'static Pool, wanted: &Wanted, idle: &dyn Fn()) -> Result<Opened, StepError> {
    if let (Some(there), Some(rx)) = (wanted.channels.0, wanted.rx)
        && rx > there
    {
        let text = format!("{there} receive queues are there, {rx} are asked for");
        return Err(at(Step::TooManyQueues)(io::Error::new(io::ErrorKind::InvalidInput, text)));
    }
    let rx = wanted.rx.unwrap_or(wanted.channels.0.unwrap_or(u32::MAX));
    let tx = wanted.tx.clamp(1, wanted.channels.1.max(1));
    let mut sockets: Vec<One> = Vec::new();
    let (mut flags, mut multi_buffer) = (flags(pool, wanted)?, false);
    for queue in 0..rx.max(tx) {
        let first = sockets.first().map(|one| one.shared.clone());
        let (one, fd) = make(pool, wanted, first.is_some(), queue < rx, queue < tx)?;
        let bound = if let Some(first) = &first {
            bind(fd.as_fd(), wanted.index, queue, 0, Some(first.as_fd()), idle)
        } else {
            // A kernel before 6.6 doesn't know packets of several buffers.
            flags |= libc::XDP_USE_SG;
            multi_buffer = true;
            bind(fd.as_fd(), wanted.index, queue, flags, None, idle).or_else(|_| {
                flags &= !libc::XDP_USE_SG;
                multi_buffer = false;
                bind(fd.as_fd(), wanted.index, queue, flags, None, idle)
            })
        };
        match bound {
            Ok(()) => {}
            // There are no more.
            Err(_) if wanted.rx.is_none() && queue >= tx => break,
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && queue > 0 => {
                return Err(at(Step::TooManyQueues)(error));
            }
            Err(error) => return Err(at(Step::Socket)(error)),
        }
        sockets.push(one);
    }
    let zero_copy = match sockets.first() {
        Some(one) => sys::is_zero_copy(one.shared.as_fd()).unwrap_or(false),
        None => false,
    };
    let program = match &wanted.program {
        Some(path) => Program::pinned(path).map_err(at(Step::LoadProgram))?,
        None => Program::own(sockets.len() as u32).map_err(at(Step::LoadProgram))?,
    };
    for (queue, one) in (0..).zip(&sockets) {
        if one.rx.is_some() {
            program.set(queue, one.shared.as_fd()).map_err(at(Step::Map))?;
        }
    }
    let attached = while_busy(idle, || program.attach(wanted.index, wanted.attach))
        .map_err(at(Step::AttachProgram))?;
    let mut opened = Opened {
        rx: Vec::new(),
        tx: Vec::new(),
        sockets: Vec::new(),
        attached,
        zero_copy,
        multi_buffer,
        _program: program,
    };
    for One { shared, rx, tx } in sockets {
        opened.rx.extend(rx);
        opened.tx.extend(tx.map(|mut tx| {
            tx.set_multi_buffer(multi_buffer);
            Arc::new(Mutex::new(tx))
        }));
        opened.sockets.push(shared);
    }
    Ok(opened)
}

/// Flags of the first socket. Zero copy needs buffers that lie in one piece for the device: a slot
/// crosses pages, so the pages have to be huge ones.
fn flags(pool: &Pool, wanted: &Wanted) -> Result<u16, StepError> {
    let huge = pool.region().page_kind() == PageKind::Huge;
    let copy = match wanted.zero_copy {
        Some(true) if !huge => {
            let text = format!(
                "zero copy needs packet buffers on 2M hugetlb pages, they are on {}: reserve pages \
                 (vm.nr_hugepages) before the start",
                pool.region().page_kind()
            );
            return Err(at(Step::Memory)(io::Error::new(io::ErrorKind::Unsupported, text)));
        }
        Some(true) => libc::XDP_ZEROCOPY,
        None if huge => 0,
        None | Some(false) => libc::XDP_COPY,
    };
    Ok(copy | libc::XDP_USE_NEED_WAKEUP)
}

/// A socket with its rings, not bound.
fn make(
    pool: &'static Pool,
    wanted: &Wanted,
    shares: bool,
    receives: bool,
    sends: bool,
) -> Result<(One, Arc<Shared>), StepError> {
    let (rx_size, tx_size) = (wanted.rx_size, wanted.tx_size);
    let fd = sys::xdp_socket().map_err(at(Step::Socket))?;
    let shared = Arc::new(Shared::new(fd));
    let fd = shared.as_fd();
    if !shares {
        sys::register(fd, pool.region(), CHUNK as u32).map_err(at(Step::Memory))?;
    }
    let option = at(Step::Option);
    // The kernel wants both of the memory's rings, for a socket of one direction as well.
    sys::set_ring(fd, libc::XDP_UMEM_FILL_RING, rx_size).map_err(&option)?;
    sys::set_ring(fd, libc::XDP_UMEM_COMPLETION_RING, tx_size).map_err(&option)?;
    if receives {
        sys::set_ring(fd, libc::XDP_RX_RING, rx_size).map_err(&option)?;
    }
    if sends {
        sys::set_ring(fd, libc::XDP_TX_RING, tx_size).map_err(&option)?;
        // Fewer system calls, where it can be set.
        let _ = sys::set_budget(fd, tx_size);
    }
    let places = sys::offsets(fd).map_err(&option)?;
    let rx = if receives {
        let rx =
            RingMemory::map(fd, libc::XDP_PGOFF_RX_RING, &places.rx, rx_size).map_err(&option)?;
        let page = libc::XDP_UMEM_PGOFF_FILL_RING as i64;
        let fill = RingMemory::map(fd, page, &places.fr, rx_size).map_err(&option)?;
        Some(RxQueue::new(shared.clone(), rx, fill, Lent::new(pool)))
    } else {
        None
    };
    let tx = if sends {
        let tx =
            RingMemory::map(fd, libc::XDP_PGOFF_TX_RING, &places.tx, tx_size).map_err(&option)?;
        let page = libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64;
        let done = RingMemory::map(fd, page, &places.cr, tx_size).map_err(&option)?;
        Some(Side::new(shared.clone(), tx, done, Lent::new(pool)))
    } else {
        None
    };
    let again = shared.clone();
    Ok((One { shared, rx, tx }, again))
}

/// Binds.
fn bind(
    fd: BorrowedFd<'_>,
    index: u32,
    queue: u32,
    flags: u16,
    first: Option<BorrowedFd<'_>>,
    idle: &dyn Fn(),
) -> io::Result<()> {
    while_busy(idle, || sys::bind(fd, index, queue, flags, first))
}

/// Tries again for a while: queues and programs that were just given up are busy until they are
/// closed.
fn while_busy<T>(idle: &dyn Fn(), f: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let mut tries = 0;
    loop {
        match f() {
            Err(error) if is_taken(&error) && tries < 50 => {
                tries += 1;
                idle();
                sleep(Duration::from_millis(4));
            }
            result => return result,
        }
    }
}
