// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{self, NewPg, create_interface, read_capture};
use crate::offload::{Offloads, StreamOffloads};
use crate::show;
use crate::state::{Mode, Shared};
use crate::stream::{Source, StreamSpec};
use crate::text::{self, Start};
use cli::{Command, Error, Matches, Output};
use graph::{ThreadIndex, World};
use net::Interfaces;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make an interface pgN for streams and captures
    "create packet-generator interface",
    "<name> [hw-addr <mac:mac>] [gso-enabled gso-size <gso:u16>] [coalesce-enabled] [csum-offload-enabled] \
     [mode <mode:ethernet|ip4|ip6>]" => create;
    /// Take a pgN interface away
    "delete packet-generator interface",
    "{<interface:interface> | sw_if_index <index:u32>}"
        => |w, m| control::delete_interface(w, w.get::<Interfaces>().named_or_numbered(m)?);
    /// Describe a stream of packets
    "packet-generator new",
    "{<block:block> | {name <name> | pcap <file> | source <interface:interface> | interface <interface:interface> \
     | limit <limit:u64> | maxframe <maxframe:u16> | rate <rate:rate> | queue <queue:u64> | size <size:word> \
     | node <node:node> | worker <worker:u16> | tx-interface <tx:interface> | no-recycle | data <data:block> \
     | buffer-flags [ip4] [ip6] [offload] \
     | buffer-offload-flags <offload:offload-ip-cksum|offload-tcp-cksum|offload-udp-cksum>...}...}"
        => new_stream;
    /// Change how much a stream sends, how fast, and how long its packets are
    "packet-generator configure",
    "<stream:stream> {limit <limit:u64> | rate <rate:rate> | size <size:word>}..." => configure;
    /// Write what an interface sends to a capture file, or stop with `disable'
    "packet-generator capture",
    "<interface:interface> {pcap <file> | count <count:u64> | disable}..." => capture;
    /// Take only frames for the interface's own MAC address and for groups, as a device does that
    /// filters, or all
    "packet-generator mac-filter", "<interface:interface> <state:on|off>"
        => |w, m| w.get::<Shared>().set_filter(w, m.str("interface"), m.str("state") == "on");
    /// Run a stream, or all
    "packet-generator enable-stream",
    "[<stream:stream>]" => |w, m| w.get::<Shared>().enable(w, stream(m));
    /// Stop a stream, or all
    "packet-generator disable-stream",
    "[<stream:stream>]" => |w, m| w.get::<Shared>().disable(stream(m));
    /// Forget a stream, or all
    "packet-generator delete",
    "[<stream:stream>]" => |w, m| w.get::<Shared>().delete(stream(m));
    /// Streams: whether they run, and how far they are
    "show packet-generator", "[verbose]" => show::streams;
    /// A pgN interface and its capture
    "show packet-generator interface", "<interface:interface>" => show::interface;
};

fn stream<'a>(m: &'a Matches) -> Option<&'a str> {
    m.has("stream").then(|| m.str("stream"))
}

fn create(w: &World, m: &Matches) -> Result<Output, Error> {
    let offloads = Offloads {
        csum: m.flag("csum-offload-enabled"),
        gso: m.opt("gso")?,
        coalesce: m.flag("coalesce-enabled"),
    };
    let mode = match m.str("mode") {
        "ip4" => Mode::Ip4,
        "ip6" => Mode::Ip6,
        _ => Mode::Ethernet,
    };
    let new = NewPg { name: m.str("name").into(), mac: m.opt("mac")?, mode, offloads };
    Ok(net::args::made(w, create_interface(w, &new)?))
}

fn capture(w: &World, m: &Matches) -> Result<(), Error> {
    let shared = w.get::<Shared>();
    if m.flag("disable") {
        return shared.end_capture(w, m.str("interface"));
    }
    if !m.has("file") {
        return Err(Error::usage("a capture needs a file: `pcap FILE'"));
    }
    shared.capture(w, m.str("interface"), Path::new(m.str("file")), m.opt("count")?)
}

/// The stream begins anew with its next packets, if it runs.
fn configure(w: &World, m: &Matches) -> Result<(), Error> {
    let (shared, name) = (w.get::<Shared>(), m.str("stream"));
    let old = shared.stream(name).map_err(m.at("stream"))?;
    let mut spec = old.spec.clone();
    // Unlike in `new', 0 is no limit for a file either, as in VPP.
    spec.limit = m.opt("limit")?.unwrap_or(spec.limit);
    spec.rate = m.opt("rate")?.unwrap_or(spec.rate);
    if m.has("size") {
        spec.size = sizes(m)?;
    }
    let runs = old.enabled.load(Ordering::Acquire);
    shared.add_stream(spec);
    if runs {
        shared.enable(w, Some(name))?;
    }
    Ok(())
}

/// The inside of a braced block without comments.
fn inside(block: &str) -> &str {
    let block = block.trim();
    block.strip_prefix('{').and_then(|b| b.strip_suffix('}')).unwrap_or(block)
}

/// `packet-generator new { … }` holds the same words as the form without braces.
fn new_stream(w: &World, m: &Matches) -> Result<Output, Error> {
    if m.has("block") {
        let words = inside(m.str("block")).replace('\n', " ");
        let tree = cli::Tree::new(INNER)?;
        return tree.execute(w, &format!("stream {words}")).map(|outcome| outcome.output);
    }
    add(w, m).map(Into::into)
}

