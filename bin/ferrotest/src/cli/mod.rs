// SPDX-License-Identifier: Apache-2.0
//! The command line.

pub mod extras;
mod options;
mod scale;
mod siitperf;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use measure::Mode;
use measure::papers::Paper;

use crate::dut::Spec;
use crate::paper;
use crate::run::Plan;
use options::positive;
pub use options::{Options, Outputs};
pub use scale::Scale;

/// Measures packet forwarding: RFC 2544, 5180, 4814 and 8219 in one command.
///
/// DEVICE is none (the tester against itself), none:IMPAIRMENTS (a stage with a known answer, in
/// simulated time), linux, linux:nat, linux:bridge, ferrovia, vpp, or external:SCRIPT.
///
/// A first look at one device takes about two minutes, a comparison of two devices five (64 bytes,
/// IPv4, profile quick); each further size or family takes as long again. The profile rfc2544 takes
/// about seven hours for one device, mode and size. Each run says how long it takes before it
/// starts.
///
/// Files of another run are not overwritten without --force.
///
/// Exit status: 0 all was measured, 1 something could not be measured, 2 wrong arguments, 3 an
/// assertion doesn't hold, 4 most trials were not valid, 130 interrupted.
#[derive(Parser, Debug)]
#[command(name = "ferrotest", version)]
pub struct Arguments {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Verbs of the tester.
#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Measure the tester against itself.
    Selftest {
        /// Kind of port.
        #[arg(long, value_enum, default_value_t = PortKind::Ring)]
        port: PortKind,
        /// Options.
        #[command(flatten)]
        options: Options,
    },
    /// Throughput: highest rate without loss (RFC 2544 §26.1).
    Throughput(One),
    /// No-drop and partial-drop rate (MLRsearch, RFC 9971).
    Ndrpdr(One),
    /// Maximum receive rate under the highest load.
    Mrr(One),
    /// Frame loss rate by load (RFC 2544 §26.3).
    Loss(One),
    /// Latency at shares of the throughput (RFC 8219 §7.2).
    Latency(One),
    /// Packet delay variation (RFC 8219 §7.3.1).
    Pdv(One),
    /// Inter-packet delay variation (RFC 8219 §7.3.2).
    Ipdv(One),
    /// Back-to-back frames (RFC 2544 §26.4, RFC 9004).
    B2b(One),
    /// Recovery from overload (RFC 2544 §26.5).
    Recovery(One),
    /// Reset of the device under load (RFC 6201).
    Reset(One),
    /// Time for which a load of routes blocks traffic, at 90 % of the throughput.
    Reconfig(One),
    /// New sessions per second of a NAT (RFC 9693).
    NatCps(One),
    /// Sessions per second that a NAT removes (RFC 9693).
    NatTeardown(One),
    /// Sessions that a NAT holds (RFC 9693).
    NatCapacity(One),
    /// Throughput of a NAT with its sessions open (RFC 9693).
    NatThroughput(One),
    /// One load for a long time.
    Soak(One),
    /// Compare devices: the same traffic, in turns.
    Compare {
        /// Devices.
        #[arg(required = true, num_args = 2..)]
        devices: Vec<Spec>,
        /// Modes, separated by commas.
        #[arg(long, value_delimiter = ',', default_value = "throughput,mrr")]
        modes: Vec<Mode>,
        /// Options.
        #[command(flatten)]
        options: Options,
    },
    /// Rates as the number of workers, flows or routes grows.
    Scale(Scale),
    /// A laboratory by hand: three namespaces, two veth pairs.
    Lab {
        /// Make it, or remove it.
        #[arg(value_enum)]
        what: LabVerb,
    },
    /// Send the frames of a capture file through a device.
    Replay {
        /// Capture file with Ethernet frames.
        file: PathBuf,
        /// Device.
        device: Spec,
        /// Frames per second; the times of the file if it isn't given.
        #[arg(long, value_parser = positive)]
        rate: Option<f64>,
        /// Capture file for the frames that come back.
        #[arg(long)]
        write: Option<PathBuf>,
        /// Permit addresses outside of 198.18.0.0/15 and 2001:2::/48.
        #[arg(long)]
        any_address: bool,
        /// Overwrite the file of what comes back.
        #[arg(long)]
        force: bool,
    },
    /// Make reports of a result file.
    Report {
        /// Result file.
        file: PathBuf,
        /// Files.
        #[command(flatten)]
        outputs: Outputs,
    },
    /// The experiments of a study, as far as this machine has cores.
    Paper {
        /// The study: kosak-lencse or slavik.
        study: Paper,
        /// Devices; otherwise linux and ferrovia, and linux:nat where the study has NAT.
        devices: Vec<Spec>,
        /// Options.
        #[command(flatten)]
        options: Options,
    },
    /// Write the manual page and the completions for shells, as `make install` does.
    #[command(hide = true)]
    Extras {
        /// Folder, such as /usr/local/share.
        share: PathBuf,
    },
}

