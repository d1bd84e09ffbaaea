// SPDX-License-Identifier: Apache-2.0
//! The checks of processors, memory and rights.

use super::daemon::{Daemon, Use};
use super::machine::{Machine, list};
use super::{Finding, State, offloads};
use std::collections::BTreeSet;

/// All checks, in the order in which they are shown.
pub fn all(machine: &Machine, daemon: Option<&Daemon>) -> Vec<Finding> {
    let mut found = vec![huge_pages(machine), governor(machine), clock(machine)];
    found.push(rights(machine, daemon));
    found.push(receive_buffer(machine, daemon));
    let Some(daemon) = daemon else { return found };
    found.extend(locked_memory(machine, daemon));
    if daemon.workers.is_empty() {
        found.push(Finding::good("workers", "none: the main thread forwards"));
    } else {
        found.push(isolation(machine, daemon));
        found.push(siblings(machine, daemon));
        found.push(interrupts(machine, daemon));
    }
    found.extend(offloads::all(machine, daemon));
    found
}

/// Buffers lie in 2 MiB pages of the kernel's pool if it has enough, else in transparent ones.
fn huge_pages(machine: &Machine) -> Finding {
    const CHECK: &str = "huge pages";
    const POOL: &str = "sys/kernel/mm/hugepages/hugepages-2048kB";
    if let Some(total) = machine.number(&format!("{POOL}/nr_hugepages")).filter(|n| *n > 0) {
        let free = machine.number(&format!("{POOL}/free_hugepages")).unwrap_or(0);
        return Finding::good(CHECK, format!("{total} of 2 MiB, {free} free"));
    }
    let chosen = machine.text("sys/kernel/mm/transparent_hugepage/shmem_enabled");
    let chosen = chosen.as_deref().and_then(|all| all.split_once('[')?.1.split_once(']'));
    match chosen.map(|(word, _)| word) {
        Some(word @ ("always" | "within_size" | "advise" | "force")) => {
            Finding::good(CHECK, format!("none in the pool; transparent ones: {word}"))
        }
        _ => Finding::to_mend(
            CHECK,
            State::Advice,
            "none",
            "buffers lie in pages of 4 KiB: each burst touches many entries of the TLB",
            "sysctl -w vm.nr_hugepages=128\n\
             echo advise >/sys/kernel/mm/transparent_hugepage/shmem_enabled   # or without a pool",
        ),
    }
}

fn governor(machine: &Machine) -> Finding {
    const CHECK: &str = "CPU frequency";
    let all: BTreeSet<String> = machine
        .names("sys/devices/system/cpu")
        .iter()
        .filter_map(|cpu| {
            machine.text(&format!("sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor"))
        })
        .collect();
    let words = all.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    if all.is_empty() {
        Finding::good(CHECK, "not set by this system")
    } else if words == "performance" {
        Finding::good(CHECK, words)
    } else {
        Finding::to_mend(
            CHECK,
            State::Advice,
            words,
            "a processor that slows down after a pause loses the first packets of the next burst",
            "cpupower frequency-set -g performance",
        )
    }
}

