// SPDX-License-Identifier: Apache-2.0
//! The system calls of AF_XDP sockets and of bpf(2), and the memory of rings that the kernel
//! shares: all `unsafe` code of the driver.

use std::ffi::CString;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, c_void, socklen_t};
use wire::MacAddr;

/// A descriptor of a receive or transmit ring, as `xdp_desc`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Desc {
    /// Offset in the region; with unaligned chunks the upper 16 bits are added to the rest.
    pub addr: u64,
    /// Bytes.
    pub len: u32,
    /// `XDP_PKT_CONTD`: another descriptor of the packet follows.
    pub options: u32,
}

/// Types that system calls fill in.
///
/// # Safety
/// Every bit pattern is a valid value.
unsafe trait Plain: Copy {}
// SAFETY: integers.
unsafe impl Plain for libc::xdp_mmap_offsets {}
// SAFETY: integers.
unsafe impl Plain for libc::xdp_statistics {}
// SAFETY: an integer.
unsafe impl Plain for libc::xdp_options {}

/// Returns the error that a result below 0 reports.
fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(result: c_int) -> io::Result<OwnedFd> {
    let fd = check(result)?;
    // SAFETY: a new descriptor that nobody else knows.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn socket(family: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    owned(unsafe { libc::socket(family, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })
}

/// An AF_XDP socket in the network namespace of the calling thread.
pub fn xdp_socket() -> io::Result<OwnedFd> {
    socket(libc::AF_XDP)
}

fn set<T>(fd: BorrowedFd<'_>, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let (at, len) = ((&raw const *value).cast::<c_void>(), size_of::<T>() as socklen_t);
    // SAFETY: the kernel only reads, and no more than the value.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, at, len) }).map(drop)
}

fn get<T: Plain>(fd: BorrowedFd<'_>, option: c_int, mut value: T) -> io::Result<T> {
    let mut len = size_of::<T>() as socklen_t;
    let at = (&raw mut value).cast::<c_void>();
    // SAFETY: the kernel writes at most `len` bytes to `value`, and whatever it writes is valid for
    // a `Plain` type.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), libc::SOL_XDP, option, at, &raw mut len) })?;
    Ok(value)
}

/// Registers the region as the memory of packets. The kernel pins its pages, and writes to a buffer
/// of it only while its address is in the fill ring.
pub fn register(fd: BorrowedFd<'_>, region: &mem::Region, chunk: u32) -> io::Result<()> {
    let umem = libc::xdp_umem_reg {
        addr: region.base().addr().get() as u64,
        len: region.len() as u64,
        chunk_size: chunk,
        headroom: 0,
        flags: libc::XDP_UMEM_UNALIGNED_CHUNK_FLAG,
        tx_metadata_len: 0,
    };
    set(fd, libc::SOL_XDP, libc::XDP_UMEM_REG, &umem)
}

/// Sets the size of a ring.
pub fn set_ring(fd: BorrowedFd<'_>, option: c_int, size: u32) -> io::Result<()> {
    set(fd, libc::SOL_XDP, option, &size)
}

/// Lets one system call send so many frames, where the kernel has that option (Linux 6.17).
pub fn set_budget(fd: BorrowedFd<'_>, frames: u32) -> io::Result<()> {
    const XDP_MAX_TX_SKB_BUDGET: c_int = 9;
    set(fd, libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &frames)
}

/// Binds the socket to a queue of a device. With `shared` it uses the memory of that socket, and
/// has its flags.
pub fn bind(
    fd: BorrowedFd<'_>,
    index: u32,
    queue: u32,
    flags: u16,
    shared: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: if shared.is_some() { libc::XDP_SHARED_UMEM } else { flags },
        sxdp_ifindex: index,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: shared.map_or(0, |fd| fd.as_raw_fd() as u32),
    };
    let len = size_of::<libc::sockaddr_xdp>() as socklen_t;
    // SAFETY: the address lives for the call and has the length that is given.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) }).map(drop)
}

/// Counts of a socket since it was made.
pub fn statistics(fd: BorrowedFd<'_>) -> io::Result<libc::xdp_statistics> {
    let zero = libc::xdp_statistics {
        rx_dropped: 0,
        rx_invalid_descs: 0,
        tx_invalid_descs: 0,
        rx_ring_full: 0,
        rx_fill_ring_empty_descs: 0,
        tx_ring_empty_descs: 0,
    };
    get(fd, libc::XDP_STATISTICS, zero)
}

/// True if the device reads and writes the buffers itself.
pub fn is_zero_copy(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let options = get(fd, libc::XDP_OPTIONS, libc::xdp_options { flags: 0 })?;
    Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
}

