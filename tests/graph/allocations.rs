// SPDX-License-Identifier: Apache-2.0
//! A thread that carries packets asks nobody for memory: an allocator may lock, and may ask the
//! system. What control shows takes no more of it than it needs.

mod shows;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use daemon::plugins;
use graph::drive::Bench;
use netlink::Namespace;
use testkit::lab;
use wire::MacAddr;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes that this thread took and hasn't given back, and the most since the last [`peak`]
    /// began.
    static BYTES: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
    /// Bytes that this thread took, whether it gave them back or not.
    static TAKEN: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    // A thread that is ending has no place to count any more, and carries no packets.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
    let _ = TAKEN.try_with(|n| n.set(n.get() + bytes.max(0)));
    let _ = BYTES.try_with(|b| {
        let (now, most) = b.get();
        b.set((now + bytes, most.max(now + bytes)));
    });
}

/// Runs `f`; gives how many bytes this thread held at most meanwhile, above those that it held
/// before.
fn peak<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let (before, _) = BYTES.get();
    BYTES.set((before, before));
    let result = f();
    let (_, most) = BYTES.get();
    (result, (most - before) as usize)
}

/// Runs `f` and returns the number of allocations and frees of this thread meanwhile: a measure of
/// work that is the same on every machine.
fn allocations<R>(f: impl FnOnce() -> R) -> (R, u64) {
    let before = ALLOCATIONS.get();
    let result = f();
    (result, ALLOCATIONS.get() - before)
}

// SAFETY: the system's allocator, asked in the same way.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as our caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as our caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        // SAFETY: as our caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs turns of the graph; gives how often this thread took or gave back memory meanwhile, and the
/// packets that came in.
fn turns(bench: &mut Bench, n: usize) -> (u64, usize) {
    let before = ALLOCATIONS.get();
    let packets = (0..n).map(|_| bench.rt.turn(true)).sum();
    (ALLOCATIONS.get() - before, packets)
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.get() - before, 2);
}

#[test]
fn forwarding_takes_no_memory() {
    let mut bench = Bench::new(plugins::ALL);
    for line in [
        "create packet-generator interface pg0 hw-addr 02:fe:00:00:00:01",
        "create packet-generator interface pg1",
        "set interface state pg0 up",
        "set interface state pg1 up",
        "set interface ip address pg0 10.0.1.1/24",
        "set interface ip address pg1 10.0.2.1/24",
        "set ip neighbor pg0 10.0.1.2 02:aa:00:00:00:01 static",
        "set ip neighbor pg1 10.0.2.2 02:aa:00:00:00:02 static",
        "ip route add 10.3.0.0/16 via 10.0.2.2 pg1",
        // Forwarded, in full vectors; dropped, in small ones; and answered with errors.
        "packet-generator new { name x interface pg0 data { IP4: 02:aa:00:00:00:01 -> 02:fe:00:00:00:01 \
         UDP: 10.0.1.2 -> 10.3.0.1-10.3.0.250 UDP: 1 -> 2 incrementing 22 } }",
        "packet-generator new { name y interface pg0 maxframe 3 data { IP4: 1.2.3 -> 4.5.6 \
         UDP: 10.0.1.2 -> 10.3.0.1 UDP: 1 -> 2 incrementing 22 } }",
        "packet-generator new { name z interface pg0 maxframe 20 data { IP4: 02:aa:00:00:00:01 -> 02:fe:00:00:00:01 \
         UDP: 10.0.1.2 -> 192.0.2.1 UDP: 1 -> 2 incrementing 22 } }",
        "packet-generator enable-stream",
    ] {
        bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    }
    turns(&mut bench, 1000);
    for _ in 0..3 {
        // Past the nodes' ticks.
        bench.world.clock.adjust(1_100_000_000);
        let (allocations, packets) = turns(&mut bench, 2000);
        assert_eq!(packets, 2000 * (256 + 3 + 20));
        assert_eq!(allocations, 0, "while {packets} packets passed");
    }
    let sent = bench.world.get::<net::IfCounters>().tx.sum(2).0;
    assert!(sent >= 6000 * 256, "only {sent} packets were forwarded");
    assert!(bench.count("ip4-icmp-error", "dest_unreach_sent") > 0);
    bench.cli("packet-generator disable-stream").expect("streams to stop");
    bench.settle();
}