const INNER: &[Command<World>] = cli::commands! {
    /// A stream's words inside of braces
    "stream",
    "{name <name> | pcap <file> | source <interface:interface> | interface <interface:interface> | limit <limit:u64> \
     | maxframe <maxframe:u16> | rate <rate:rate> | queue <queue:u64> | size <size:word> | node <node:node> \
     | worker <worker:u16> | tx-interface <tx:interface> | no-recycle | data <data:block> \
     | buffer-flags [ip4] [ip6] [offload] \
     | buffer-offload-flags <offload:offload-ip-cksum|offload-tcp-cksum|offload-udp-cksum>...}..." => add;
};

/// The interface of a stream that names none, as in VPP; it is made if it isn't there.
const DEFAULT_INTERFACE: &str = "pg0";

fn add(w: &World, m: &Matches) -> Result<(), Error> {
    let shared = w.get::<Shared>();
    let named = m.has("interface");
    let name = if named { m.str("interface") } else { DEFAULT_INTERFACE };
    let (interface, mode) = match shared.mode(w, name) {
        Ok((interface, mode)) => (Some(interface), mode),
        // Packets may come in by any interface; what they are is said by `node`.
        Err(_) => match w.get::<Interfaces>().find(name) {
            Ok(interface) => (Some(interface), Mode::Ethernet),
            // It is made once all words are read.
            Err(_) if !named => (None, Mode::Ethernet),
            Err(e) => return Err(e.at(m.span("interface"))),
        },
    };
    let node_name = if m.has("node") { m.str("node") } else { mode.node() };
    let node = w.node(node_name).ok_or_else(|| {
        let names: Vec<_> = w.nodes().into_iter().map(|n| n.name.to_string()).collect();
        Error::not_found(format!("no node is named `{node_name}'"))
            .near(node_name, names)
            .at(m.span("node"))
    })?;
    let size = sizes(m)?;
    let tx = net::args::given_interface(w, m, "tx")?;
    let (source, words) = match (m.has("file"), m.has("data")) {
        (true, false) => {
            let file = m.str("file");
            let source = read_capture(Path::new(file)).map_err(m.at("file"))?;
            (source, format!("pcap {}", cli::quote(file)))
        }
        (false, true) => {
            let start = match node_name {
                name if name.starts_with("ip4") => Start::Ip4,
                name if name.starts_with("ip6") => Start::Ip6,
                _ => Start::Ethernet,
            };
            let template = text::parse(inside(m.str("data")), start)
                .map_err(|e| Error::parse(format!("data: {e}")))?;
            let words = inside(m.str("data")).split_whitespace().collect::<Vec<_>>().join(" ");
            (Source::Template(Arc::new(template)), format!("data {{ {words} }}"))
        }
        (true, true) => {
            return Err(Error::usage(
                "a stream's packets come from a file or from `data { … }', not from both",
            ));
        }
        (false, false) => {
            return Err(Error::usage(
                "a stream needs packets: `pcap FILE', or `data { IP4: … UDP: … }'",
            ));
        }
    };
    let limit = source.limit_of(m.opt("limit")?);
    let worker: Option<u16> = m.opt("worker")?;
    // A script for more workers runs on fewer, too: what its streams send counts, not which thread
    // sends it.
    let thread = match worker {
        Some(worker) if usize::from(worker) + 1 < w.threads() => worker + 1,
        Some(_) => u16::from(w.threads() > 1),
        None => default_thread(w).0,
    };
    let ip = mode != Mode::Ethernet || node_name.starts_with("ip4") || node_name.starts_with("ip6");
    let interface = interface.map_or_else(
        || {
            let (mac, offloads) = (None, Offloads::default());
            create_interface(w, &NewPg { name: name.into(), mac, mode, offloads })
        },
        Ok,
    )?;
    shared.add_stream(StreamSpec {
        name: if m.has("name") { m.str("name").into() } else { shared.free_name() },
        limit,
        rate: m.opt("rate")?.unwrap_or(0.0),
        queue: m.opt("queue")?.unwrap_or(0),
        max_frame: m.opt::<u16>("maxframe")?.map_or(256, |n| usize::from(n).clamp(1, 256)),
        size,
        interface,
        node,
        from_device: node_name == "ethernet-input",
        ip,
        marks: marks(m, shared.offloads(interface))?,
        tx,
        thread: ThreadIndex(thread),
        source,
        words,
    });
    Ok(())
}

/// The work that packets leave undone: what their interface does, and what the stream's words say.
fn marks(m: &Matches, offloads: Offloads) -> Result<StreamOffloads, Error> {
    let (own, words) = (offloads.marks(), m.all::<String>("offload")?);
    let said = |word: &str| words.iter().any(|w| w == word);
    Ok(StreamOffloads {
        ip: own.ip || said("offload-ip-cksum"),
        tcp: own.tcp || said("offload-tcp-cksum"),
        udp: own.udp || said("offload-udp-cksum"),
        ..own
    })
}

/// The thread that runs a stream which names none.
pub fn default_thread(w: &World) -> ThreadIndex {
    ThreadIndex(u16::from(w.threads() > 1))
}

fn sizes(m: &Matches) -> Result<(usize, usize), Error> {
    if !m.has("size") {
        return Ok((0, 0));
    }
    let text = m.str("size");
    let (low, high) = text.split_once(['-', '+']).unwrap_or((text, text));
    match (low.parse::<usize>(), high.parse::<usize>()) {
        (Ok(low), Ok(high)) if low <= high && high <= 65_535 => Ok((low, high)),
        _ => Err(Error::parse(format!("`{text}': expected sizes such as 64-1500, up to 65535"))
            .at(m.span("size"))),
    }
}
