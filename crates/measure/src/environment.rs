// SPDX-License-Identifier: Apache-2.0
//! The machine and the programs of a run. The tester fills these fields; a report prints them.

use serde::{Deserialize, Serialize};

/// Processor of the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// Name of the model, as the processor reports it.
    pub model: String,
    /// Logical cores that the run may use.
    pub cores: u32,
    /// Threads per physical core.
    pub threads_per_core: u32,
    /// NUMA nodes.
    pub numa_nodes: u32,
    /// Frequency of the time-stamp counter in Hz; 0 if it isn't known.
    pub tsc_hz: f64,
    /// Frequency governor; empty if the machine shows none.
    pub governor: String,
    /// Feature flags that matter to packet processing (`avx2`, `avx512f`, …).
    pub flags: Vec<String>,
    /// Mitigations of processor faults that are active.
    pub mitigations: Vec<String>,
    /// Hypervisor that the processor reports; empty on bare metal.
    pub hypervisor: String,
}

/// Network interface that took part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interface {
    /// Name.
    pub name: String,
    /// Kind of port: veth, AF_XDP, memif, ring …
    pub kind: String,
    /// Driver and its version.
    pub driver: String,
    /// Speed in bits per second; 0 if it has none.
    pub bits_per_second: f64,
    /// Offloads that were switched off for the run.
    pub offloads_off: Vec<String>,
}

/// Description of the machine, its software, and the command of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Processor.
    pub cpu: Cpu,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel with its version.
    pub kernel: String,
    /// Command line of the kernel: isolated cores, huge pages, mitigations.
    pub kernel_command_line: String,
    /// Operating system.
    pub os: String,
    /// Programs with their versions: the tester, the devices, the compiler.
    pub versions: Vec<(String, String)>,
    /// Ports of the tester.
    pub interfaces: Vec<Interface>,
    /// Command that ran, argument by argument.
    pub command: Vec<String>,
    /// Threads of tester and device that are busy at the same time; 0 if it isn't known.
    pub threads: u32,
    /// Threads and cores of the tester and of each device.
    pub placement: Vec<(String, String)>,
    /// Further facts, each with its name: load at the start, temperature, settings.
    pub facts: Vec<(String, String)>,
}

impl Environment {
    /// Sentence to a reader if threads had to share cores.
    pub fn shares_cores(&self) -> Option<String> {
        (self.cpu.cores > 0 && self.threads > self.cpu.cores).then(|| {
            let s = if self.cpu.cores == 1 { "" } else { "s" };
            format!(
                "{} threads of tester and device shared {} core{s}: rates show this machine as much \
                 as the device",
                self.threads, self.cpu.cores
            )
        })
    }

    /// Rows of a table: name and value, without the empty ones.
    pub fn rows(&self) -> Vec<(String, String)> {
        let cpu = &self.cpu;
        let number = |n: f64| if n > 0.0 { n.to_string() } else { String::new() };
        let count = |n: u32| number(f64::from(n));
        let mut rows = vec![
            ("Processor", cpu.model.clone()),
            ("Cores of the run", count(cpu.cores)),
            ("Threads per core", count(cpu.threads_per_core)),
            ("NUMA nodes", count(cpu.numa_nodes)),
            (
                "Time-stamp counter",
                if cpu.tsc_hz > 0.0 { format!("{:.3} GHz", cpu.tsc_hz / 1e9) } else { "".into() },
            ),
            ("Frequency governor", cpu.governor.clone()),
            ("Hypervisor", cpu.hypervisor.clone()),
            ("Processor flags", cpu.flags.join(" ")),
            ("Mitigations", cpu.mitigations.join("; ")),
            (
                "Memory",
                match self.memory_bytes {
                    0 => String::new(),
                    n => format!("{:.1} GiB", n as f64 / f64::from(1u32 << 30)),
                },
            ),
            ("Operating system", self.os.clone()),
            ("Kernel", self.kernel.clone()),
            ("Kernel command line", self.kernel_command_line.clone()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_string(), value))
        .collect::<Vec<_>>();
        rows.extend(self.versions.iter().map(|(n, v)| (format!("Version of {n}"), v.clone())));
        for port in &self.interfaces {
            let mut parts = vec![port.kind.clone(), port.driver.clone()];
            if port.bits_per_second > 0.0 {
                parts.push(format!("{} Gbit/s", port.bits_per_second / 1e9));
            }
            if !port.offloads_off.is_empty() {
                parts.push(format!("off: {}", port.offloads_off.join(" ")));
            }
            parts.retain(|p| !p.is_empty());
            rows.push((format!("Port {}", port.name), parts.join(", ")));
        }
        rows.extend(self.placement.iter().map(|(n, v)| (format!("Threads of {n}"), v.clone())));
        rows.extend(self.facts.iter().cloned());
        rows.push(("Command".into(), self.command.join(" ")));
        rows.retain(|(_, value)| !value.is_empty());
        rows
    }
}
