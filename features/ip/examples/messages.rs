// SPDX-License-Identifier: Apache-2.0
//! Messages a second of the binary API, without the socket: a client adds routes, dumps them, and
//! removes them again without waiting for answers.
//!
//! `cargo run --release -p ferrovia-ip --features tests --example messages -- [routes=100000]`

use fib::api::route::{IpRoute, IpRouteAddDel, IpRouteDump};
use fib::api::table::IpTable;
use graph::{Plugin, World, WorldConfig};
use msg::{Head, Message, SendBuffer, Session};
use net::api::{Address, FibPath, Prefix};
use net::drive::{Tx, ethernet};
use net::{Addresses, Interfaces};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};
use wire::{Ip4, MacAddr};

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &ip::PLUGIN];

/// Bytes that a client sends at once.
const WRITE: usize = 64 << 10;

struct Client<'a> {
    world: &'a World,
    session: Session<World>,
    start: Instant,
}

impl Client<'_> {
    /// Sends all, and reads until nothing more comes; the messages that came, and their bytes.
    fn exchange(&mut self, mut requests: &[u8]) -> (usize, usize) {
        let (mut messages, mut bytes) = (0, 0);
        loop {
            if self.session.wants_input() && !requests.is_empty() {
                let (now, later) = requests.split_at(requests.len().min(WRITE));
                self.session.receive(now).expect("frames");
                requests = later;
            }
            let turn = self.session.run(self.world, &self.world.api, self.start.elapsed(), 64);
            let mut rest = self.session.output();
            let (n, silent) = (rest.len(), rest.is_empty());
            while let Some(header) = rest.first_chunk::<16>() {
                let [.., a, b, c, d, _, _, _, _] = *header;
                rest = &rest[16 + u32::from_be_bytes([a, b, c, d]) as usize..];
                messages += 1;
            }
            bytes += n;
            self.session.sent(n);
            if requests.is_empty() && silent && turn.is_ok_and(|turn| !turn.more) {
                return (messages, bytes);
            }
        }
    }

    fn measure<M: Message>(&mut self, what: &str, requests: &[M]) {
        let id = self.world.api.table().find(M::NAME).expect("a message");
        let mut out = SendBuffer::default();
        for (context, request) in (1..).zip(requests) {
            let head = Head { client_index: 1, context, ..Head::default() };
            out.message(id, M::HEAD, &head, |bytes| request.put(bytes));
        }
        let (start, memory) = (Instant::now(), resident());
        let (messages, bytes) = self.exchange(out.waiting());
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{what:<8}{messages:>10} answers{:>12.0} a second{seconds:>9.3} s{:>9} KiB{:>10} KiB more memory",
            messages as f64 / seconds,
            bytes >> 10,
            (resident() as i64 - memory as i64) >> 10
        );
    }
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn route(i: u32) -> IpRoute {
    let host = |bits: u32| IpAddr::V4(Ipv4Addr::from_bits(bits));
    let mut path = FibPath { sw_if_index: 1, weight: 1, ..FibPath::default() };
    path.nh.address = host(0x0a00_0002 + i % 200).into();
    let prefix = Prefix { address: Address::from(host((16 << 24) + (i << 8))), len: 24 };
    IpRoute { prefix, paths: vec![path], ..IpRoute::default() }
}

fn main() {
    let n: u32 = std::env::args().nth(1).map_or(100_000, |a| a.parse().expect("a number"));
    let (world, _runtimes) = World::new(&WorldConfig::default(), PLUGINS).expect("an instance");
    let interfaces = world.get::<Interfaces>();
    let new = ethernet("eth0", MacAddr([2, 0, 0, 0, 0, 1]));
    let sw_if = interfaces.create(&world, new, |_, _, _| Tx).expect("an interface");
    interfaces.set_admin(&world, sw_if, true).expect("up");
    let own = "10.0.0.1/24".parse().expect("a prefix");
    world.get::<Addresses<Ip4>>().add(&world, sw_if, own).expect("added");

    let mut client = Client { world: &world, session: Session::default(), start: Instant::now() };
    let greeting = world.api.table().find("sockclnt_create").expect("a message of the protocol");
    let mut out = SendBuffer::default();
    out.message(greeting, &[], &Head::default(), |bytes| bytes.resize(bytes.len() + 4 + 64, 0));
    client.exchange(out.waiting());
    assert!(client.session.client().is_some(), "it has greeted");

    let change = |is_add| move |i| IpRouteAddDel { is_add, is_multipath: false, route: route(i) };
    let (add, remove): (Vec<_>, Vec<_>) =
        ((0..n).map(change(true)).collect(), (0..n).map(change(false)).collect());
    for _ in 0..3 {
        client.measure("add", &add);
        client.measure("again", &add);
        client.measure("dump", &[IpRouteDump { table: IpTable::default() }]);
        client.measure("remove", &remove);
        std::thread::sleep(Duration::from_millis(10));
        world.qsbr.collect();
    }
}
