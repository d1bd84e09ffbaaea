// SPDX-License-Identifier: Apache-2.0
//! Parameters of a capture, and their checks.

use super::CaptureFilter;
use super::node::Point;
use cli::Error;
use graph::{Reason, SwIfIndex, World};
use msg::retval;
use net::{Interface, Interfaces, SubFrames, SubInterface};
use std::path::{Path, PathBuf};

/// Bytes of a packet that may be kept.
const BYTES: std::ops::RangeInclusive<usize> = 32..=65_535;

/// The directions of captured packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directions {
    /// Packets as they come in.
    pub rx: bool,
    /// Packets as they leave.
    pub tx: bool,
    /// Packets that are dropped.
    pub drop: bool,
    /// Packets in front of each node. It stands alone.
    pub dispatch: bool,
}

impl Directions {
    /// Returns true if any direction is set.
    pub fn any(self) -> bool {
        self.rx || self.tx || self.drop || self.dispatch
    }

    /// Packets that come in, leave or are dropped: all but those in front of nodes.
    pub const PACKETS: Self = Self { rx: true, tx: true, drop: true, dispatch: false };
    /// Packets in front of each node.
    pub const DISPATCH: Self = Self { rx: false, tx: false, drop: false, dispatch: true };

    /// The directions that both have.
    pub fn and(self, other: Self) -> Self {
        Self {
            rx: self.rx && other.rx,
            tx: self.tx && other.tx,
            drop: self.drop && other.drop,
            dispatch: self.dispatch && other.dispatch,
        }
    }

    /// Arcs on which packets of an interface are captured, with the interface of the arc and the
    /// node's configuration there. Captures in front of nodes need no arc. Tagged frames come in by
    /// the parent of their sub-interface: a capture of `all` interfaces has them there.
    pub fn arcs(
        self,
        world: &World,
        of: &Interface,
        all: bool,
    ) -> Vec<(&'static str, SwIfIndex, Point)> {
        let tagged = |sub: &SubInterface| !matches!(sub.frames, SubFrames::Peer(_));
        let frames = if of.sub.as_ref().is_none_or(|sub| !tagged(sub)) {
            Some((of.device.input_arc(), of.sw_if, Point::Received))
        } else {
            let parent = world.get::<Interfaces>().get(of.parent).ok().filter(|_| !all);
            parent.map(|over| (over.device.input_arc(), over.sw_if, Point::ReceivedTagged))
        };
        let ip = |arc| of.device.is_tunnel().then_some((arc, of.sw_if, Point::ReceivedIp));
        let received = [frames, ip("tunnel-input-ip4"), ip("tunnel-input-ip6")];
        let others = [
            self.tx.then_some(("interface-output", of.sw_if, Point::Sent)),
            self.drop.then_some(("error-drop", of.sw_if, Point::Dropped)),
        ];
        received.into_iter().filter(|_| self.rx).chain(others).flatten().collect()
    }

    /// The words of the command.
    pub fn words(self) -> Vec<&'static str> {
        let all =
            [(self.rx, "rx"), (self.tx, "tx"), (self.drop, "drop"), (self.dispatch, "dispatch")];
        all.into_iter().filter(|(on, _)| *on).map(|(_, word)| word).collect()
    }
}

/// Limits of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Packets of all threads.
    pub packets: u64,
    /// Bytes of each packet.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { packets: 1000, bytes: 512 }
    }
}

/// The parameters of a capture.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Where packets are captured.
    pub on: Directions,
    /// Packets of this interface, or of any.
    pub interface: Option<SwIfIndex>,
    /// Limits of packets and bytes.
    pub limits: Limits,
    /// Only packets that this accepts.
    pub filter: Option<CaptureFilter>,
    /// Of dropped packets, only those that were dropped for this reason: `{node}.{reason}`, or
    /// `node.reason`.
    pub reason: Option<String>,
    /// The file; without one, a name in /tmp that is free.
    pub file: Option<String>,
}

