// SPDX-License-Identifier: Apache-2.0
//! Receive rings: memory that the kernel fills with frames and that this process reads
//! (Documentation/networking/packet_mmap.rst).
//!
//! Version 2 hands over frame by frame, in slots of one size: a frame can be read as soon as it is
//! there. Version 3 packs frames into blocks and hands over a block when it is full or a timer of
//! at least 1 ms has run out.

use std::{
    io,
    os::fd::BorrowedFd,
    ptr::NonNull,
    slice,
    sync::atomic::{AtomicU32, Ordering},
};

use libc::{TP_STATUS_KERNEL, TP_STATUS_USER, tpacket_block_desc, tpacket2_hdr, tpacket3_hdr};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use wire::offload::VNET_HDR_LEN;

use super::sys;

/// Shape of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Bytes of a block, a multiple of the page size.
    pub block: u32,
    /// Blocks.
    pub blocks: u32,
    /// Bytes of a slot of version 2, a multiple of 16, at most a block.
    pub slot: u32,
}

/// One received frame, or its beginning.
#[derive(Clone, Copy)]
pub struct Slot<'a> {
    /// `TP_STATUS_*`.
    pub status: u32,
    /// Length of the frame.
    pub len: u32,
    /// The frame, as much of it as was written.
    pub data: &'a [u8],
    /// The `virtio_net_hdr` of the frame.
    pub vnet: [u8; VNET_HDR_LEN],
    /// Tag that was taken out of the frame, if the status says so.
    pub vlan_tci: u16,
    /// Tag protocol, if the status says so.
    pub vlan_tpid: u16,
    /// Sent by this host rather than to it.
    pub outgoing: bool,
}

