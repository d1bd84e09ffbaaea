// SPDX-License-Identifier: Apache-2.0
//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use measure::papers::Paper;
use measure::siitperf::{Ports, Siitperf, Span, Stateful, Vary};
use measure::{Direction, Mode, Profile, Size};

use crate::bench::Traffic;
use crate::dut::Spec;
use crate::modes::Settings;
use crate::port::stage::nanoseconds;
use crate::run::Plan;
use crate::traffic::Kind;
use crate::traffic::flow::Share;
use crate::traffic::random::{DESTINATION, SOURCE, Spread};
use crate::traffic::size::LONGEST;

/// Measures packet forwarding: RFC 2544, 5180, 4814 and 8219 in one command.
///
/// DEVICE is none (the tester against itself), none:IMPAIRMENTS (a stage with a known answer, in
/// simulated time), linux, ferrovia, vpp, or external:SCRIPT.
///
/// Exit status: 0 all was measured, 1 something could not be measured, 2 wrong arguments, 3 an
/// assertion doesn't hold, 130 interrupted.
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
        /// Devices.
        #[arg(default_values = ["linux", "ferrovia"])]
        devices: Vec<Spec>,
        /// Options.
        #[command(flatten)]
        options: Options,
    },
    /// Load routes under traffic; not built yet.
    #[command(hide = true)]
    Reconfig(Anything),
    /// New NAT sessions per second (RFC 9693); not built yet.
    #[command(hide = true)]
    NatCps(Anything),
    /// Removals of NAT sessions (RFC 9693); not built yet.
    #[command(hide = true)]
    NatTeardown(Anything),
    /// Capacity of a NAT (RFC 9693); not built yet.
    #[command(hide = true)]
    NatCapacity(Anything),
    /// Throughput of a NAT (RFC 9693); not built yet.
    #[command(hide = true)]
    NatThroughput(Anything),
    /// Figures as workers, flows, routes, rules or sessions grow; not built yet.
    #[command(hide = true)]
    Scale(Anything),
}

/// Words that a mode which isn't built doesn't read.
#[derive(Args, Debug)]
pub struct Anything {
    /// Ignored.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
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
    /// Tap; not built yet.
    Tap,
    /// Memif; not built yet.
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

fn size(text: &str) -> Result<Size, String> {
    match text.parse()? {
        Size::Bytes(size) if size > LONGEST => {
            Err(format!("frame size {size}: expected at most {LONGEST} bytes, or imix"))
        }
        size => Ok(size),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let wrong =
        || format!("time `{text}': expected seconds, or a time with its unit such as 200ms");
    let seconds = text.parse().ok().or_else(|| Some(nanoseconds(text)? as f64 / 1e9));
    seconds.filter(|seconds| *seconds > 0.0 && *seconds <= 1e7).ok_or_else(wrong)
}

fn positive(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| *value > 0.0 && value.is_finite());
    value.ok_or_else(|| format!("`{text}': expected a number above 0"))
}

fn ports(text: &str) -> Result<Ports, String> {
    if text == "rfc4814" {
        return Ok(Ports { source: SOURCE, destination: DESTINATION });
    }
    let wrong = || {
        format!("ports `{text}': expected rfc4814 or SOURCE:DESTINATION, each a port or FIRST-LAST")
    };
    let range = |text: &str| {
        let (min, max) = text.split_once('-').unwrap_or((text, text));
        let (min, max) = (min.parse().ok()?, max.parse().ok()?);
        let vary = if min == max { Vary::Fixed } else { Vary::Random };
        (min <= max).then_some(Span { vary, min, max })
    };
    let (src, dst) = text.split_once(':').ok_or_else(wrong)?;
    let both = range(src).zip(range(dst)).ok_or_else(wrong)?;
    Ok(Ports { source: both.0, destination: both.1 })
}

fn siitperf(path: &str) -> Result<Box<Siitperf>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let file = Siitperf::parse(&text).map_err(|error| format!("{path}: {error}"))?;
    if file.stateful != Stateful::No {
        return Err(format!("{path}: stateful tests (RFC 9693) are not built yet"));
    }
    if file.left.version != file.right.version {
        return Err(format!("{path}: translation between IPv4 and IPv6 is not built yet"));
    }
    if !file.forward && !file.reverse {
        return Err(format!("{path}: neither direction is active"));
    }
    Ok(Box::new(file))
}

