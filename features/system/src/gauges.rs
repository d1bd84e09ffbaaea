// SPDX-License-Identifier: Apache-2.0
//! Gauges that control writes into the stats segment at intervals: rates, times, memory, buffers.

use crate::memory::kilobytes;
use crate::{Rates, control::RuntimeStart, nets::Nets};
use buffer::SLOT_SIZE;
use graph::{Process, Shared, Sleep, Wake, World, counters};
use net::Routes;
use stats::Gauge;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Default nanoseconds between two updates.
const INTERVAL: u64 = 10_000_000_000;

/// A piece of memory: columns of a row in the directory.
struct Memory([Gauge; 3]);

impl Memory {
    fn new(world: &World, heap: &str) -> Option<Self> {
        let name = format!("/mem/{heap}");
        let row = world.stats.row(&name, 3);
        world.stats.change(|change| {
            for (column, what) in ["total", "used", "free"].into_iter().enumerate() {
                change.symlink(&format!("{name}/{what}"), &name, column);
            }
        });
        row.try_into().ok().map(Self)
    }

    fn set(this: &Option<Self>, total: u64, used: u64) {
        if let Some(Self([all, taken, free])) = this {
            all.set(total);
            taken.set(used);
            free.set(total.saturating_sub(used));
        }
    }
}

/// The gauges of an instance.
pub struct Gauges {
    interval: AtomicU64,
    heartbeat: Gauge,
    last_update: Gauge,
    last_stats_clear: Gauge,
    vector_rate: Gauge,
    input_rate: Gauge,
    vector_rates: Vec<Gauge>,
    loops: Vec<Gauge>,
    cached: Gauge,
    used: Gauge,
    available: Gauge,
    heap: Option<Memory>,
    segment: Option<Memory>,
    buffers: Option<Memory>,
    resident: Gauge,
    cpu: Gauge,
    nets: Nets,
}

impl Shared for Gauges {
    fn make(world: &World) -> Self {
        let scalar = |name: &str| world.stats.scalar(&format!("/sys/{name}"));
        let gauge = |name: &str| world.stats.gauge(&format!("/sys/{name}"));
        let pool = |name: &str| world.stats.gauge(&format!("/buffer-pools/default-numa-0/{name}"));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        scalar("boottime").set(now.as_secs());
        gauge("num_worker_threads").set(world.threads() as u64 - 1);
        Self {
            interval: AtomicU64::new(INTERVAL),
            heartbeat: scalar("heartbeat"),
            last_update: scalar("last_update"),
            last_stats_clear: scalar("last_stats_clear"),
            vector_rate: gauge("vector_rate"),
            input_rate: gauge("input_rate"),
            vector_rates: world.stats.row("/sys/vector_rate_per_worker", world.threads()),
            loops: world.stats.row("/sys/loops_per_worker", world.threads()),
            cached: pool("cached"),
            used: pool("used"),
            available: pool("available"),
            heap: Memory::new(world, "main heap"),
            segment: Memory::new(world, "stat segment"),
            buffers: Memory::new(world, "buffers"),
            resident: gauge("process/resident-bytes"),
            cpu: gauge("process/cpu-milliseconds"),
            nets: Nets::new(world),
        }
    }
}

impl Gauges {
    /// Says how often they are brought up to date.
    pub fn set_interval(&self, interval: Duration) {
        let interval = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1_000_000);
        self.interval.store(interval, Ordering::Relaxed);
    }

    fn update(&self, world: &World, input_rate: f64) {
        let rates = world.get::<Rates>().now(world);
        for ((rate, vector), loops) in rates.iter().zip(&self.vector_rates).zip(&self.loops) {
            vector.set(rate.vector as u64);
            loops.set(rate.loops as u64);
        }
        // Where there are workers, the main thread's few packets don't count.
        let working = if rates.len() > 1 { &rates[1..] } else { &rates[..] };
        let mean =
            working.iter().map(|rate| rate.vector).sum::<f64>() / working.len().max(1) as f64;
        self.vector_rate.set(mean as u64);
        self.input_rate.set(input_rate as u64);

        let pool = world.pool.stats();
        let cached: usize = world.thread_list().iter().map(|thread| thread.cached).sum();
        let depot = pool.depot + pool.loose;
        self.cached.set(cached as u64);
        self.available.set((pool.limit - pool.carved + depot) as u64);
        self.used.set(pool.carved.saturating_sub(depot + cached) as u64);

        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let status = read("/proc/self/status");
        self.resident.set(kilobytes(&status, "VmRSS").unwrap_or(0));
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        self.cpu.set(cpu.tv_sec as u64 * 1000 + cpu.tv_nsec as u64 / 1_000_000);
        let heap = kilobytes(&status, "RssAnon").unwrap_or(0);
        // Nothing limits the heap but what the machine has.
        let more = kilobytes(&read("/proc/meminfo"), "MemAvailable").unwrap_or(0);
        Memory::set(&self.heap, heap + more, heap);
        let (total, used) = world.stats.memory();
        Memory::set(&self.segment, total, used);
        let region = world.pool.region().len() as u64;
        Memory::set(&self.buffers, region, (pool.carved * SLOT_SIZE) as u64);

        self.nets.update(world);

        self.last_stats_clear.set(world.get::<RuntimeStart>().at(world).as_secs());
        self.last_update.set(Duration::from_nanos(world.clock.now()).as_secs());
        // Last: readers that wait for a heartbeat find the other gauges updated.
        self.heartbeat.set(self.heartbeat.get() + 1);
    }
}

/// Brings them up to date.
struct Collector {
    gauges: Arc<Gauges>,
    /// When it last looked, and how many packets had come in.
    last: Option<(Instant, u64)>,
}

impl Collector {
    /// Packets per second that inputs have brought since the last look.
    fn input_rate(&mut self, world: &World) -> f64 {
        let vectors = world.stats.simple(counters::VECTORS);
        let packets: u64 =
            world.nodes_by_input(true).iter().map(|node| vectors.sum(node.at())).sum();
        let now = Instant::now();
        let last = self.last.replace((now, packets));
        let rate = |(at, then): (Instant, u64)| {
            // After `clear runtime' they began again at zero.
            let new = packets.checked_sub(then).unwrap_or(packets);
            new as f64 / now.duration_since(at).as_secs_f64().max(1e-9)
        };
        last.map_or(0.0, rate)
    }
}

impl Process for Collector {
    fn name(&self) -> &'static str {
        "statseg-collector-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let rate = self.input_rate(world);
        self.gauges.update(world, rate);
        // Not while routes go: when most of a large table has gone.
        world.get::<Routes>().settle();
        Sleep::Until(world.clock.now() + self.gauges.interval.load(Ordering::Relaxed))
    }
}

pub fn start(world: &World) {
    let signal = world.processes.signal();
    world.processes.spawn(Box::new(Collector { gauges: world.get(), last: None }), &signal);
}