/// A shared mapping of a socket's ring.
struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is unmapped once.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(fd: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the kernel chooses the place, so no other memory is touched.
        let base = unsafe {
            mmap(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, flags, fd, 0)
        }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this mapping was made with this length, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// A receive ring of either version.
pub enum Ring {
    /// Frame by frame.
    V2(SlotRing),
    /// Block by block.
    V3(BlockRing),
}

impl Ring {
    /// Gives the socket a ring of version 2. It must not be bound yet.
    pub fn v2(fd: BorrowedFd<'_>, geometry: Geometry) -> io::Result<Self> {
        let Geometry { block, blocks, slot } = geometry;
        sys::set(fd, libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as i32)?;
        let per_block = block / slot;
        let request = libc::tpacket_req {
            tp_block_size: block,
            tp_block_nr: blocks,
            tp_frame_size: slot,
            tp_frame_nr: per_block * blocks,
        };
        sys::set(fd, libc::PACKET_RX_RING, request)?;
        let mapping = Mapping::new(fd, block as usize * blocks as usize)?;
        Ok(Self::V2(SlotRing { mapping, geometry, per_block, block: 0, index: 0, offset: 0 }))
    }

    /// Gives the socket a ring of version 3 whose blocks wait `timeout_ms` to be filled. It must
    /// not be bound yet.
    pub fn v3(fd: BorrowedFd<'_>, geometry: Geometry, timeout_ms: u32) -> io::Result<Self> {
        let Geometry { block, blocks, slot } = geometry;
        sys::set(fd, libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V3 as i32)?;
        let request = libc::tpacket_req3 {
            tp_block_size: block,
            tp_block_nr: blocks,
            tp_frame_size: slot,
            tp_frame_nr: block / slot * blocks,
            tp_retire_blk_tov: timeout_ms,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        sys::set(fd, libc::PACKET_RX_RING, request)?;
        let mapping = Mapping::new(fd, block as usize * blocks as usize)?;
        Ok(Self::V3(BlockRing { mapping, geometry, block: 0, left: 0, offset: 0 }))
    }

    /// The oldest frame that was not [`release`](Self::release)d.
    #[inline(always)]
    pub fn peek(&mut self) -> Option<Slot<'_>> {
        match self {
            Self::V2(ring) => ring.peek(),
            Self::V3(ring) => ring.peek(),
        }
    }

    /// Gives the frame that [`peek`](Self::peek) returned back to the kernel.
    #[inline(always)]
    pub fn release(&mut self) {
        match self {
            Self::V2(ring) => ring.release(),
            Self::V3(ring) => ring.release(),
        }
    }
}

/// Ring of version 2.
pub struct SlotRing {
    mapping: Mapping,
    geometry: Geometry,
    per_block: u32,
    block: u32,
    index: u32,
    /// Of the present slot.
    offset: usize,
}

impl SlotRing {
    /// The status word of the slot at `offset`, which the kernel writes too.
    #[inline(always)]
    fn status(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: a slot lies inside the mapping, is aligned to 16 and begins with its status; both
        // sides only access it as a whole.
        unsafe { AtomicU32::from_ptr(self.mapping.base.as_ptr().add(offset).cast()) }
    }

    #[inline(always)]
    fn peek(&self) -> Option<Slot<'_>> {
        let status = self.status(self.offset).load(Ordering::Acquire);
        if status & TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: slots lie inside the mapping. The status says that the kernel has finished
        // writing this one and won't touch it again before it is released, which takes
        // `&mut self` and so ends the borrow.
        unsafe {
            let slot = self.mapping.base.as_ptr().add(self.offset);
            // the slot after the next, unless the block ends: cold, as the kernel has just written
            // it elsewhere
            simd::prefetch_ptr(slot.wrapping_add(2 * self.geometry.slot as usize));
            simd::prefetch_ptr(slot.wrapping_add(2 * self.geometry.slot as usize + 64));
            let header = &*slot.cast::<tpacket2_hdr>();
            Some(Slot {
                status,
                len: header.tp_len,
                data: data(slot, self.geometry.slot, header.tp_mac, header.tp_snaplen),
                vnet: vnet(slot, self.geometry.slot, header.tp_mac),
                vlan_tci: header.tp_vlan_tci,
                vlan_tpid: header.tp_vlan_tpid,
                outgoing: outgoing::<tpacket2_hdr>(slot),
            })
        }
    }

    #[inline(always)]
    fn release(&mut self) {
        self.status(self.offset).store(TP_STATUS_KERNEL, Ordering::Release);
        self.index += 1;
        self.offset += self.geometry.slot as usize;
        if self.index == self.per_block {
            self.index = 0;
            self.block = if self.block + 1 == self.geometry.blocks { 0 } else { self.block + 1 };
            self.offset = self.block as usize * self.geometry.block as usize;
        }
    }
}

/// Ring of version 3.
pub struct BlockRing {
    mapping: Mapping,
    geometry: Geometry,
    block: u32,
    /// Frames of the present block that were not released; 0: the block is the kernel's, or wasn't
    /// looked at yet.
    left: u32,
    /// Of the next frame, from the start of the block.
    offset: u32,
}

impl BlockRing {
    #[inline(always)]
    fn base(&self) -> *mut u8 {
        // SAFETY: `block` is below `blocks`, so this lies inside the mapping.
        unsafe {
            self.mapping.base.as_ptr().add(self.block as usize * self.geometry.block as usize)
        }
    }

    /// The present block's status word, which the kernel writes too.
    #[inline(always)]
    fn status(&self) -> &AtomicU32 {
        let descriptor = self.base().cast::<tpacket_block_desc>();
        // SAFETY: a block lies inside the mapping, is aligned to a page and begins with its
        // descriptor; both sides only access the status as a whole.
        unsafe { AtomicU32::from_ptr(&raw mut (*descriptor).hdr.bh1.block_status) }
    }

