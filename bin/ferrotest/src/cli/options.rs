// SPDX-License-Identifier: Apache-2.0
//! Options that all modes have.

use std::path::PathBuf;

use clap::Args;
use measure::siitperf::{Ports, Siitperf, Span, Stateful, Vary};
use measure::{Direction, Mode, Profile, Size};

use super::siitperf;
use crate::bench::Traffic;
use crate::dut::Spec;
use crate::dut::change::MOST_ROUTES;
use crate::modes::Settings;
use crate::port::interface::Kind as InterfaceKind;
use crate::port::stage::nanoseconds;
use crate::run::Plan;
use crate::traffic::Kind;
use crate::traffic::flow::Share;
use crate::traffic::random::{DESTINATION, SOURCE, Spread};
use crate::traffic::size::LONGEST;

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

pub(super) fn positive(text: &str) -> Result<f64, String> {
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
    /// Overwrite files of another run.
    #[arg(long)]
    pub force: bool,
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
    /// Ports, directions, families, address ranges and sessions of a configuration file of
    /// siitperf; its Ethernet and IP addresses are those of the lab.
    #[arg(long, value_name = "FILE", value_parser = siitperf::read)]
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
    pub(super) repeats: Option<u32>,
    /// Width of the last interval of a search, as a share; otherwise the profile's.
    #[arg(long, value_parser = positive)]
    width: Option<f64>,
    /// Time after which a packet counts as lost.
    #[arg(long, value_parser = seconds)]
    wait: Option<f64>,
    /// Duration of a soak.
    #[arg(long, value_parser = seconds, default_value = "3600")]
    soak: f64,
    /// NAT sessions that are opened: 10,000, or all of a configuration file of siitperf.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    sessions: Option<u32>,
    /// NAT sessions that are opened in a second before others are measured.
    #[arg(long, default_value = "10000", value_parser = positive, value_name = "NUMBER")]
    session_rate: f64,
    /// Routes that a reconfiguration loads and takes out.
    #[arg(long, default_value_t = 10_000, value_name = "NUMBER")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ROUTES)))]
    routes: u32,
    /// Workers of devices that have them, separated by commas for several measurements.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    workers: Vec<u32>,
    /// Interfaces between tester and device.
    #[arg(long, value_enum, default_value_t = InterfaceKind::Veth)]
    interface: InterfaceKind,
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
    /// Leave the self-tests of the tester out: then no result is known to be tester-bound.
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
        settings.routes = self.routes;
        settings.sessions = self.sessions.unwrap_or(settings.sessions);
        settings.session_rate = self.session_rate;
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
            picks: Default::default(),
            seed: self.seed,
            any_address: self.any_address,
        };
        self.family
            .iter()
            .flat_map(|&kind| self.sizes.iter().map(move |&size| one(kind, size)))
            .collect()
    }

    /// The kinds of traffic of a configuration file of siitperf: each size.
    fn traffic_of(&self, file: &Siitperf) -> Vec<Traffic> {
        let all = self.traffic();
        let like = all.into_iter().filter(|traffic| traffic.kind == self.family[0]);
        like.map(|like| siitperf::traffic(file, like)).collect()
    }

    /// The plan of a run.
    ///
    /// # Errors
    /// The configuration file of siitperf isn't for these modes, or a device doesn't have such
    /// interfaces.
    pub fn plan(&self, modes: Vec<Mode>, devices: Vec<Spec>) -> Result<Plan, String> {
        devices.iter().try_for_each(|device| device.check_ports(self.interface))?;
        let (mut settings, mut traffic) = (self.settings(), self.traffic());
        if let Some(file) = &self.siitperf {
            siitperf::check(file, &modes)?;
            traffic = self.traffic_of(file);
            if self.sessions.is_none() {
                settings.sessions = siitperf::sessions(file)?.unwrap_or(settings.sessions);
            }
            if file.stateful != Stateful::No {
                settings.orders = (file.enumerate_ports, file.responder_tuples);
            }
        }
        Ok(Plan {
            modes,
            devices,
            traffic,
            workers: self.workers.clone(),
            ports: self.interface,
            routes: vec![0],
            settings,
            title: self.title.clone(),
            seed: self.seed,
            selftest: !self.no_selftest,
            file: Some(self.json.clone()),
            resume: self.resume,
            force: self.outputs.force,
            quiet: self.quiet,
        })
    }
}