/// Makes `n` interfaces with an address of either version each, and deletes them. Returns the bytes
/// that each kind of command allocated: whatever copies a table shows in them.
fn interfaces_with_addresses(n: u32) -> [(&'static str, i64); 6] {
    let mut bench = Bench::new(plugins::ALL);
    let tree = cli::Tree::new(plugins::ALL.iter().flat_map(|p| p.cli)).expect("fits together");
    let mut work = ["create", "ip4", "ip6", "up", "mtu", "delete"].map(|what| (what, 0));
    let mut run = |kind: usize, line: String| {
        let before = TAKEN.get();
        tree.execute(&bench.world, &line).unwrap_or_else(|e| panic!("{line}: {e}"));
        bench.settle();
        work[kind].1 += TAKEN.get() - before;
    };
    for i in 0..n {
        run(0, format!("create loopback interface instance {i}"));
        run(1, format!("set interface ip address loop{i} 10.{}.{}.1/24", i >> 8, i & 255));
        run(2, format!("set interface ip address loop{i} 2001:db8:{i:x}::1/64"));
        run(3, format!("set interface state loop{i} up"));
    }
    (0..n).for_each(|i| run(4, format!("set interface mtu 1400 loop{i}")));
    (0..n).for_each(|i| run(5, format!("delete loopback interface intfc loop{i}")));
    work
}

/// The cost of one more interface doesn't grow with the number of interfaces.
#[test]
fn interfaces_with_addresses_take_linear_work() {
    let (few, many) = (interfaces_with_addresses(400), interfaces_with_addresses(800));
    for ((what, few), (_, many)) in few.into_iter().zip(many) {
        assert!(2 * many < 5 * few, "{what}: {few} bytes for 400 interfaces, {many} for 800");
        println!("{what}: {few} bytes for 400 interfaces, {many} for 800");
    }
}

/// Between a host behind a tap and one behind a veth pair, super-packets with partial checksums and
/// all.
#[test]
fn drivers_take_no_memory() {
    let Some(lab) = lab::require(&["root", "iperf3", "/dev/net/tun"]) else { return };
    let (left, right, router) = (lab.netns("left"), lab.netns("right"), lab.netns("router"));
    lab.veth((&right, "eth0"), (&router, "right"));
    right.addr("eth0", "10.0.2.2/24");
    right.route("default", "10.0.2.1");
    let namespace = Namespace::open(router.name().expect("its own")).expect("opened");
    let ns = left.name().expect("its own");
    let forward = || {
        let mut bench = Bench::new(plugins::ALL);
        let create = format!(
            "create tap id 0 hw-addr 02:fe:00:00:00:01 host-ns {ns} host-if-name eth0 \
             host-ip4-addr 10.0.1.2/24 host-ip4-gw 10.0.1.1 host-mac-addr 02:00:00:00:00:01"
        );
        for line in [
            create.as_str(),
            "create host-interface name right hw-addr 02:fe:00:00:00:02",
            "set interface state tap0 up",
            "set interface state host-right up",
            "set interface ip address tap0 10.0.1.1/24",
            "set interface ip address host-right 10.0.2.1/24",
            "set ip neighbor tap0 10.0.1.2 02:00:00:00:00:01 static",
            &format!("set ip neighbor host-right 10.0.2.2 {} static", right.mac("eth0")),
        ] {
            bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        left.neighbor("eth0", "10.0.1.1", MacAddr([2, 0xfe, 0, 0, 0, 1]));
        right.neighbor("eth0", "10.0.2.1", MacAddr([2, 0xfe, 0, 0, 0, 2]));
        bench.settle();
        let server = right.command("iperf3").args(["-s", "-1", "--forceflush"]).spawn();
        server.wait_for("listening", Duration::from_secs(10));
        // An amount, not a time: at least 6,100 packets of 64 KiB, however busy the machine is.
        let mut client = left.command("iperf3").args(["-c", "10.0.2.2", "-n", "400M"]).spawn();
        let (mut warm, mut all) = ((0, 0), (0, 0));
        while client.is_running() {
            let now = turns(&mut bench, 1000);
            all = (all.0 + now.0, all.1 + now.1);
            if all.1 < 2000 {
                warm = all;
            }
        }
        assert!(all.1 > 2 * warm.1 + 1000, "only {} packets came in", all.1);
        assert_eq!(all.0 - warm.0, 0, "while {} packets passed", all.1 - warm.1);
        for line in ["delete tap tap0", "delete host-interface name right"] {
            bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        Ok(())
    };
    namespace.run(forward).expect("run in the namespace");
}
