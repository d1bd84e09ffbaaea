// SPDX-License-Identifier: Apache-2.0
use super::checks::all;
use super::daemon::{Daemon, Use};
use super::machine::{Machine, list, processors};
use super::{Finding, State, offloads, text, to_json};
use std::path::Path;

/// Writes files of the kernel below a directory.
fn machine(dir: &Path, files: &[(&str, &str)]) -> Machine {
    for (path, text) in files {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    Machine::below(dir)
}

fn state<'a>(findings: &'a [Finding], check: &str) -> &'a State {
    &findings.iter().find(|f| f.check == check).unwrap_or_else(|| panic!("{check}")).state
}

fn daemon() -> Daemon {
    let netdevs = vec![("eth9".into(), Use::AfPacket)];
    Daemon { pid: "77".into(), workers: [2, 3].into(), netdevs }
}

const GOOD: &[(&str, &str)] = &[
    ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "128\n"),
    ("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "100\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("proc/77/status", "Name:\tferrovia\nCapEff:\t000000ffffffffff\n"),
    ("proc/sys/net/core/rmem_max", "212992\n"),
    ("sys/devices/system/cpu/isolated", "2-3\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "0,2\n"),
    ("sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "1,3\n"),
    ("proc/irq/9/effective_affinity_list", "0-1\n"),
];

const BAD: &[(&str, &str)] = &[
    ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n"),
    ("sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size advise [never]\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
    ("proc/77/status", "CapEff:\t0000000000000000\n"),
    ("proc/sys/net/core/rmem_max", "212992\n"),
    ("sys/devices/system/cpu/isolated", "3\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2-3\n"),
    ("sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "2-3\n"),
    ("proc/irq/9/effective_affinity_list", "2\n"),
    ("proc/5/comm", "irqbalance\n"),
];

#[suite::test]
fn a_prepared_machine_has_nothing_to_mend() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut daemon = daemon();
    daemon.netdevs.clear();
    let findings = all(&machine(dir.path(), GOOD), Some(&daemon));
    let wrong: Vec<_> = findings.iter().filter(|f| f.state != State::Good).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(findings.len(), 8);
    assert!(text(&findings, None).ends_with("Nothing to mend.\n"));
}

#[suite::test]
fn each_fault_is_found_with_its_command() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut daemon = daemon();
    daemon.netdevs.clear();
    let findings = all(&machine(dir.path(), BAD), Some(&daemon));
    for f in &findings {
        let wanted = if f.check == "capabilities" { State::Problem } else { State::Advice };
        assert_eq!(f.state, wanted, "{f:#?}");
        assert!(!f.mend.is_empty() && !f.why.is_empty(), "{f:#?}");
    }
    let shown = text(&findings, None);
    for part in [
        "for irq in 9; do echo 0-1 >/proc/irq/$irq/smp_affinity_list; done",
        "IRQBALANCE_BANNED_CPULIST=2-3",
        "isolcpus=2-3 nohz_full=2-3",
        "workers on 2-3, of which 2 run other programs",
    ] {
        assert!(shown.contains(part), "{part} is missing:\n{shown}");
    }
    let json = to_json(&findings, None);
    assert_eq!(json["checks"].as_array().map(Vec::len), Some(findings.len()));
}

#[suite::test]
fn without_a_daemon_the_machine_is_looked_at() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut files = GOOD.to_vec();
    files.push(("proc/self/status", "CapEff:\t0000000000003000\n"));
    let findings = all(&machine(dir.path(), &files), None);
    assert_eq!(state(&findings, "capabilities"), &State::Problem, "CAP_BPF is missing");
    assert!(
        text(&findings, Some("no socket")).contains("Only the machine was looked at: no socket")
    );
}

#[suite::test]
fn checksums_of_a_peer_of_af_xdp() {
    let dir = tempfile::tempdir().expect("a directory");
    let machine = machine(
        dir.path(),
        &[
            ("sys/class/net/a/ifindex", "5\n"),
            ("sys/class/net/a/iflink", "6\n"),
            ("sys/class/net/b/ifindex", "6\n"),
            ("sys/class/net/b/iflink", "5\n"),
            ("sys/class/net/away/ifindex", "7\n"),
            ("sys/class/net/away/iflink", "6\n"),
            ("sys/class/net/nic/ifindex", "8\n"),
            ("sys/class/net/nic/iflink", "8\n"),
        ],
    );
    let check = |name: &str, of, peer: &str| {
        let features = |asked: &str| match asked {
            "b" => Some(peer.to_string()),
            "lro" => Some("large-receive-offload: on\n".into()),
            "gone" => None,
            _ => Some("tx-checksumming: on\nlarge-receive-offload: off [fixed]\n".into()),
        };
        offloads::check(&machine, name, of, &features)
    };
    let on = check("a", Use::AfXdp, "tx-checksumming: on\n");
    assert_eq!((&on.state, on.mend.as_str()), (&State::Problem, "ethtool -K b tx off"));
    assert_eq!(check("a", Use::AfXdp, "tx-checksumming: off\n").state, State::Good);
    assert_eq!(check("a", Use::AfPacket, "tx-checksumming: on\n").state, State::Good);
    assert_eq!(check("away", Use::AfXdp, "").state, State::Advice);
    assert_eq!(check("nic", Use::AfXdp, "").state, State::Good);
    assert_eq!(check("lro", Use::AfXdp, "").state, State::Problem);
    assert_eq!(check("gone", Use::AfXdp, "").state, State::Unknown);
}

#[suite::test]
fn lists_of_processors() {
    assert_eq!(list(&processors("0-2,5,7-8")), "0-2,5,7-8");
    assert_eq!(list(&processors("")), "");
    assert!(processors("x,3").contains(&3));
}
