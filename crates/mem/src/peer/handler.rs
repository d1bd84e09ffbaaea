// SPDX-License-Identifier: Apache-2.0
//! The handler of SIGBUS.
//!
//! It runs on the thread that has touched memory which its file no longer has. It takes no lock,
//! allocates nothing, and calls only functions that a handler may call (signal-safety(7)).
//!
//! **Mappings that go away meanwhile.** A thread faults in a mapping only while it borrows from the
//! guard of that mapping, and it goes on borrowing until the handler has returned: so the mapping
//! that the fault is in can't be unmapped, and its addresses can't become somebody else's, while
//! the handler replaces it. Other entries may come and go: an entry that changes while it is read
//! is skipped, since it can't be the one with the fault. A guard is taken out of the registry
//! before it unmaps, so an entry never has addresses that the kernel may already have given away.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

use rustix::mm::{self, MapFlags, MremapFlags, ProtFlags};

use super::registry::{Entry, Registry, Slot};

/// Mappings at most: those of 2048 guests with 8 regions each. A slot that isn't used takes
/// addresses only.
const SLOTS: usize = 16_384;

static ALL: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];

/// The mappings that the handler looks at.
pub static REGISTRY: Registry = Registry::new(&ALL);

/// The action that was set before the handler.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once in a process.
///
/// # Errors
/// Of sigaction(2).
pub fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let result = INSTALLED.get_or_init(|| {
        let set = || {
            // The old action has to be known when the handler runs for the first time.
            let before = action(None)?;
            let _ = BEFORE.set(before);
            let mut new = before;
            new.sa_sigaction = on_bus as *const () as usize;
            // Threads have stacks for signals, which others may need (stack overflow).
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            action(Some(&new)).map(|_| ())
        };
        set().map_err(|error| error.raw_os_error().unwrap_or(0))
    });
    result.map_err(io::Error::from_raw_os_error)
}

/// Sets the action of SIGBUS; returns the one that was set before.
fn action(new: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let mut old = MaybeUninit::uninit();
    // SAFETY: both are valid for the call, or null; the handler that may be set keeps to what a
    // handler may do.
    match unsafe {
        libc::sigaction(libc::SIGBUS, new.map_or(ptr::null(), ptr::from_ref), old.as_mut_ptr())
    } {
        // SAFETY: the call has succeeded and filled it in.
        0 => Ok(unsafe { old.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A fault of a page without memory behind it (BUS_ADRERR), or whose memory is defective
/// (BUS_MCEERR_AR).
const FAULTS: [c_int; 2] = [2, 4];

extern "C" fn on_bus(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the place of this thread's errno, which the interrupted code may be about to read.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: it is valid as long as the thread runs.
    let before = unsafe { errno.read() };
    // SAFETY: the kernel gives a handler with SA_SIGINFO a valid description.
    let code = unsafe { (*info).si_code };
    // Only a fault of this thread has such a code: other processes can't send one.
    let is_mended = FAULTS.contains(&code) && {
        // SAFETY: as above; these codes have an address.
        let address = unsafe { (*info).si_addr() }.addr();
        mend(&REGISTRY, address)
    };
    if !is_mended {
        pass_on(signal, code, info, context);
    }
    // SAFETY: as above.
    unsafe { errno.write(before) };
}

/// Replaces the mapping that has this address with zeros. False if there is none, or no memory.
fn mend(registry: &Registry, address: usize) -> bool {
    let Some((index, entry)) = registry.find(address) else { return false };
    // Before there are zeros to read.
    registry.mark_broken(index);
    let Entry { start, len, page, wake } = entry;
    // The whole of it: the next page would fault as well. A system that counts memory before it is
    // used may have none for so much; a page is enough to go on.
    // SAFETY: `entry` is the mapping with the fault, which stays as the head of this file says.
    let is_mended = unsafe { zero(start, len) || zero(address - (address - start) % page, page) };
    if is_mended && wake >= 0 {
        // SAFETY: the guard, which stays as well, keeps it open.
        let wake = unsafe { BorrowedFd::borrow_raw(wake) };
        // A counter that is full wakes as well.
        let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
    }
    is_mended
}

/// Puts private zeros at these addresses, in one step for other threads.
///
/// They are made elsewhere and moved: mmap(2) that fails at a fixed address may have unmapped what
/// was there, and left the addresses to others.
///
/// # Safety
/// The range is of whole pages of one mapping, or all of it, which stays mapped and holds nothing
/// but bytes that may change at any time.
unsafe fn zero(start: usize, len: usize) -> bool {
    let (prot, flags) =
        (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
    // SAFETY: a new mapping at an address that the kernel chooses.
    let Ok(zeros) = (unsafe { mm::mmap_anonymous(ptr::null_mut(), len, prot, flags) }) else {
        return false;
    };
    let to = ptr::without_provenance_mut(start);
    // SAFETY: the source was made above and nobody knows of it; of the target, see the caller.
    let moved = unsafe { mm::mremap_fixed(zeros, len, len, MremapFlags::MAYMOVE, to) };
    if moved.is_err() {
        // SAFETY: the new mapping, which was not moved.
        let _ = unsafe { mm::munmap(zeros, len) };
    }
    moved.is_ok()
}

/// Does what would have been done without the handler.
fn pass_on(signal: c_int, code: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let before = BEFORE.get().map_or((libc::SIG_DFL, 0), |b| (b.sa_sigaction, b.sa_flags));
    // The kernel sends faults with positive codes, and ends a process that ignores them.
    let is_fault = code > 0;
    match before {
        (libc::SIG_IGN, _) if !is_fault => {}
        (libc::SIG_DFL | libc::SIG_IGN, _) => {
            // SAFETY: sets the default action, which takes no handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            // The access faults again behind the handler; a signal that was sent doesn't.
            if !is_fault {
                // SAFETY: it is blocked until the handler returns.
                unsafe { libc::raise(signal) };
            }
        }
        (handler, flags) if flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: with this flag the action is a function of this type.
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { core::mem::transmute(handler) };
            handler(signal, info, context);
        }
        (handler, _) => {
            // SAFETY: without the flag it is a function of this type.
            let handler: extern "C" fn(c_int) = unsafe { core::mem::transmute(handler) };
            handler(signal);
        }
    }
}
