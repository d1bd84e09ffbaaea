// SPDX-License-Identifier: Apache-2.0
//! Messages and their bytes: a header of request, flags and size (four bytes each, in the byte
//! order of the host), and the payload.

use crate::io::{InflightInfo, MAX_REGIONS, RegionInfo};

/// Bytes of a message's header.
pub const HEADER: usize = 12;
/// Bytes of the longest payload, that of a memory table.
pub const MAX_PAYLOAD: usize = 8 + 32 * MAX_REGIONS;
/// Descriptors of a message at most.
pub const MAX_FDS: usize = MAX_REGIONS;

/// The version, in the lowest two bits of the flags.
const VERSION: u32 = 1;
const VERSION_BITS: u32 = 3;
/// Flag: this is a reply.
const REPLY: u32 = 4;
/// Flag: the sender waits for a reply.
const NEED_REPLY: u32 = 8;

/// The value of a ring's event that means: no descriptor.
const NO_FD: u64 = 1 << 8;

macro_rules! kinds {
    ($($name:ident = $number:literal => $text:literal,)*) => {
        /// Numbers of requests.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Kind {
            $(#[doc = $text] $name = $number,)*
        }

        impl Kind {
            /// The request of this number.
            pub fn new(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

kinds! {
    GetFeatures = 1 => "GET_FEATURES",
    SetFeatures = 2 => "SET_FEATURES",
    SetOwner = 3 => "SET_OWNER",
    ResetOwner = 4 => "RESET_OWNER",
    SetMemTable = 5 => "SET_MEM_TABLE",
    SetLogBase = 6 => "SET_LOG_BASE",
    SetLogFd = 7 => "SET_LOG_FD",
    SetVringNum = 8 => "SET_VRING_NUM",
    SetVringAddr = 9 => "SET_VRING_ADDR",
    SetVringBase = 10 => "SET_VRING_BASE",
    GetVringBase = 11 => "GET_VRING_BASE",
    SetVringKick = 12 => "SET_VRING_KICK",
    SetVringCall = 13 => "SET_VRING_CALL",
    SetVringErr = 14 => "SET_VRING_ERR",
    GetProtocolFeatures = 15 => "GET_PROTOCOL_FEATURES",
    SetProtocolFeatures = 16 => "SET_PROTOCOL_FEATURES",
    GetQueueNum = 17 => "GET_QUEUE_NUM",
    SetVringEnable = 18 => "SET_VRING_ENABLE",
    SendRarp = 19 => "SEND_RARP",
    NetSetMtu = 20 => "NET_SET_MTU",
    SetBackendReqFd = 21 => "SET_BACKEND_REQ_FD",
    IotlbMsg = 22 => "IOTLB_MSG",
    SetVringEndian = 23 => "SET_VRING_ENDIAN",
    GetConfig = 24 => "GET_CONFIG",
    SetConfig = 25 => "SET_CONFIG",
    CreateCryptoSession = 26 => "CREATE_CRYPTO_SESSION",
    CloseCryptoSession = 27 => "CLOSE_CRYPTO_SESSION",
    PostcopyAdvise = 28 => "POSTCOPY_ADVISE",
    PostcopyListen = 29 => "POSTCOPY_LISTEN",
    PostcopyEnd = 30 => "POSTCOPY_END",
    GetInflightFd = 31 => "GET_INFLIGHT_FD",
    SetInflightFd = 32 => "SET_INFLIGHT_FD",
    GpuSetSocket = 33 => "GPU_SET_SOCKET",
    ResetDevice = 34 => "RESET_DEVICE",
    VringKick = 35 => "VRING_KICK",
    GetMaxMemSlots = 36 => "GET_MAX_MEM_SLOTS",
    AddMemReg = 37 => "ADD_MEM_REG",
    RemMemReg = 38 => "REM_MEM_REG",
    SetStatus = 39 => "SET_STATUS",
    GetStatus = 40 => "GET_STATUS",
}

/// A request of a front-end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Which features there are.
    GetFeatures,
    /// Features that are used.
    SetFeatures(u64),
    /// The session begins. Nothing follows from it.
    SetOwner,
    /// Deprecated. Nothing follows from it.
    ResetOwner,
    /// The guest's memory; a descriptor for each region.
    SetMemTable(Vec<RegionInfo>),
    /// The log of pages that are written: bytes, and where it begins in its file.
    SetLogBase { size: u64, offset: u64 },
    /// An event for it. Nothing follows from it.
    SetLogFd,
    /// Descriptors of a ring.
    SetVringNum { index: u32, num: u32 },
    /// Addresses of its parts in the front-end.
    SetVringAddr { index: u32, desc: u64, used: u64, avail: u64 },
    /// Where it begins.
    SetVringBase { index: u32, num: u32 },
    /// Stops it; the reply says where it was.
    GetVringBase { index: u32 },
    /// By which the guest wakes this end.
    SetVringKick { index: u32, has_fd: bool },
    /// By which this end wakes the guest.
    SetVringCall { index: u32, has_fd: bool },
    /// By which this end may report errors. Nothing follows from it.
    SetVringErr { index: u32, has_fd: bool },
    /// Which features of the protocol there are.
    GetProtocolFeatures,
    /// Features of the protocol that are used.
    SetProtocolFeatures(u64),
    /// Asks for the number of pairs of rings that there may be.
    GetQueueNum,
    /// Lets packets pass by a ring, or not.
    SetVringEnable { index: u32, enable: bool },
    /// Asks for a log of chains in flight, for so many rings of so many descriptors. The payload of
    /// the reply is padded if this one's is.
    GetInflightFd { queues: u16, queue_size: u16, padded: bool },
    /// A log of chains in flight, empty or that of an earlier connection.
    SetInflightFd(InflightInfo),
}

/// A request as it was received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    pub kind: Kind,
    pub request: Request,
    /// The front-end waits for a reply, if that was agreed on.
    pub needs_reply: bool,
}

/// The header of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    pub number: u32,
    pub flags: u32,
    pub size: u32,
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// A payload that is too long, another version, a reply that nobody waits for.
    pub fn parse(bytes: &[u8; HEADER]) -> Result<Self, String> {
        let word = |at| u32_at(bytes, at).unwrap_or(0);
        let header = Self { number: word(0), flags: word(4), size: word(8) };
        let name = name(header.number);
        if header.flags & VERSION_BITS != VERSION {
            return Err(format!("{name}: version {} isn't 1", header.flags & VERSION_BITS));
        }
        if header.flags & REPLY != 0 {
            return Err(format!("{name}: a reply to no request"));
        }
        if header.size as usize > MAX_PAYLOAD {
            return Err(format!("{name}: {} bytes, at most {MAX_PAYLOAD}", header.size));
        }
        Ok(header)
    }
}

/// Name of a request, for people.
pub fn name(number: u32) -> String {
    Kind::new(number).map_or_else(|| format!("request {number}"), |kind| kind.name().to_string())
}

impl Message {
    /// Reads a message behind its header.
    ///
    /// # Errors
    /// An unknown or unsupported request; a payload of another length.
    pub fn parse(header: Header, payload: &[u8]) -> Result<Self, String> {
        let Some(kind) = Kind::new(header.number) else {
            return Err(format!("request {} is unknown", header.number));
        };
        let wrong = || format!("{}: a payload of {} bytes", kind.name(), payload.len());
        let empty = |request| if payload.is_empty() { Some(request) } else { None };
        let word = || u64_at(payload, 0).filter(|_| payload.len() == 8);
        let ring =
            || Some((u32_at(payload, 0)?, u32_at(payload, 4)?)).filter(|_| payload.len() == 8);
        let event = || word().map(|value| ((value & 0xff) as u32, value & NO_FD == 0));
        let request = match kind {
            Kind::GetFeatures => empty(Request::GetFeatures),
            Kind::SetFeatures => word().map(Request::SetFeatures),
            Kind::SetOwner => empty(Request::SetOwner),
            Kind::ResetOwner => empty(Request::ResetOwner),
            Kind::SetMemTable => regions(payload).map(Request::SetMemTable),
            Kind::SetLogBase => log_base(payload),
            Kind::SetLogFd => Some(Request::SetLogFd),
            Kind::SetVringNum => ring().map(|(index, num)| Request::SetVringNum { index, num }),
            Kind::SetVringAddr => addresses(payload),
            Kind::SetVringBase => ring().map(|(index, num)| Request::SetVringBase { index, num }),
            Kind::GetVringBase => ring().map(|(index, _)| Request::GetVringBase { index }),
            Kind::SetVringKick => {
                event().map(|(index, has_fd)| Request::SetVringKick { index, has_fd })
            }
            Kind::SetVringCall => {
                event().map(|(index, has_fd)| Request::SetVringCall { index, has_fd })
            }
            Kind::SetVringErr => {
                event().map(|(index, has_fd)| Request::SetVringErr { index, has_fd })
            }
            Kind::GetProtocolFeatures => empty(Request::GetProtocolFeatures),
            Kind::SetProtocolFeatures => word().map(Request::SetProtocolFeatures),
            Kind::GetQueueNum => empty(Request::GetQueueNum),
            Kind::SetVringEnable => {
                ring().map(|(index, num)| Request::SetVringEnable { index, enable: num != 0 })
            }
            Kind::GetInflightFd => inflight(payload).map(|info| Request::GetInflightFd {
                queues: info.queues,
                queue_size: info.queue_size,
                padded: payload.len() == INFLIGHT_PADDED,
            }),
            Kind::SetInflightFd => inflight(payload).map(Request::SetInflightFd),
            _ => return Err(format!("{} isn't supported", kind.name())),
        };
        let needs_reply = header.flags & NEED_REPLY != 0;
        request.map(|request| Self { kind, request, needs_reply }).ok_or_else(wrong)
    }

    /// Descriptors that come with it.
    pub fn fds(&self) -> usize {
        match &self.request {
            Request::SetMemTable(regions) => regions.len(),
            Request::SetLogBase { .. } | Request::SetLogFd | Request::SetInflightFd(_) => 1,
            Request::SetVringKick { has_fd, .. }
            | Request::SetVringCall { has_fd, .. }
            | Request::SetVringErr { has_fd, .. } => usize::from(*has_fd),
            _ => 0,
        }
    }

    /// Its bytes, as a front-end sends it.
    #[cfg(feature = "tests")]
    pub fn encode(&self) -> Vec<u8> {
        let pair = |a: u32, b: u32| [a.to_ne_bytes(), b.to_ne_bytes()].concat();
        let event = |index: u32, has_fd: bool| u64::from(index) | if has_fd { 0 } else { NO_FD };
        let payload = match &self.request {
            Request::SetFeatures(bits) | Request::SetProtocolFeatures(bits) => {
                bits.to_ne_bytes().to_vec()
            }
            Request::SetMemTable(regions) => {
                let mut bytes = pair(regions.len() as u32, 0);
                for RegionInfo { guest, size, user, offset } in regions {
                    for word in [guest, size, user, offset] {
                        bytes.extend(word.to_ne_bytes());
                    }
                }
                bytes
            }
            Request::SetLogBase { size, offset } => [*size, *offset].map(u64::to_ne_bytes).concat(),
            Request::SetVringNum { index, num } | Request::SetVringBase { index, num } => {
                pair(*index, *num)
            }
            Request::SetVringAddr { index, desc, used, avail } => {
                let words = [*desc, *used, *avail, 0].map(u64::to_ne_bytes).concat();
                [pair(*index, 0), words].concat()
            }
            Request::GetVringBase { index } => pair(*index, 0),
            Request::SetVringKick { index, has_fd }
            | Request::SetVringCall { index, has_fd }
            | Request::SetVringErr { index, has_fd } => {
                event(*index, *has_fd).to_ne_bytes().to_vec()
            }
            Request::SetVringEnable { index, enable } => pair(*index, (*enable).into()),
            Request::GetInflightFd { queues, queue_size, padded } => {
                let (queues, queue_size) = (*queues, *queue_size);
                inflight_bytes(InflightInfo { queues, queue_size, ..Default::default() }, *padded)
            }
            Request::SetInflightFd(info) => inflight_bytes(*info, true),
            _ => Vec::new(),
        };
        let flags = VERSION | if self.needs_reply { NEED_REPLY } else { 0 };
        let header = [self.kind as u32, flags, payload.len() as u32].map(u32::to_ne_bytes).concat();
        [header, payload].concat()
    }
}

fn regions(payload: &[u8]) -> Option<Vec<RegionInfo>> {
    let count = u32_at(payload, 0)? as usize;
    if count > MAX_REGIONS || payload.len() != 8 + 32 * count {
        return None;
    }
    (0..count)
        .map(|n| {
            let word = |field: usize| u64_at(payload, 8 + 32 * n + 8 * field);
            let (guest, size, user, offset) = (word(0)?, word(1)?, word(2)?, word(3)?);
            Some(RegionInfo { guest, size, user, offset })
        })
        .collect()
}

fn log_base(payload: &[u8]) -> Option<Request> {
    let (size, offset) = (u64_at(payload, 0)?, u64_at(payload, 8)?);
    (payload.len() == 16).then_some(Request::SetLogBase { size, offset })
}

/// Bytes of the description of an inflight log, by its fields and as C lays it out.
const INFLIGHT: usize = 20;
const INFLIGHT_PADDED: usize = 24;

fn inflight(payload: &[u8]) -> Option<InflightInfo> {
    let numbers = u32_at(payload, 16)?.to_ne_bytes();
    let [a, b, c, d] = numbers;
    let (queues, queue_size) = (u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d]));
    let info =
        InflightInfo { size: u64_at(payload, 0)?, offset: u64_at(payload, 8)?, queues, queue_size };
    [INFLIGHT, INFLIGHT_PADDED].contains(&payload.len()).then_some(info)
}