    #[inline(always)]
    fn peek(&mut self) -> Option<Slot<'_>> {
        while self.left == 0 {
            if self.status().load(Ordering::Acquire) & TP_STATUS_USER == 0 {
                return None;
            }
            // SAFETY: the status says that the kernel has closed the block, so its descriptor stays
            // as it is.
            let descriptor = unsafe { &(*self.base().cast::<tpacket_block_desc>()).hdr.bh1 };
            (self.left, self.offset) = (descriptor.num_pkts, descriptor.offset_to_first_pkt);
            if self.left == 0 {
                self.next_block();
            }
        }
        let room = self.geometry.block.checked_sub(self.offset)?;
        if (room as usize) < size_of::<tpacket3_hdr>() + size_of::<libc::sockaddr_ll>() {
            return None;
        }
        // SAFETY: the header lies inside the block (just checked), aligned to 16 as the kernel
        // places frames. The block is ours until it is released, which takes `&mut self`
        // and so ends the borrow.
        unsafe {
            let frame = self.base().add(self.offset as usize);
            let header = &*frame.cast::<tpacket3_hdr>();
            simd::prefetch_ptr(frame.wrapping_add(header.tp_next_offset as usize));
            Some(Slot {
                status: header.tp_status,
                len: header.tp_len,
                data: data(frame, room, header.tp_mac, header.tp_snaplen),
                vnet: vnet(frame, room, header.tp_mac),
                vlan_tci: header.hv1.tp_vlan_tci as u16,
                vlan_tpid: header.hv1.tp_vlan_tpid,
                outgoing: outgoing::<tpacket3_hdr>(frame),
            })
        }
    }

    #[inline(always)]
    fn release(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.next_block();
            return;
        }
        // SAFETY: `peek` has looked at this header inside the block, and the block is still ours.
        let header = unsafe { &*self.base().add(self.offset as usize).cast::<tpacket3_hdr>() };
        self.offset = self.offset.saturating_add(header.tp_next_offset);
    }

    /// Gives the block back to the kernel.
    fn next_block(&mut self) {
        self.status().store(TP_STATUS_KERNEL, Ordering::Release);
        self.block = if self.block + 1 == self.geometry.blocks { 0 } else { self.block + 1 };
    }
}

/// The frame's bytes; none if they weren't inside the `room` bytes at `slot`.
///
/// # Safety
/// `room` bytes at `slot` are ours to read for as long as `'a`.
#[inline(always)]
unsafe fn data<'a>(slot: *const u8, room: u32, mac: u16, snaplen: u32) -> &'a [u8] {
    if u32::from(mac).saturating_add(snaplen) > room {
        return &[];
    }
    // SAFETY: inside of what the caller vouches for.
    unsafe { slice::from_raw_parts(slot.add(usize::from(mac)), snaplen as usize) }
}

/// The virtio header, which ends where the frame begins.
///
/// # Safety
/// As of [`data`].
#[inline(always)]
unsafe fn vnet(slot: *const u8, room: u32, mac: u16) -> [u8; VNET_HDR_LEN] {
    match usize::from(mac).checked_sub(VNET_HDR_LEN) {
        // SAFETY: inside of what the caller vouches for; bytes need no alignment.
        Some(offset) if u32::from(mac) <= room => unsafe {
            slot.add(offset).cast::<[u8; VNET_HDR_LEN]>().read()
        },
        _ => [0; VNET_HDR_LEN],
    }
}

/// The address behind the header says that this host sent the frame.
///
/// # Safety
/// A header of type `H` and a `sockaddr_ll` at `slot` are ours to read.
#[inline(always)]
unsafe fn outgoing<H>(slot: *const u8) -> bool {
    const { assert!(size_of::<H>().is_multiple_of(libc::TPACKET_ALIGNMENT)) };
    // SAFETY: the caller vouches for it; the header's size is a multiple of 16, so the address is
    // aligned.
    let address = unsafe { &*slot.add(size_of::<H>()).cast::<libc::sockaddr_ll>() };
    address.sll_pkttype == libc::PACKET_OUTGOING
}