/// Files to be written.
#[derive(Args, Clone, Debug, Default)]
pub struct Outputs {
    /// Report as one HTML file.
    #[arg(long)]
    pub html: Option<PathBuf>,
    /// Report in Markdown.
    #[arg(long)]
    pub markdown: Option<PathBuf>,
    /// All values as CSV.
    #[arg(long)]
    pub csv: Option<PathBuf>,
    /// Rates in siitperf's form.
    #[arg(long)]
    pub rate_csv: Option<PathBuf>,
    /// Folder for the figures as SVG.
    #[arg(long)]
    pub figures: Option<PathBuf>,
    /// Condition on the results, such as "ndr>=400000"; more than once for several.
    #[arg(long = "assert", value_name = "CONDITION")]
    pub asserts: Vec<String>,
}

/// Options of all modes.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Profile: quick, rfc2544, csit or thesis.
    #[arg(long, default_value = "quick")]
    profile: Profile,
    /// Frame sizes with FCS, separated by commas; imix is one.
    #[arg(long, value_delimiter = ',', default_value = "64", value_parser = size)]
    sizes: Vec<Size>,
    /// Kinds of packets: ip4, ip6, ethernet, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "ip4")]
    family: Vec<Kind>,
    /// Packets in one direction only.
    #[arg(long)]
    one_way: bool,
    /// VLAN of all frames.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..4095))]
    vlan: Option<u16>,
    /// Source addresses: fixed, random:COUNT or zipf:COUNT.
    #[arg(long, default_value = "fixed")]
    src: Spread,
    /// Destination addresses: fixed, random:COUNT or zipf:COUNT.
    #[arg(long, default_value = "fixed")]
    dst: Spread,
    /// Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST.
    #[arg(long, default_value = "rfc4814", value_parser = ports)]
    ports: Ports,
    /// Ports, directions, families and address ranges of a configuration file of siitperf; its
    /// Ethernet and IP addresses are those of the lab.
    #[arg(long, value_name = "FILE", value_parser = siitperf)]
    siitperf: Option<Box<Siitperf>>,
    /// Share of the foreground in a mix with the other family, such as 9/10.
    #[arg(long)]
    foreground: Option<Share>,
    /// Load in packets per second and direction, for modes that need one.
    #[arg(long, value_parser = positive)]
    rate: Option<f64>,
    /// Highest load of searches.
    #[arg(long, value_parser = positive)]
    max_rate: Option<f64>,
    /// Duration of a trial; otherwise the profile's.
    #[arg(long, value_parser = seconds)]
    duration: Option<f64>,
    /// Repeats; otherwise the profile's.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeats: Option<u32>,
    /// Width of the last interval of a search, as a share; otherwise the profile's.
    #[arg(long, value_parser = positive)]
    width: Option<f64>,
    /// Time after which a packet counts as lost.
    #[arg(long, value_parser = seconds)]
    wait: Option<f64>,
    /// Duration of a soak.
    #[arg(long, value_parser = seconds, default_value = "3600")]
    soak: f64,
    /// Workers of devices that have them, separated by commas for several measurements.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    workers: Vec<u32>,
    /// Seed of all that is random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Permit addresses outside of 198.18.0.0/15 and 2001:2::/48.
    #[arg(long)]
    any_address: bool,
    /// Title of the report.
    #[arg(long, default_value = "Measurement of packet forwarding")]
    title: String,
    /// Result file.
    #[arg(long, default_value = "result.json")]
    json: PathBuf,
    /// Go on with the measurements of an interrupted result file.
    #[arg(long)]
    resume: bool,
    /// Leave the self-test of the tester out.
    #[arg(long)]
    no_selftest: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