fn inflight_bytes(info: InflightInfo, padded: bool) -> Vec<u8> {
    let words = [info.size, info.offset].map(u64::to_ne_bytes).concat();
    let numbers = [info.queues, info.queue_size].map(u16::to_ne_bytes).concat();
    let mut bytes = [words, numbers].concat();
    bytes.resize(if padded { INFLIGHT_PADDED } else { INFLIGHT }, 0);
    bytes
}

/// The flags and the last word ask for a log of the ring's pages. They aren't needed: while pages
/// are logged, those of rings are too, by their address in the guest's memory.
fn addresses(payload: &[u8]) -> Option<Request> {
    let word = |n: usize| u64_at(payload, 8 + 8 * n);
    let index = u32_at(payload, 0).filter(|_| payload.len() == 40)?;
    Some(Request::SetVringAddr { index, desc: word(0)?, used: word(1)?, avail: word(2)? })
}

/// A reply to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    /// A number; 0 for done, where only that is asked for.
    Word(u64),
    /// Where a ring is.
    Base { index: u32, num: u32 },
    /// A log of chains in flight, whose file comes with it.
    Inflight { info: InflightInfo, padded: bool },
}

impl Reply {
    /// Its bytes, as the reply to this request.
    pub fn encode(self, kind: Kind) -> Vec<u8> {
        let payload = match self {
            Self::Word(word) => word.to_ne_bytes().to_vec(),
            Self::Base { index, num } => [index, num].map(u32::to_ne_bytes).concat(),
            Self::Inflight { info, padded } => inflight_bytes(info, padded),
        };
        let header = [kind as u32, VERSION | REPLY, payload.len() as u32];
        header.into_iter().flat_map(u32::to_ne_bytes).chain(payload).collect()
    }
}