/// Kind of port of a self-test.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortKind {
    /// Rings in the process.
    Ring,
    /// A veth pair, by AF_PACKET.
    Veth,
    /// AF_XDP; not built yet.
    AfXdp,
    /// Tap; only with a device between, by `--interface tap` of other verbs.
    Tap,
    /// Two ends of memif in the process.
    Memif,
    /// DPDK; not built yet.
    Dpdk,
}

/// Verb of `lab`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LabVerb {
    /// Make it.
    Up,
    /// Remove it.
    Down,
}

/// A mode on one device.
#[derive(Args, Debug)]
pub struct One {
    /// Device.
    pub device: Spec,
    /// Options.
    #[command(flatten)]
    options: Options,
}

/// The action that a verb asks for.
#[derive(Debug)]
pub enum Action {
    /// Measure.
    Run(Box<Plan>, Outputs),
    /// Measure the tester against itself.
    Selftest(PortKind, Box<Plan>, Outputs),
    /// Make the lab, or remove it.
    Lab(LabVerb),
    /// Replay a capture file.
    Replay {
        /// Capture file.
        file: PathBuf,
        /// Device.
        device: Spec,
        /// Frames per second.
        rate: Option<f64>,
        /// File of what comes back.
        write: Option<PathBuf>,
        /// True if addresses elsewhere are permitted.
        any_address: bool,
        /// True if that file is overwritten.
        force: bool,
    },
    /// Make reports.
    Report(PathBuf, Outputs),
    /// Repeat a study.
    Paper(Paper, Vec<Plan>, Outputs),
    /// Write the manual page and the completions below a folder.
    Extras(PathBuf),
}

impl Verb {
    /// The action.
    ///
    /// # Errors
    /// A value that the verb can't take.
    pub fn action(self) -> Result<Action, String> {
        let one = |mode: Mode, One { device, options }: One| {
            let plan = options.plan(vec![mode], vec![device])?;
            Ok(Action::Run(Box::new(plan), options.outputs))
        };
        match self {
            Self::Selftest { port, options } => {
                let plan = options.plan(vec![Mode::Selftest], vec![Spec::None(None)])?;
                Ok(Action::Selftest(port, Box::new(plan), options.outputs))
            }
            Self::Throughput(words) => one(Mode::Throughput, words),
            Self::Ndrpdr(words) => one(Mode::Ndrpdr, words),
            Self::Mrr(words) => one(Mode::Mrr, words),
            Self::Loss(words) => one(Mode::Loss, words),
            Self::Latency(words) => one(Mode::Latency, words),
            Self::Pdv(words) => one(Mode::Pdv, words),
            Self::Ipdv(words) => one(Mode::Ipdv, words),
            Self::B2b(words) => one(Mode::B2b, words),
            Self::Recovery(words) => one(Mode::Recovery, words),
            Self::Reset(words) => one(Mode::Reset, words),
            Self::NatCps(words) => one(Mode::NatCps, words),
            Self::NatTeardown(words) => one(Mode::NatTeardown, words),
            Self::NatCapacity(words) => one(Mode::NatCapacity, words),
            Self::NatThroughput(words) => one(Mode::NatThroughput, words),
            Self::Reconfig(words) => one(Mode::Reconfig, words),
            Self::Soak(mut words) => {
                // A soak is long itself.
                words.options.repeats.get_or_insert(1);
                one(Mode::Soak, words)
            }
            Self::Compare { devices, modes, options } => {
                let plan = options.plan(modes, devices)?;
                Ok(Action::Run(Box::new(plan), options.outputs))
            }
            Self::Scale(words) => words.action(),
            Self::Lab { what } => Ok(Action::Lab(what)),
            Self::Extras { share } => Ok(Action::Extras(share)),
            Self::Replay { file, device, rate, write, any_address, force } => {
                Ok(Action::Replay { file, device, rate, write, any_address, force })
            }
            Self::Report { file, outputs } => Ok(Action::Report(file, outputs)),
            Self::Paper { study, devices, options } => {
                let plan = options.plan(vec![Mode::Throughput], devices)?;
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                let plans = paper::plans(study, plan, paper::free(cores, 2))?;
                Ok(Action::Paper(study, plans, options.outputs))
            }
        }
    }
}

#[cfg(feature = "tests")]
mod tests;
