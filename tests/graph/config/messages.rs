// SPDX-License-Identifier: Apache-2.0
//! Random messages of the binary API, then a restart: whatever a message has made can be made again
//! by the saved lines.

use daemon::plugins;
use graph::World;
use msg::{Entry, Field, Kind, Loopback, Multiplicity, Shape, Type};
use testkit::Rng;

use super::compare::Difference;
use super::random::wanted_seeds;
use super::shrink::shrink;
use super::{Instance, sorted};

/// Ports, tables and a domain that messages can name.
const BEFORE: &[&str] = &[
    "create packet-generator interface pg0",
    "create packet-generator interface pg1",
    "create loopback interface",
    "set interface state pg0 up",
    "set interface ip address pg0 10.0.0.1/24",
    "set interface ip address pg0 2001:db8::1/64",
    "ip table add 7",
    "ip6 table add 7",
    "create bridge-domain 7",
    "classify table mask l3 ip4 src",
];

/// Beginnings of the names of messages that aren't sent: they reach out of the process, or set
/// nothing that is saved.
const NOT_SENT: &[(&str, &str)] = &[
    ("af_packet_", "devices of the host"),
    ("af_xdp_", "devices of the host"),
    ("tap_", "devices of the host"),
    ("create_vhost_user_if", "sockets in the file system"),
    ("modify_vhost_user_if", "sockets in the file system"),
    ("memif_", "sockets in the file system"),
    ("pcap_", "files"),
    ("pg_capture", "files"),
    ("cli", "any command"),
    ("memclnt_", "sessions of clients"),
    ("sockclnt_", "sessions of clients"),
    ("api_versions", "sessions of clients"),
    ("rpc_", "sessions of clients"),
    ("trace_plugin_", "traces aren't saved"),
    ("want_", "subscriptions end with their client"),
    ("punt_socket_", "sockets in the file system"),
    ("sw_interface_set_rx_placement", "one thread"),
];

/// Messages that may be sent, and the numbers by which they go.
fn requests(world: &World) -> Vec<(u16, &Entry<World>)> {
    let is_sent = |name: &str| !NOT_SENT.iter().any(|(beginning, _)| name.starts_with(beginning));
    let all = world.api.table().entries();
    all.filter(|(_, e)| e.changes && matches!(e.kind, Kind::Request) && is_sent(e.name)).collect()
}

/// Writes values of fields: mostly such as name something, or are valid, some at the edges of their
/// types.
struct Values<'a> {
    rng: &'a mut Rng,
    out: Vec<u8>,
}