impl Options {
    /// Settings of the measurements.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::of(self.profile);
        settings.duration = self.duration.unwrap_or(settings.duration);
        settings.repeats = self.repeats.unwrap_or(settings.repeats);
        settings.width = self.width.unwrap_or(settings.width);
        settings.wait = self.wait.unwrap_or(settings.wait);
        (settings.rate, settings.max_rate, settings.soak) = (self.rate, self.max_rate, self.soak);
        settings
    }

    /// The kinds of traffic: each family with each size.
    pub fn traffic(&self) -> Vec<Traffic> {
        let directions = match self.one_way {
            true => vec![Direction::Forward],
            false => vec![Direction::Forward, Direction::Reverse],
        };
        let one = |kind: Kind, size: Size| Traffic {
            kind,
            size,
            vlan: self.vlan,
            src: self.src,
            dst: self.dst,
            ports: [self.ports; 2],
            share: self.foreground.unwrap_or(Share::ALL),
            directions: directions.clone(),
            seed: self.seed,
            any_address: self.any_address,
        };
        self.family
            .iter()
            .flat_map(|&kind| self.sizes.iter().map(move |&size| one(kind, size)))
            .collect()
    }

    /// The kinds of traffic of a configuration file of siitperf.
    fn traffic_of(&self, file: &Siitperf) -> Vec<Traffic> {
        let kind = if file.left.version == 4 { Kind::Ip4 } else { Kind::Ip6 };
        let spread = |side: &measure::siitperf::Side| match side.addresses.vary {
            Vary::Fixed => Spread::Fixed,
            _ => {
                let count = u32::from(side.addresses.max.saturating_sub(side.addresses.min)) + 1;
                Spread::Random(count.min(65_000))
            }
        };
        let directions = [(file.forward, Direction::Forward), (file.reverse, Direction::Reverse)];
        let directions: Vec<_> =
            directions.into_iter().filter(|(active, _)| *active).map(|(_, d)| d).collect();
        let all = self.traffic();
        let like = all.into_iter().filter(|traffic| traffic.kind == self.family[0]);
        like.map(|traffic| Traffic {
            kind,
            ports: [file.forward_ports, file.reverse_ports],
            src: spread(&file.left),
            dst: spread(&file.right),
            directions: directions.clone(),
            ..traffic
        })
        .collect()
    }

    /// The plan of a run.
    pub fn plan(&self, modes: Vec<Mode>, devices: Vec<Spec>) -> Plan {
        Plan {
            modes,
            devices,
            traffic: match &self.siitperf {
                Some(file) => self.traffic_of(file),
                None => self.traffic(),
            },
            workers: self.workers.clone(),
            settings: self.settings(),
            title: self.title.clone(),
            seed: self.seed,
            selftest: !self.no_selftest,
            file: Some(self.json.clone()),
            resume: self.resume,
            quiet: self.quiet,
        }
    }
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
    },
    /// Make reports.
    Report(PathBuf, Outputs),
    /// Repeat a study.
    Paper(Paper, Box<Plan>, Outputs),
}

