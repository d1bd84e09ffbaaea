// SPDX-License-Identifier: Apache-2.0
//! Facts about the machine for the report.

use std::collections::BTreeSet;
use std::fs;

use measure::{Cpu, Environment, Interface};

use crate::lab::OFFLOADS;
use crate::port::memif::RING;

/// Feature flags of processors that matter to forwarding.
const FLAGS: [&str; 12] = [
    "aes",
    "avx",
    "avx2",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "bmi2",
    "constant_tsc",
    "nonstop_tsc",
    "pdpe1gb",
    "rdtscp",
    "vaes",
];

fn line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_string()
}

/// The values of a field of /proc/cpuinfo, one for each core.
fn fields<'t>(text: &'t str, name: &'static str) -> impl Iterator<Item = &'t str> {
    text.lines().filter_map(move |line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

fn cpu(tsc_hz: f64) -> Cpu {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let all: BTreeSet<&str> =
        fields(&info, "flags").next().unwrap_or_default().split_whitespace().collect();
    let number = |name| fields(&info, name).next().and_then(|n| n.parse::<u32>().ok());
    let threads = match (number("siblings"), number("cpu cores")) {
        (Some(siblings), Some(cores)) if cores > 0 => siblings / cores,
        _ => 0,
    };
    let nodes = fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten();
    let is_node = |name: &str| name.strip_prefix("node").is_some_and(|n| n.parse::<u32>().is_ok());
    let nodes = nodes.filter(|entry| entry.file_name().to_str().is_some_and(is_node)).count();
    let mitigations = fs::read_dir("/sys/devices/system/cpu/vulnerabilities");
    let mut mitigations: Vec<String> = mitigations
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let state = fs::read_to_string(entry.path()).ok()?;
            let state = state.trim().strip_prefix("Mitigation: ")?.to_string();
            Some(format!("{}: {state}", entry.file_name().to_string_lossy()))
        })
        .collect();
    mitigations.sort();
    Cpu {
        model: fields(&info, "model name").next().unwrap_or_default().into(),
        cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        threads_per_core: threads,
        numa_nodes: nodes as u32,
        tsc_hz,
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        flags: FLAGS.iter().filter(|flag| all.contains(*flag)).map(ToString::to_string).collect(),
        mitigations,
        hypervisor: if all.contains("hypervisor") { "yes".into() } else { String::new() },
    }
}

/// Describes this machine. `ports` are the kinds of ports of the run.
pub fn describe(tsc_hz: f64, ports: &BTreeSet<&str>) -> Environment {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = fields(&memory, "MemTotal").next().unwrap_or_default();
    let kib = kib.trim_end_matches(" kB").parse::<u64>().unwrap_or(0);
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let system = rustix::system::uname();
    let kernel = [system.sysname(), system.release(), system.version(), system.machine()];
    let kernel: Vec<_> = kernel.iter().map(|part| part.to_string_lossy()).collect();
    let interfaces = ports
        .iter()
        .map(|kind| Interface {
            name: "left and right".into(),
            kind: kind.to_string(),
            driver: match *kind {
                "veth" => "AF_PACKET, ring version 2".into(),
                "memif" => format!("memif 2.0, rings of {RING}"),
                _ => String::new(),
            },
            bits_per_second: 0.0,
            offloads_off: match *kind {
                "veth" => OFFLOADS.map(String::from).to_vec(),
                _ => Vec::new(),
            },
        })
        .collect();
    Environment {
        cpu: cpu(tsc_hz),
        memory_bytes: kib << 10,
        kernel: kernel.join(" "),
        kernel_command_line: relevant(&line("/proc/cmdline")),
        os: name.unwrap_or_default().trim_matches('"').into(),
        versions: vec![("ferrotest".into(), env!("CARGO_PKG_VERSION").into())],
        interfaces,
        command: std::env::args().collect(),
        placement: Vec::new(),
        threads: 0,
        facts: vec![
            ("Load average at the start".into(), line("/proc/loadavg")),
            ("Frequency of the cores at the start".into(), frequency()),
        ],
    }
}

/// Options of a kernel's command line that change how fast packets are forwarded. Others name disks
/// and consoles, which are nobody's business.
fn relevant(options: &str) -> String {
    const NAMES: [&str; 20] = [
        "default_hugepagesz",
        "hugepages",
        "hugepagesz",
        "idle",
        "intel_idle.max_cstate",
        "intel_iommu",
        "amd_iommu",
        "intel_pstate",
        "amd_pstate",
        "iommu",
        "irqaffinity",
        "isolcpus",
        "mitigations",
        "nohz",
        "nohz_full",
        "nosmt",
        "preempt",
        "processor.max_cstate",
        "rcu_nocbs",
        "tsc",
    ];
    let is_relevant = |option: &&str| NAMES.contains(&option.split('=').next().unwrap_or(""));
    options.split_whitespace().filter(is_relevant).collect::<Vec<_>>().join(" ")
}

/// Least and greatest frequency of the cores now; empty if the processor doesn't say.
fn frequency() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let all: Vec<f64> = fields(&info, "cpu MHz").filter_map(|text| text.parse().ok()).collect();
    let (low, high) = all
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), mhz| (low.min(*mhz), high.max(*mhz)));
    match all.is_empty() {
        true => String::new(),
        false if high - low < 1.0 => format!("{high:.0} MHz"),
        false => format!("{low:.0} to {high:.0} MHz"),
    }
}

/// Seconds since a time in UTC as [`utc_now`] writes it; 0 for another text.
pub fn seconds_since(time: &str) -> f64 {
    let Some(time) = measure::report::unix_time(time) else { return 0.0 };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0.0, |since| since.as_secs_f64());
    (now - time).max(0.0)
}

/// Time now in UTC, as RFC 3339 writes it.
pub fn utc_now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    utc(since.map_or(0, |since| since.as_secs()))
}

/// Days to year, month and day: Howard Hinnant's algorithm "civil_from_days".
fn utc(seconds: u64) -> String {
    let (days, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn times_are_those_of_date() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }

    #[suite::test]
    fn this_machine_has_a_processor_and_memory() {
        let here = describe(1e9, &["veth"].into());
        assert!(here.cpu.cores > 0 && here.memory_bytes > 1 << 20 && !here.kernel.is_empty());
        assert_eq!(here.interfaces[0].offloads_off.len(), OFFLOADS.len());
    }
}