impl Plan {
    /// Checks that the capture is possible.
    ///
    /// # Errors
    /// No direction; limits that can't be; a reason without dropped packets; an interface that
    /// brings nothing in that could be captured.
    pub fn check(&self, world: &World) -> Result<(), Error> {
        let Self { on, limits, .. } = self;
        if !on.any() {
            return Err(Error::usage(
                "choose rx, tx or drop, or several of them; or off, or status",
            )
            .retval(retval::INVALID_VALUE));
        }
        if !BYTES.contains(&limits.bytes) {
            let error =
                format!("{} bytes of a packet: {} to {}", limits.bytes, BYTES.start(), BYTES.end());
            return Err(Error::limit(error).retval(retval::INVALID_MEMORY_SIZE));
        }
        if self.reason.is_some() && !on.drop {
            return Err(Error::usage("a reason chooses among dropped packets: capture `drop'")
                .retval(retval::INVALID_VALUE));
        }
        let interfaces = world.get::<Interfaces>();
        if let (Some(i), true, false) = (self.interface, on.rx, on.tx || on.drop)
            && let interface = interfaces.get(i)?
            && interface.kind.is_ip()
            && !interface.device.is_tunnel()
        {
            let name = interfaces.name(i);
            return Err(Error::unsupported(format!(
                "{name} brings packets in without Ethernet header; capture tx or drop"
            )));
        }
        Ok(())
    }

    /// The reason of drops that it names, with its error index.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn reason(&self, world: &World) -> Result<Option<(u32, Reason)>, Error> {
        self.reason.as_deref().map(|text| reason_of(world, text)).transpose()
    }

    /// The file that it goes to.
    ///
    /// # Errors
    /// A path that is neither absolute nor a bare name; without a name, no free one.
    pub fn path(&self) -> Result<PathBuf, Error> {
        place(self.on, self.file.as_deref())
    }
}

/// The file that a capture goes to: a bare name lies in /tmp.
fn place(on: Directions, file: Option<&str>) -> Result<PathBuf, Error> {
    let Some(file) = file else {
        // The name is generated, so another one will do.
        let stem = on.words().concat();
        let names = (1..1000).map(|n| {
            if n == 1 { format!("/tmp/{stem}.pcap") } else { format!("/tmp/{stem}-{n}.pcap") }
        });
        let free = names.map(PathBuf::from).find(|path| path.symlink_metadata().is_err());
        return free.ok_or_else(|| {
            Error::limit(format!("/tmp holds 999 captures named {stem}; give a file"))
        });
    };
    let path = Path::new(file);
    match (path.is_absolute(), file.contains('/') || file == ".." || file == ".") {
        (true, _) => Ok(path.into()),
        (false, true) => Err(Error::parse(format!(
            "`{file}' is neither a bare name, for /tmp, nor an absolute path"
        ))),
        (false, false) => Ok(Path::new("/tmp").join(file)),
    }
}

/// The reason of drops that an operator names as VPP does: `{node}.{reason}`, or `node.reason`.
fn reason_of(world: &World, text: &str) -> Result<(u32, Reason), Error> {
    let braced = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')?.split_once("}.{"));
    let Some((node, name)) = braced.or_else(|| text.trim().rsplit_once('.')) else {
        return Err(Error::parse(format!(
            "`{text}': expected a node and a reason, as in {{ip4-input}}.{{time_expired}}"
        ))
        .retval(retval::INVALID_VALUE));
    };
    let all = world.reasons();
    let found = all.iter().position(|r| *r.node == *node && r.reason == name);
    found.map(|index| (index as u32, all[index].clone())).ok_or_else(|| {
        let own = all.iter().filter(|r| *r.node == *node).map(|r| r.reason.to_string());
        let error = Error::not_found(format!("{node} drops nothing for the reason `{name}'"));
        error.near(name, own).retval(retval::NO_SUCH_ENTRY)
    })
}