impl Values<'_> {
    fn n(&mut self, below: usize) -> usize {
        self.rng.below(below)
    }

    fn number(&mut self, size: usize, value: u64) {
        self.out.extend(&value.to_be_bytes()[8 - size..]);
    }

    fn fields(&mut self, fields: &[Field]) {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for field in fields {
            let counts_another =
                fields.iter().any(|other| other.multiplicity == Multiplicity::Counted(field.name));
            if counts_another {
                let n = self.n(3);
                counts.push((field.name, n));
                self.number(field.kind.least(), n as u64);
                continue;
            }
            match &field.multiplicity {
                Multiplicity::One | Multiplicity::Text => self.value(&field.kind, field.name),
                Multiplicity::Fixed(_) if matches!(field.kind.shape, Shape::Text(_)) => {
                    self.value(&field.kind, field.name)
                }
                Multiplicity::Fixed(n) => {
                    (0..*n).for_each(|_| self.value(&field.kind, field.name));
                }
                Multiplicity::Counted(of) => {
                    let count = counts.iter().find(|(name, _)| name == of).map_or(0, |(_, n)| *n);
                    (0..count).for_each(|_| self.value(&field.kind, field.name));
                }
            }
        }
    }

    fn value(&mut self, kind: &Type, name: &str) {
        match (&kind.shape, kind.name) {
            (_, "mac_address") => {
                let last = self.n(4) as u8;
                let first = [2, 2, 2, 2, 2, 2, 1, 0][self.n(8)];
                self.out.extend([first, 0, 0, 0, 0, last]);
            }
            (_, "ip4_address") => {
                let (net, host, which) = (self.n(3) as u8, self.n(5) as u8, self.n(9));
                let all = [[10, net, 0, host], [192, 0, 2, host], [0; 4]];
                self.out.extend(all[which / 4]);
            }
            (_, "ip6_address") => {
                let host = self.n(5) as u8;
                let mut address = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host];
                if self.n(8) == 0 {
                    address = [0; 16];
                }
                self.out.extend(address);
            }
            (Shape::Struct(_), "address") => self.address(),
            (Shape::Struct(fields), of) => {
                let at = self.out.len();
                self.fields(fields);
                // The length of a prefix is its last byte.
                if of.ends_with("prefix") && self.n(8) > 0 {
                    let most = if of.contains("ip4") || self.out[at] == 0 { 33 } else { 129 };
                    let len = self.n(most) as u8;
                    if let Some(last) = self.out.last_mut() {
                        *last = len;
                    }
                }
            }
            (Shape::Union(arms), _) => {
                let (at, whole) = (self.out.len(), kind.least());
                let arm = self.n(arms.len());
                self.fields(std::slice::from_ref(&arms[arm]));
                self.out.resize(at + whole, 0);
            }
            (Shape::Alias(of), "interface_index") => {
                let index = [0, 1, 2, 3, 4, 5, 1, 2][self.n(8)];
                let index = if self.n(12) == 0 { u64::from(u32::MAX) } else { index };
                self.number(of.least(), index);
            }
            (Shape::Alias(of), _) => self.value(of, name),
            (Shape::Fixed(of, n), _) => (0..*n).for_each(|_| self.value(of, name)),
            (Shape::Enum(_, members), _) => {
                let value = members[self.n(members.len())].1;
                let value = if self.n(20) == 0 { 77 } else { value };
                self.number(kind.least(), value.into());
            }
            (Shape::Flags(_, members), _) => {
                let some = |rng: &mut Rng| rng.below(3) == 0;
                let value = members.iter().filter(|_| some(self.rng)).fold(0, |all, m| all | m.1);
                self.number(kind.least(), value.into());
            }
            (Shape::Text(room), _) => self.text(*room),
            (Shape::Scalar, "bool") => {
                // Rather made than deleted.
                let yes = self.n(5) > 0;
                self.number(1, yes.into());
            }
            (Shape::Scalar, _) => self.scalar(kind.least(), name),
        }
    }

    /// A family, and an address of it.
    fn address(&mut self) {
        let (at, v6) = (self.out.len(), self.n(2) == 1);
        self.out.push(u8::from(v6));
        let kind = |name| Type { name, shape: Shape::Scalar };
        self.value(&kind(if v6 { "ip6_address" } else { "ip4_address" }), "");
        self.out.resize(at + 17, 0);
    }

    fn text(&mut self, room: usize) {
        const TEXTS: &[&str] =
            &["", "pg0", "a", "b c", "\"", "x;y", "caf\u{e9}", "#1", "{", "l2-input"];
        let text = TEXTS[self.n(TEXTS.len())].as_bytes();
        if room == 0 {
            self.number(4, text.len() as u64);
            self.out.extend(text);
        } else {
            let mut bytes = vec![0; room];
            let n = text.len().min(room - 1);
            bytes[..n].copy_from_slice(&text[..n]);
            self.out.extend(bytes);
        }
    }

    fn scalar(&mut self, size: usize, name: &str) {
        let most = u64::MAX >> (64 - 8 * size);
        let is_table = ["table", "vrf", "fib", "bd_id"].iter().any(|part| name.contains(part));
        let small = self.n(10) as u64;
        let value = match self.n(12) {
            _ if is_table => [0, 0, 7, 7, 7, 9][self.n(6)],
            0 => most,
            1 => 1 << (8 * size - 1),
            2 => (1 << 24) - 1,
            3 => 1 << 24,
            4 | 5 => u64::from(self.rng.below(1 << 16) as u32),
            6 | 7 => 0,
            _ => small,
        };
        self.number(size, value & most);
    }
}

/// A message: its name, and the bytes behind its number in hexadecimal.
fn any(world: &World, rng: &mut Rng) -> String {
    let all = requests(world);
    let (_, entry) = all[rng.below(all.len())];
    let mut values = Values { rng, out: Vec::new() };
    values.fields(&entry.fields);
    let hex: String = values.out.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} {hex}", entry.name)
}

