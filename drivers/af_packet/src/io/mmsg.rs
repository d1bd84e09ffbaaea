// SPDX-License-Identifier: Apache-2.0
//! Many frames by one system call, straight from the memory in which they lie.
//!
//! A transmit ring would copy every frame once more: on virtual interfaces the kernel has to copy
//! frames out of the ring anyway. Measured over veth, sendmmsg(2) is on a par at 64 and 1,500
//! bytes, and twice as fast at 60,000.

use std::{
    io, iter,
    marker::PhantomData,
    ops::Range,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use libc::{iovec, mmsghdr, sockaddr_ll};
use rustix::io::Errno;
use wire::offload::VNET_HDR_LEN;

/// Frames of one system call.
pub const BATCH: usize = 256;

/// The descriptions of frames that wait to be sent.
pub struct Messages {
    messages: Box<[mmsghdr; BATCH]>,
    vnet: Box<[[u8; VNET_HDR_LEN]; BATCH]>,
    /// The pieces of all frames, one frame after the other.
    pieces: Vec<iovec>,
    /// Where the pieces of frame `i` begin, and of frame `i + 1`.
    starts: Box<[u32; BATCH + 1]>,
    /// Where frames without a link layer header go: `[IPv4, IPv6]`.
    addresses: Option<Box<[sockaddr_ll; 2]>>,
    len: usize,
}

// SAFETY: the pointers inside are to what the struct owns, or (the pieces) to frames that are
// borrowed, by `Batch`, for as long as they are there.
unsafe impl Send for Messages {}

impl Messages {
    pub fn new(addresses: Option<[sockaddr_ll; 2]>) -> Self {
        // SAFETY: all zero is a valid mmsghdr: no address, no pieces, no control data.
        let empty: mmsghdr = unsafe { std::mem::zeroed() };
        Self {
            messages: Box::new([empty; BATCH]),
            vnet: Box::new([[0; VNET_HDR_LEN]; BATCH]),
            // 64 KiB in buffers of 2 KiB, and the header: never grows in practice
            pieces: Vec::with_capacity(BATCH * 36),
            starts: Box::new([0; BATCH + 1]),
            addresses: addresses.map(Box::new),
            len: 0,
        }
    }
}

/// Frames of lifetime `'d` that wait to be sent.
pub struct Batch<'q, 'd> {
    fd: &'q OwnedFd,
    queue: &'q mut Messages,
    frames: PhantomData<&'d [u8]>,
}

impl<'q, 'd> Batch<'q, 'd> {
    pub fn new(fd: &'q OwnedFd, queue: &'q mut Messages) -> Self {
        queue.len = 0;
        queue.pieces.clear();
        Self { fd, queue, frames: PhantomData }
    }

    /// No frame can be added.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.queue.len == BATCH
    }

    /// Adds a frame. The batch must not be full.
    #[inline(always)]
    pub fn push(&mut self, vnet: [u8; VNET_HDR_LEN], parts: impl IntoIterator<Item = &'d [u8]>) {
        let Messages { messages, vnet: headers, pieces, starts, addresses, len } = &mut *self.queue;
        let header = &mut headers[*len];
        *header = vnet;
        pieces.push(iovec { iov_base: header.as_mut_ptr().cast(), iov_len: VNET_HDR_LEN });
        let mut first = None;
        for part in parts {
            first = first.or(part.first());
            pieces.push(iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
        }
        if let Some(addresses) = addresses {
            let six = first.is_some_and(|byte| byte >> 4 == 6);
            let message = &mut messages[*len].msg_hdr;
            message.msg_name = (&raw mut addresses[usize::from(six)]).cast();
            message.msg_namelen = size_of::<sockaddr_ll>() as u32;
        }
        *len += 1;
        starts[*len] = pieces.len() as u32;
    }

    /// Sends the frames of the batch, which is empty afterwards. `failed` gets the errors, and
    /// which frames each has cost, by their numbers in the batch. It never waits: frames for
    /// which the socket has no room fail with EAGAIN.
    pub fn send(&mut self, mut failed: impl FnMut(Errno, Range<usize>)) {
        let count = self.queue.len;
        let pieces = self.queue.pieces.as_mut_ptr();
        for (message, range) in
            iter::zip(&mut self.queue.messages[..], self.queue.starts.windows(2)).take(count)
        {
            // SAFETY: the offset lies inside the vector, which doesn't change before the call
            // below.
            message.msg_hdr.msg_iov = unsafe { pieces.add(range[0] as usize) };
            message.msg_hdr.msg_iovlen = (range[1] - range[0]) as usize;
        }
        let mut done = 0;
        while done < count {
            let rest = &mut self.queue.messages[done..count];
            // SAFETY: every message points to pieces, headers and addresses that `queue` owns, and
            // the pieces to frames that live for `'d`; the kernel reads them until it
            // returns, and writes only `msg_len`.
            let sent = unsafe {
                libc::sendmmsg(
                    self.fd.as_fd().as_raw_fd(),
                    rest.as_mut_ptr(),
                    rest.len() as u32,
                    libc::MSG_DONTWAIT,
                )
            };
            if let Ok(sent) = usize::try_from(sent) {
                done += sent.max(1);
                continue;
            }
            // It is about the first of the rest, or about the socket.
            let lost = match last_error() {
                Errno::INTR => continue,
                error @ (Errno::AGAIN | Errno::NETDOWN | Errno::NXIO | Errno::NODEV) => {
                    (error, count - done)
                }
                error => (error, 1),
            };
            failed(lost.0, done..done + lost.1);
            done += lost.1;
        }
        self.queue.len = 0;
        self.queue.pieces.clear();
    }
}

impl Drop for Batch<'_, '_> {
    fn drop(&mut self) {
        // no pointer to a frame outlives the borrow
        self.queue.len = 0;
        self.queue.pieces.clear();
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}