/// Lets the kernel send what is in the transmit ring. Never waits.
pub fn kick(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no memory is involved.
    let sent = unsafe {
        let (no_bytes, no_address) = (std::ptr::null(), std::ptr::null());
        libc::sendto(fd.as_raw_fd(), no_bytes, 0, libc::MSG_DONTWAIT, no_address, 0)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Lets the device look at the fill ring. Never waits.
pub fn wake(fd: BorrowedFd<'_>) {
    // SAFETY: no memory is involved.
    unsafe {
        let no_address = std::ptr::null_mut();
        // A device that is down says so; it is asked again with the next packets.
        libc::recvfrom(
            fd.as_raw_fd(),
            std::ptr::null_mut(),
            0,
            libc::MSG_DONTWAIT,
            no_address,
            std::ptr::null_mut(),
        );
    }
}

/// A socket that keeps addresses in the filter of a netdev; the kernel takes them out when it is
/// closed, however that happens.
pub fn packet_socket() -> io::Result<OwnedFd> {
    socket(libc::AF_PACKET)
}

/// Adds or drops an address, all groups, or all frames, in the filter of netdev `index`.
pub fn membership(
    fd: BorrowedFd<'_>,
    index: u32,
    kind: c_int,
    mac: MacAddr,
    add: bool,
) -> io::Result<()> {
    let mut address = [0; 8];
    address[..6].copy_from_slice(&mac.octets());
    let request = libc::packet_mreq {
        mr_ifindex: index as c_int,
        mr_type: kind as u16,
        mr_alen: 6,
        mr_address: address,
    };
    let option = if add { libc::PACKET_ADD_MEMBERSHIP } else { libc::PACKET_DROP_MEMBERSHIP };
    set(fd, libc::SOL_PACKET, option, &request)
}

// -- bpf(2)

/// The union `bpf_attr`, as bytes: each command has fields of its own at its start.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Attr([u8; 144]);

impl Attr {
    const ZERO: Self = Self([0; 144]);

    /// Sets the four bytes at `at`.
    fn u32(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    /// Sets the four bytes at `at` to a descriptor.
    fn fd(self, at: usize, fd: BorrowedFd<'_>) -> Self {
        self.u32(at, fd.as_raw_fd() as u32)
    }

    /// Sets a name of up to 15 bytes.
    fn name(mut self, at: usize, name: &str) -> Self {
        let n = name.len().min(15);
        self.0[at..at + n].copy_from_slice(&name.as_bytes()[..n]);
        self
    }

    fn pointer<T: ?Sized>(mut self, at: usize, value: *const T) -> Self {
        let address = value.cast::<u8>().expose_provenance() as u64;
        self.0[at..at + 8].copy_from_slice(&address.to_ne_bytes());
        self
    }
}

/// # Safety
/// Pointers in `attr` are those that the command asks for: to memory of the size that it reads or
/// writes, for the time of the call.
unsafe fn bpf(command: c_int, mut attr: Attr) -> io::Result<c_int> {
    // SAFETY: as the caller says; `attr` has the size that is given.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut attr.0, size_of::<Attr>()) };
    check(result as c_int)
}

const MAP_CREATE: c_int = 0;
const MAP_UPDATE: c_int = 2;
const PROG_LOAD: c_int = 5;
const OBJ_GET: c_int = 7;
const MAP_BY_ID: c_int = 14;
const INFO_BY_FD: c_int = 15;
const LINK_CREATE: c_int = 28;
/// Values of linux/bpf.h.
pub const MAP_TYPE_XSKMAP: u32 = 17;
pub const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;

/// A map of sockets, for so many queues.
pub fn map_create(queues: u32, name: &str) -> io::Result<OwnedFd> {
    let attr = Attr::ZERO.u32(0, MAP_TYPE_XSKMAP).u32(4, 4).u32(8, 4).u32(12, queues);
    // SAFETY: the command has no pointers.
    owned(unsafe { bpf(MAP_CREATE, attr.name(28, name)) }?)
}

/// Attaches an XDP program to a netdev until the descriptor is closed.
pub fn link_create(program: BorrowedFd<'_>, index: u32, flags: u32) -> io::Result<OwnedFd> {
    let attr = Attr::ZERO.fd(0, program).u32(4, index).u32(8, ATTACH_XDP).u32(12, flags);
    // SAFETY: for an XDP program the command has no pointers.
    owned(unsafe { bpf(LINK_CREATE, attr) }?)
}

/// Sets the socket of a queue in a map of sockets.
pub fn map_set(map: BorrowedFd<'_>, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    let (key, value) = (queue, socket.as_raw_fd() as u32);
    let attr = Attr::ZERO.fd(0, map).pointer(8, &raw const key).pointer(16, &raw const value);
    // SAFETY: key and value of such a map have four bytes each, and live for the call. Callers have
    // made the map or have seen its type.
    unsafe { bpf(MAP_UPDATE, attr) }.map(drop)
}

/// Loads an XDP program.
pub fn prog_load(
    instructions: &[[u8; 8]],
    license: &str,
    name: &str,
    flags: u32,
) -> io::Result<OwnedFd> {
    let license = CString::new(license)?;
    let attr = Attr::ZERO.u32(0, PROG_TYPE_XDP).u32(4, instructions.len() as u32);
    let attr = attr.pointer(8, instructions.as_ptr()).pointer(16, license.as_ptr());
    let attr = attr.u32(44, flags).name(48, name).u32(68, ATTACH_XDP);
    // SAFETY: the kernel reads as many instructions as is said, and the license to its 0; both live
    // for the call.
    owned(unsafe { bpf(PROG_LOAD, attr) }?)
}

/// A program that is pinned in a BPF file system.
pub fn pinned(path: &str) -> io::Result<OwnedFd> {
    let path = CString::new(path)?;
    // SAFETY: the kernel reads the path to its 0.
    owned(unsafe { bpf(OBJ_GET, Attr::ZERO.pointer(0, path.as_ptr())) }?)
}

/// The map with this id.
pub fn map_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: the command has no pointers.
    owned(unsafe { bpf(MAP_BY_ID, Attr::ZERO.u32(0, id)) }?)
}

/// The first bytes of the description of a program or map.
pub fn info(fd: BorrowedFd<'_>) -> io::Result<[u8; 128]> {
    let mut bytes = [0; 128];
    let attr = Attr::ZERO.fd(0, fd).u32(4, bytes.len() as u32).pointer(8, &raw mut bytes);
    // SAFETY: the kernel writes at most as many bytes as is said. Fields that make it write to
    // other memory (lists of maps) are 0.
    unsafe { bpf(INFO_BY_FD, attr) }?;
    Ok(bytes)
}

/// The ids of the maps that a program uses, at most 64.
pub fn map_ids(program: BorrowedFd<'_>) -> io::Result<Vec<u32>> {
    // Of `nr_map_ids` and `map_ids` in `bpf_prog_info`.
    const COUNT: usize = 52;
    const IDS: usize = 56;
    let (mut ids, mut bytes) = ([0u32; 64], [0u8; 128]);
    bytes[COUNT..COUNT + 4].copy_from_slice(&(ids.len() as u32).to_ne_bytes());
    let at = (&raw mut ids).expose_provenance() as u64;
    bytes[IDS..IDS + 8].copy_from_slice(&at.to_ne_bytes());
    let attr = Attr::ZERO.fd(0, program).u32(4, bytes.len() as u32).pointer(8, &raw mut bytes);
    // SAFETY: the kernel writes as many bytes and as many ids as is said; both live for the call.
    unsafe { bpf(INFO_BY_FD, attr) }?;
    let count = u32::from_ne_bytes([bytes[52], bytes[53], bytes[54], bytes[55]]) as usize;
    Ok(ids[..count.min(ids.len())].to_vec())
}

// -- rings

struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread; `RingMemory` accesses it by atomics
// and volatile copies only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(fd: Option<BorrowedFd<'_>>, len: usize, offset: i64) -> io::Result<Self> {
        let (prot, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        let (flags, fd) = match fd {
            Some(fd) => (shared | libc::MAP_POPULATE, fd.as_raw_fd()),
            None => (shared | libc::MAP_ANONYMOUS, -1),
        };
        // SAFETY: the kernel chooses the address, so no other memory is touched.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, fd, offset) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and its users hold it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// The memory of one ring. The other side changes it at any time: words are atomics, entries are
/// copied, and no reference to an entry is made.
pub struct RingMemory<T> {
    map: Arc<Mapping>,
    producer: usize,
    consumer: usize,
    flags: usize,
    entries: usize,
    size: u32,
    entry: PhantomData<T>,
}

impl<T: Entry> RingMemory<T> {
    fn checked(
        map: Mapping,
        [producer, consumer, flags, entries]: [u64; 4],
        size: u32,
    ) -> io::Result<Self> {
        let word = |at: u64| at.is_multiple_of(4) && at.saturating_add(4) <= map.len as u64;
        let end = entries.checked_add(u64::from(size) * size_of::<T>() as u64);
        let whole = entries.is_multiple_of(8) && end.is_some_and(|end| end <= map.len as u64);
        if !size.is_power_of_two() || ![producer, consumer, flags].into_iter().all(word) || !whole {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the kernel describes a ring that doesn't fit its memory",
            ));
        }
        let [producer, consumer, flags, entries] =
            [producer, consumer, flags, entries].map(|at| at as usize);
        let (map, entry) = (Arc::new(map), PhantomData);
        Ok(Self { map, producer, consumer, flags, entries, size, entry })
    }

    /// Maps a ring of a socket.
    pub fn map(
        fd: BorrowedFd<'_>,
        page: i64,
        at: &libc::xdp_ring_offset,
        size: u32,
    ) -> io::Result<Self> {
        let len = at.desc as usize + size as usize * size_of::<T>();
        let map = Mapping::new(Some(fd), len, page)?;
        Self::checked(map, [at.producer, at.consumer, at.flags, at.desc], size)
    }

    /// A ring without a socket.
    #[cfg(feature = "tests")]
    pub fn anonymous(size: u32) -> Self {
        let map = Mapping::new(None, 192 + size as usize * size_of::<T>(), 0).expect("memory");
        Self::checked(map, [0, 64, 128, 192], size).expect("it fits")
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `checked` has found the word aligned and inside of the mapping, which `self`
        // keeps; it is accessed by atomics only.
        unsafe { AtomicU32::from_ptr(self.map.base.as_ptr().add(at).cast()) }
    }

    fn entry(&self, index: u32) -> *mut T {
        let at = (index & (self.size - 1)) as usize * size_of::<T>();
        // SAFETY: inside of the mapping: `checked` has found room for `size` entries.
        unsafe { self.map.base.as_ptr().add(self.entries + at).cast() }
    }

    /// The entry with this index, whatever it holds.
    #[inline(always)]
    pub fn load(&self, index: u32) -> T {
        // SAFETY: `entry` is inside of the mapping, and aligned to 8 bytes, which is enough for
        // each `Entry`; every bit pattern is valid.
        unsafe { self.entry(index).read_volatile() }
    }

    /// Writes an entry.
    #[inline(always)]
    pub fn store(&self, index: u32, value: T) {
        // SAFETY: as above.
        unsafe { self.entry(index).write_volatile(value) }
    }

    /// Number of entries.
    pub fn size(&self) -> u32 {
        self.size
    }

    #[inline(always)]
    pub fn producer(&self) -> u32 {
        self.word(self.producer).load(Ordering::Acquire)
    }

    #[inline(always)]
    pub fn consumer(&self) -> u32 {
        self.word(self.consumer).load(Ordering::Acquire)
    }

    #[inline(always)]
    pub fn set_producer(&self, to: u32) {
        self.word(self.producer).store(to, Ordering::Release);
    }

    #[inline(always)]
    pub fn set_consumer(&self, to: u32) {
        self.word(self.consumer).store(to, Ordering::Release);
    }

    /// True if the kernel asks for a system call ([`kick`], [`wake`]).
    #[inline(always)]
    pub fn needs_wakeup(&self) -> bool {
        self.word(self.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

impl<T> Clone for RingMemory<T> {
    fn clone(&self) -> Self {
        Self { map: self.map.clone(), ..*self }
    }
}

/// Entries of a ring.
///
/// # Safety
/// Every bit pattern is a valid value, there is no padding, and 8 bytes are alignment enough.
pub unsafe trait Entry: Copy {}
// SAFETY: an integer.
unsafe impl Entry for u64 {}
// SAFETY: integers whose sizes leave no gap: 8, 4, 4.
unsafe impl Entry for Desc {}

/// Writes bytes as the kernel does: not by this program's own instructions, so AddressSanitizer
/// takes no write of a simulated kernel for one of the driver.
#[cfg(feature = "tests")]
pub fn poke(region: &mem::Region, at: usize, bytes: &[u8]) {
    let written = rustix::io::pwrite(region, bytes, at as u64);
    assert_eq!(written, Ok(bytes.len()));
}

/// Reads bytes as the kernel does.
#[cfg(feature = "tests")]
pub fn peek(region: &mem::Region, at: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    assert_eq!(rustix::io::pread(region, &mut bytes[..], at as u64), Ok(len));
    bytes
}

/// Pins a program or map.
#[cfg(feature = "tests")]
pub fn pin(fd: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    const OBJ_PIN: c_int = 6;
    let path = CString::new(path)?;
    // SAFETY: the kernel reads the path to its 0.
    unsafe { bpf(OBJ_PIN, Attr::ZERO.pointer(0, path.as_ptr()).fd(8, fd)) }.map(drop)
}

/// The places of a socket's rings in its file.
pub fn offsets(fd: BorrowedFd<'_>) -> io::Result<libc::xdp_mmap_offsets> {
    let zero = libc::xdp_ring_offset { producer: 0, consumer: 0, desc: 0, flags: 0 };
    let zero = libc::xdp_mmap_offsets { rx: zero, tx: zero, fr: zero, cr: zero };
    get(fd, libc::XDP_MMAP_OFFSETS, zero)
}