/// Sends messages; those of no meaning are refused.
fn send(instance: &mut Instance, messages: &[String]) {
    let world = instance.bench.world.clone();
    let mut client = Loopback::new(&*world, &world.api);
    for message in messages {
        let (name, hex) = message.split_once(' ').expect("a name and bytes");
        let bytes: Vec<u8> = (0..hex.len() / 2)
            .map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).expect("hexadecimal"))
            .collect();
        let id = world.api.table().find(name).expect("served");
        client.begin(id, &bytes).expect("not too long");
        while client.poll().expect("a session that goes on").is_none() {
            instance.bench.rt.turn(true);
            let _ = world.processes.run(&world);
        }
        instance.bench.settle();
    }
}

/// Returns an error unless the saved lines make again whatever messages have made: none is refused,
/// and the same is saved again.
fn comes_back(messages: &[String]) -> Result<(), Difference> {
    let run = || {
        let mut instance = Instance::after(&BEFORE.join("\n"));
        send(&mut instance, messages);
        let text = instance.config();
        // The kernel's interfaces that messages have made have their names until then.
        drop(instance);
        let again = Instance::try_after(&text)
            .map_err(|e| Difference::new("a line", format!("{e}\n\n{text}")))?;
        let (now, before) = (sorted(&again.config()), sorted(&text));
        let lost: Vec<_> = before.iter().filter(|line| !now.contains(line)).collect();
        let new: Vec<_> = now.iter().filter(|line| !before.contains(line)).collect();
        if lost.is_empty() && new.is_empty() {
            return Ok(());
        }
        Err(Difference::new(
            "the configuration",
            format!("{new:#?}\ninstead of\n{lost:#?}\n\n{text}"),
        ))
    };
    std::panic::catch_unwind(run).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(Difference::new("a panic", text.unwrap_or_default()))
    })
}

fn all_come_back(seeds: std::ops::Range<u64>, count: usize) {
    let world = graph::drive::Bench::new(plugins::ALL).world;
    let mut failed = Vec::new();
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let messages: Vec<_> = (0..count).map(|_| any(&world, &mut rng)).collect();
        let Err(found) = comes_back(&messages) else { continue };
        let (few, found) = shrink(messages, found, comes_back);
        eprintln!("seed {seed}: {} differs\n{}\n{}\n", found.of, few.join("\n"), found.text);
        failed.push(seed);
    }
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
}

#[test]
fn what_any_messages_make_is_said_again() {
    all_come_back(0..24, 400);
}

/// Messages that random runs found.
#[test]
fn what_was_not_said_again_is() {
    for messages in [
        // A protocol that is punted: no tunnel is made, not even half of one.
        "set_punt 0000f6e5000000000100000001002f0000\n\
         gre_tunnel_add_del_v2 00000002ffffffff01010010ffff0000000600000007ffffffff00c0000202000000\
         00000000000000000000c000020000000000000000000000000000000004",
        // The table of a lender that no line binds it to.
        "ipip_6rd_add_tunnel 000013baffffffff000000070000000720010db8000000000000000000000001000a0200030fc00002040101\n\
         sw_interface_set_table 0000000100000008000000030100000007\n\
         sw_interface_set_unnumbered 000000000000b62b000000040000000301",
        // A control plane of PPPoE behind a domain's routed interface that leaves the domain.
        "sw_interface_set_l2_bridge 01000000000000020000000300000007000000010801\n\
         pppoe_add_del_cp ffffffff0000af9d0000000307\n\
         sw_interface_set_l2_bridge ffffffff000000000000000300000000000000010900",
        // A tunnel is a member of a bond that sends.
        "bond_create 0000000400ffffff0000000001020000000003000000030000000100\n\
         sw_interface_set_flags 00000005000000080000000400000001\n\
         pg_delete_interface 0000282f00003e8900000002\n\
         vxlan_add_del_tunnel 000087e000ffffff0100000000000a00000200000000000000000000000000c0000201\
         00000000000000000000000000000005000000070000000000000008\n\
         bond_add_member 010000000000000500000002000000040100\n\
         sw_interface_ip6_enable_disable 00ffffff000000040000000401",
    ] {
        let messages: Vec<_> = messages.lines().map(|line| line.trim().to_string()).collect();
        comes_back(&messages).unwrap_or_else(|d| panic!("{}: {}", d.of, d.text));
    }
}

#[test]
#[ignore = "long: a million messages, some minutes"]
fn long_what_any_messages_make_is_said_again() {
    all_come_back(wanted_seeds().unwrap_or(24..1024), 1000);
}