impl Verb {
    /// The action.
    ///
    /// # Errors
    /// The mode is not built.
    pub fn action(self) -> Result<Action, String> {
        let one = |mode: Mode, One { device, options }: One| {
            let plan = options.plan(vec![mode], vec![device]);
            Ok(Action::Run(Box::new(plan), options.outputs))
        };
        match self {
            Self::Selftest { port, options } => {
                let plan = options.plan(vec![Mode::Selftest], vec![Spec::None(None)]);
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
            Self::Soak(mut words) => {
                // A soak is long itself.
                words.options.repeats.get_or_insert(1);
                one(Mode::Soak, words)
            }
            Self::Compare { devices, modes, options } => {
                let plan = options.plan(modes, devices);
                Ok(Action::Run(Box::new(plan), options.outputs))
            }
            Self::Lab { what } => Ok(Action::Lab(what)),
            Self::Replay { file, device, rate, write, any_address } => {
                Ok(Action::Replay { file, device, rate, write, any_address })
            }
            Self::Report { file, outputs } => Ok(Action::Report(file, outputs)),
            Self::Paper { study, devices, options } => {
                let plan = options.plan(vec![Mode::Throughput], devices);
                Ok(Action::Paper(study, Box::new(plan), options.outputs))
            }
            Self::Reconfig(_) => Err(unbuilt(Mode::Reconfig)),
            Self::NatCps(_) => Err(unbuilt(Mode::NatCps)),
            Self::NatTeardown(_) => Err(unbuilt(Mode::NatTeardown)),
            Self::NatCapacity(_) => Err(unbuilt(Mode::NatCapacity)),
            Self::NatThroughput(_) => Err(unbuilt(Mode::NatThroughput)),
            Self::Scale(_) => Err(unbuilt(Mode::Scale)),
        }
    }
}

fn unbuilt(mode: Mode) -> String {
    format!("mode {mode} ({}) is not built yet", mode.title())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_comparison_is_read() {
        let words = "ferrotest compare linux ferrovia --sizes 64,512,imix --family ip4,ip6 \
                     --duration 200ms --one-way --html r.html --assert ndr>=5";
        let arguments = Arguments::try_parse_from(words.split_whitespace()).unwrap();
        let Ok(Action::Run(plan, outputs)) = arguments.verb.action() else { panic!() };
        assert_eq!(plan.devices, [Spec::Linux, Spec::Ferrovia(None)]);
        assert_eq!((plan.traffic.len(), plan.settings.duration), (6, 0.2));
        assert_eq!(plan.traffic[5].size, Size::Imix);
        assert_eq!((outputs.html, outputs.asserts.len()), (Some("r.html".into()), 1));
    }

    #[test]
    fn a_configuration_of_siitperf_runs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("siitperf.conf");
        let text =
            "IP-L-Vers 4\nIP-R-Vers 4\nForward 1\nReverse 0\nFwd-var-sport 3\nFwd-var-dport 1\n";
        std::fs::write(&path, text).unwrap();
        let words =
            format!("ferrotest throughput linux --sizes 64,128 --siitperf {}", path.display());
        let arguments = Arguments::try_parse_from(words.split_whitespace()).unwrap();
        let Ok(Action::Run(plan, _)) = arguments.verb.action() else { panic!() };
        assert_eq!(plan.traffic.len(), 2);
        let traffic = &plan.traffic[0];
        assert_eq!((traffic.kind, &traffic.directions[..]), (Kind::Ip4, &[Direction::Forward][..]));
        assert_eq!(traffic.ports[0].source.vary, Vary::Random);
        assert_eq!(traffic.ports[0].destination.vary, Vary::Increase);
        std::fs::write(&path, "Stateful 1\n").unwrap();
        let error = Arguments::try_parse_from(words.split_whitespace()).unwrap_err();
        assert!(error.to_string().contains("not built yet"), "{error}");
    }

    #[test]
    fn wrong_words_are_refused() {
        for words in [
            "compare linux",
            "throughput linux --sizes 63",
            "throughput linux --sizes 1600",
            "throughput linux --ports 5:4-3",
            "throughput linux --duration 0",
            "mrr linux --vlan 4095",
        ] {
            let all = ["ferrotest"].into_iter().chain(words.split_whitespace());
            assert!(Arguments::try_parse_from(all).is_err(), "{words}");
        }
        let arguments = Arguments::try_parse_from(["ferrotest", "nat-cps", "linux", "-x"]).unwrap();
        assert!(arguments.verb.action().unwrap_err().contains("nat-cps"));
    }
}
