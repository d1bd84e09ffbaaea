// SPDX-License-Identifier: Apache-2.0
//! The program that the kernel runs for each received packet: it hands the packet to the socket of
//! its queue, and leaves packets of queues without a socket to the kernel.

use super::sys::{self, MAP_TYPE_XSKMAP, PROG_TYPE_XDP};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Values of linux/bpf.h.
const HAS_FRAGS: u32 = 1 << 5;
const PASS: i32 = 2;
const REDIRECT_MAP: i32 = 51;
const SKB_MODE: u32 = 1 << 1;
const DRV_MODE: u32 = 1 << 2;
/// Offset of `rx_queue_index` in `xdp_md`.
const QUEUE: i16 = 16;
/// Name of the map that a program of the operator's has to have.
pub const MAP_NAME: &str = "xsks_map";

/// `bpf_insn`: code, registers (source in the upper half), offset, value.
fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> [u8; 8] {
    let [o0, o1] = off.to_ne_bytes();
    let [i0, i1, i2, i3] = imm.to_ne_bytes();
    let registers = if cfg!(target_endian = "big") { dst << 4 | src } else { src << 4 | dst };
    [code, registers, o0, o1, i0, i1, i2, i3]
}

/// `return bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS);`
pub fn instructions(map: i32) -> [[u8; 8]; 6] {
    [
        // r2 = *(u32 *)(r1 + 16)
        insn(0x61, 2, 1, QUEUE, 0),
        // r1 = map; the source register 1 says that the value is a descriptor
        insn(0x18, 1, 1, 0, map),
        insn(0, 0, 0, 0, 0),
        // r3 = XDP_PASS, for a queue that the map has no socket for
        insn(0xb7, 3, 0, 0, PASS),
        insn(0x85, 0, 0, 0, REDIRECT_MAP),
        insn(0x95, 0, 0, 0, 0),
    ]
}

/// The mode in which a program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attach {
    /// In the device's driver.
    Native,
    /// Behind it, on packets that the kernel has made.
    Generic,
}

impl Attach {
    /// Its name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Generic => "generic",
        }
    }
}

/// A program and its map.
pub struct Program {
    program: OwnedFd,
    map: OwnedFd,
}

/// A program that is attached to a netdev until this value ends, with the process at the latest.
pub struct Attached {
    _link: OwnedFd,
    pub mode: Attach,
}

impl Program {
    /// The program above, with a map for so many queues.
    pub fn own(queues: u32) -> io::Result<Self> {
        let map = sys::map_create(queues, MAP_NAME)?;
        let code = instructions(map.as_raw_fd());
        let load = |flags| sys::prog_load(&code, "Apache-2.0", "ferrovia_xdp", flags);
        // Without the flag the kernel attaches it to no device with frames above a page; kernels
        // before 5.18 don't know it.
        let program = load(HAS_FRAGS).or_else(|_| load(0))?;
        Ok(Self { program, map })
    }

    /// A program of the operator's, pinned in a BPF file system, with a map [`MAP_NAME`].
    pub fn pinned(path: &str) -> io::Result<Self> {
        let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_string());
        let program = sys::pinned(path)?;
        if u32_at(&sys::info(program.as_fd())?, 0) != PROG_TYPE_XDP {
            return Err(invalid("it is no XDP program"));
        }
        for id in sys::map_ids(program.as_fd())? {
            let map = sys::map_by_id(id)?;
            let info = sys::info(map.as_fd())?;
            // `bpf_map_info`: type, id, sizes of key and value, entries, flags, name.
            let name = info[24..40].split(|byte| *byte == 0).next().unwrap_or_default();
            if u32_at(&info, 0) == MAP_TYPE_XSKMAP && name == MAP_NAME.as_bytes() {
                return Ok(Self { program, map });
            }
        }
        Err(invalid("it has no map `xsks_map' of the type XSKMAP"))
    }

    #[cfg(feature = "tests")]
    pub fn pin(&self, program: &str, map: &str) -> io::Result<()> {
        sys::pin(self.program.as_fd(), program)?;
        sys::pin(self.map.as_fd(), map)
    }

    /// Lets packets of a queue go to a socket.
    pub fn set(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        sys::map_set(self.map.as_fd(), queue, socket)
    }

    /// Attaches it, in the driver if the device can do that, unless `wanted` decides. The kernel
    /// refuses (EBUSY) if there is a program already.
    pub fn attach(&self, index: u32, wanted: Option<Attach>) -> io::Result<Attached> {
        let attach = |mode: Attach| -> io::Result<Attached> {
            let flags = if mode == Attach::Native { DRV_MODE } else { SKB_MODE };
            let link = sys::link_create(self.program.as_fd(), index, flags)?;
            Ok(Attached { _link: link, mode })
        };
        match (wanted, attach(wanted.unwrap_or(Attach::Native))) {
            (None, Err(error)) if error.raw_os_error() != Some(libc::EBUSY) => {
                attach(Attach::Generic)
            }
            (_, result) => result,
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
    field.map_or(0, |field| u32::from_ne_bytes(*field))
}