fn clock(machine: &Machine) -> Finding {
    const CHECK: &str = "clock source";
    match machine.text("sys/devices/system/clocksource/clocksource0/current_clocksource") {
        None => Finding::unknown(CHECK, "the kernel doesn't say"),
        Some(name) if matches!(name.as_str(), "tsc" | "kvm-clock" | "arch_sys_counter") => {
            Finding::good(CHECK, name)
        }
        Some(name) => Finding::to_mend(
            CHECK,
            State::Advice,
            name,
            "reading the time is a system call or an access to a slow device",
            "echo tsc >/sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
    }
}

/// The effective capabilities of the daemon, or of whoever asks, a bit for each number.
fn capabilities(machine: &Machine, daemon: Option<&Daemon>) -> Option<u64> {
    let pid = daemon.map_or("self", |daemon| &daemon.pid);
    u64::from_str_radix(&machine.status(pid, "CapEff")?, 16).ok()
}

/// Capabilities by their number in capabilities(7), and what needs them.
const RIGHTS: [(u32, &str, &str); 3] = [
    (12, "CAP_NET_ADMIN", "taps, addresses and routes of Linux, AF_XDP"),
    (13, "CAP_NET_RAW", "interfaces of Linux by AF_PACKET or AF_XDP"),
    (39, "CAP_BPF", "AF_XDP, filters of captures in the kernel"),
];

fn rights(machine: &Machine, daemon: Option<&Daemon>) -> Finding {
    const CHECK: &str = "capabilities";
    let Some(bits) = capabilities(machine, daemon) else {
        return Finding::unknown(CHECK, "the process can't be looked at");
    };
    // Kernels before 5.8 have no CAP_BPF: CAP_SYS_ADMIN (21) stands for it, today too.
    let has = |bit: u32| bits & 1 << bit != 0 || bit == 39 && bits & 1 << 21 != 0;
    let missing: Vec<_> = RIGHTS.into_iter().filter(|(bit, ..)| !has(*bit)).collect();
    if missing.is_empty() {
        return Finding::good(CHECK, "all that interfaces of Linux need");
    }
    let names: Vec<_> = missing.iter().map(|(_, name, _)| *name).collect();
    let needs = |(_, name, what): &(u32, &str, &str)| format!("# {name}: {what}\n");
    let whose = if daemon.is_some() { "the daemon has no " } else { "this user has no " };
    Finding::to_mend(
        CHECK,
        State::Problem,
        format!("{whose}{}", names.join(", ")),
        "without them only memif, vhost-user, packet generator and capture files work",
        missing.iter().map(needs).collect::<String>()
            + "start it by systemd (extras/systemd), as root, or: \
               setcap cap_net_admin,cap_net_raw,cap_bpf+ep ferrovia",
    )
}

/// Bytes that a socket for the kernel's messages wants.
const WANTED_BUFFER: u64 = 4 << 20;

fn receive_buffer(machine: &Machine, daemon: Option<&Daemon>) -> Finding {
    const CHECK: &str = "receive buffers";
    let Some(most) = machine.number("proc/sys/net/core/rmem_max") else {
        return Finding::unknown(CHECK, "the kernel doesn't say");
    };
    // With CAP_NET_ADMIN (12) a socket may have more than the limit: socket(7), SO_RCVBUFFORCE.
    if capabilities(machine, daemon).is_some_and(|bits| bits & 1 << 12 != 0) {
        return Finding::good(CHECK, "any, by CAP_NET_ADMIN");
    }
    if most >= WANTED_BUFFER {
        return Finding::good(CHECK, format!("at most {most} bytes"));
    }
    Finding::to_mend(
        CHECK,
        State::Advice,
        format!("at most {most} bytes"),
        "messages of the kernel about links and routes are lost in a burst, and asked for again",
        format!("sysctl -w net.core.rmem_max={WANTED_BUFFER}"),
    )
}

/// Packet memory of AF_XDP is locked.
fn locked_memory(machine: &Machine, daemon: &Daemon) -> Option<Finding> {
    const CHECK: &str = "locked memory";
    daemon.netdevs.iter().find(|(_, of)| *of == Use::AfXdp)?;
    let limits = machine.text(&format!("proc/{}/limits", daemon.pid));
    let line = limits.as_deref().and_then(|text| {
        text.lines()
            .find_map(|line| line.strip_prefix("Max locked memory"))?
            .split_whitespace()
            .next()
    });
    Some(match line {
        None => Finding::unknown(CHECK, "the kernel doesn't say"),
        Some("unlimited") => Finding::good(CHECK, "unlimited"),
        Some(bytes) => Finding::to_mend(
            CHECK,
            State::Advice,
            format!("at most {bytes} bytes"),
            "kernels before 5.11 refuse more interfaces by AF_XDP once it is used up",
            "LimitMEMLOCK=infinity in the unit, or `ulimit -l unlimited' before the start",
        ),
    })
}

fn isolation(machine: &Machine, daemon: &Daemon) -> Finding {
    const CHECK: &str = "isolated cores";
    let isolated = machine.processors("sys/devices/system/cpu/isolated").unwrap_or_default();
    let shared: BTreeSet<_> = daemon.workers.difference(&isolated).copied().collect();
    if shared.is_empty() {
        return Finding::good(CHECK, format!("workers on {}", list(&daemon.workers)));
    }
    let all = list(&daemon.workers);
    Finding::to_mend(
        CHECK,
        State::Advice,
        format!("workers on {all}, of which {} run other programs", list(&shared)),
        "a worker that waits for a turn loses packets of small queues",
        format!("isolcpus={all} nohz_full={all} rcu_nocbs={all}   # kernel command line"),
    )
}

fn siblings(machine: &Machine, daemon: &Daemon) -> Finding {
    const CHECK: &str = "hyper-threads";
    let of = |cpu: usize| {
        machine
            .processors(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))
            .unwrap_or_default()
    };
    let both: BTreeSet<usize> = daemon
        .workers
        .iter()
        .copied()
        .filter(|cpu| of(*cpu).iter().any(|s| s != cpu && daemon.workers.contains(s)))
        .collect();
    if both.is_empty() {
        return Finding::good(CHECK, "each worker has a core");
    }
    Finding::to_mend(
        CHECK,
        State::Advice,
        format!("workers on {} share cores", list(&both)),
        "two workers on one core forward little more than one",
        "cpu { corelist-workers … } in startup.conf, with one thread of each core",
    )
}

/// Interrupts of devices on the workers' processors.
fn interrupts(machine: &Machine, daemon: &Daemon) -> Finding {
    const CHECK: &str = "interrupts";
    let others = machine
        .processors("sys/devices/system/cpu/online")
        .map(|online| online.difference(&daemon.workers).copied().collect::<BTreeSet<_>>());
    let there: Vec<_> = machine
        .names("proc/irq")
        .into_iter()
        .filter(|irq| {
            let at = machine.processors(&format!("proc/irq/{irq}/effective_affinity_list"));
            at.is_some_and(|at| !at.is_disjoint(&daemon.workers))
        })
        .collect();
    let Some(others) = others.filter(|others| !others.is_empty()) else {
        return Finding::good(CHECK, "there is no processor without a worker");
    };
    if there.is_empty() {
        return Finding::good(CHECK, "none on the workers' processors");
    }
    let mut mend = String::new();
    if machine.is_running("irqbalance") {
        mend += &format!(
            "IRQBALANCE_BANNED_CPULIST={} in /etc/default/irqbalance\n",
            list(&daemon.workers)
        );
    }
    mend += &format!(
        "for irq in {}; do echo {} >/proc/irq/$irq/smp_affinity_list; done",
        there.join(" "),
        list(&others)
    );
    Finding::to_mend(
        CHECK,
        State::Advice,
        format!("{} on the workers' processors", there.len()),
        "each one stops a worker for some microseconds",
        mend,
    )
}
