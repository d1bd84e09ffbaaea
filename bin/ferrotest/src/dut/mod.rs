// SPDX-License-Identifier: Apache-2.0
//! Devices under test: small drivers that set a device up, take it down, and describe it.

pub mod change;
pub mod daemon;
pub mod external;
pub mod linux;
pub mod sweep;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use self::change::{Routes, Verb};
use self::linux::Role;
use crate::lab::Lab;
use crate::port::interface;
use crate::port::stage::Impairment;

/// A device in a lab.
pub trait Device {
    /// Description for the report: version and configuration.
    fn describe(&self) -> String;

    /// Restarts the device; returns when it has been asked to start.
    ///
    /// # Errors
    /// It can't be restarted, or it didn't end or start.
    fn restart(&mut self, lab: &Lab) -> Result<(), String>;

    /// Loads routes or takes them out, all of them at once; returns when the device has confirmed
    /// that.
    ///
    /// # Errors
    /// The device refuses, or its control program is missing.
    fn routes(&mut self, lab: &Lab, routes: Routes, verb: Verb) -> Result<(), String>;

    /// Removes all sessions of the translation of addresses; returns when the device has confirmed
    /// that.
    ///
    /// # Errors
    /// The device translates no addresses, or refuses.
    fn clear_sessions(&mut self, _lab: &Lab) -> Result<(), String> {
        Err("this device translates no addresses: expected linux:nat, external:SCRIPT with the \
             verb clear-sessions, or none:nat=SESSIONS:OPENED:REMOVED; ferrovia has no NAT yet"
            .into())
    }

    /// Number of sessions that the device's table holds, if it says so.
    fn most_sessions(&self) -> Option<u64> {
        None
    }

    /// True if the device forwards by Ethernet addresses: frames go to the tester's other port.
    fn is_bridge(&self) -> bool {
        false
    }

    /// CPU time that the device has used, in seconds, if it can be told from that of others.
    fn cpu_seconds(&self) -> Option<f64> {
        None
    }

    /// The reason why the device doesn't work any more, if it doesn't.
    fn failure(&mut self) -> Option<String> {
        None
    }
}

/// Name of a device and its settings, as the command line has them.
#[derive(Clone, PartialEq, Debug)]
pub enum Spec {
    /// The tester's ports are connected to each other, in real time; or to an impairment stage, in
    /// simulated time.
    None(Option<Impairment>),
    /// The kernel of this machine.
    Linux(Role),
    /// Ferrovia; the program, if it isn't the one beside this one.
    Ferrovia(Option<PathBuf>),
    /// FD.io VPP; the program, if it isn't in PATH.
    Vpp(Option<PathBuf>),
    /// A script with `up`, `down` and `describe`.
    External(PathBuf),
}

impl Spec {
    /// Name for reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None(_) => "none",
            Self::Linux(Role::Router) => "linux",
            Self::Linux(Role::Nat) => "linux:nat",
            Self::Linux(Role::Bridge) => "linux:bridge",
            Self::Ferrovia(_) => "ferrovia",
            Self::Vpp(_) => "vpp",
            Self::External(_) => "external",
        }
    }

    /// Checks that the device can have interfaces of this kind.
    ///
    /// # Errors
    /// It can't; the text says which devices can.
    pub fn check_ports(&self, ports: interface::Kind) -> Result<(), String> {
        match (ports, self) {
            (interface::Kind::Memif, Self::Linux(_) | Self::External(_)) => Err(format!(
                "device {self} has no memif interfaces: --interface memif takes ferrovia and vpp; \
                 leave it out for interfaces of the kernel"
            )),
            _ => Ok(()),
        }
    }
}

impl Spec {
    /// True if the device is known to translate addresses.
    pub fn translates(&self) -> bool {
        match self {
            Self::Linux(role) => *role == Role::Nat,
            Self::None(Some(settings)) => settings.nat.is_some(),
            _ => false,
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::None(Some(settings)) => write!(f, ":{settings}"),
            Self::Ferrovia(Some(path)) | Self::Vpp(Some(path)) | Self::External(path) => {
                write!(f, ":{}", path.display())
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        match (name, rest) {
            ("none", None) => Ok(Self::None(None)),
            ("none", Some(settings)) => settings.parse().map(|all| Self::None(Some(all))),
            ("linux", None) => Ok(Self::Linux(Role::Router)),
            ("linux", Some("nat")) => Ok(Self::Linux(Role::Nat)),
            ("linux", Some("bridge")) => Ok(Self::Linux(Role::Bridge)),
            ("linux", Some(role)) => Err(format!(
                "device linux:{role}: expected linux, which routes, linux:nat or linux:bridge; VXLAN \
                 is not built yet"
            )),
            ("ferrovia", path) => Ok(Self::Ferrovia(path.map(PathBuf::from))),
            ("vpp", path) => Ok(Self::Vpp(path.map(PathBuf::from))),
            ("external", Some(path)) => Ok(Self::External(path.into())),
            ("external", None) => {
                Err("device external: expected external:SCRIPT, an executable with the \
                     verbs up, down and describe"
                    .into())
            }
            _ => Err(format!(
                "device `{text}': expected none, none:IMPAIRMENTS, linux, linux:nat, linux:bridge, \
                 ferrovia, ferrovia:PROGRAM, vpp, or external:SCRIPT"
            )),
        }
    }
}

/// Sets a device up in a lab.
///
/// # Errors
/// It can't be started; the text says why, and how to mend it.
pub fn up(spec: &Spec, lab: &Lab, workers: u32) -> Result<Option<Box<dyn Device>>, String> {
    Ok(match spec {
        Spec::None(_) => None,
        Spec::Linux(Role::Router) => Some(Box::new(linux::Linux::up(lab)?)),
        Spec::Linux(Role::Nat) => Some(Box::new(linux::Nat::up(lab)?)),
        Spec::Linux(Role::Bridge) => Some(Box::new(linux::Bridge::up(lab)?)),
        Spec::Ferrovia(program) => Some(Box::new(daemon::Daemon::up(
            daemon::Kind::Ferrovia,
            program.as_deref(),
            lab,
            workers,
        )?)),
        Spec::Vpp(program) => {
            Some(Box::new(daemon::Daemon::up(daemon::Kind::Vpp, program.as_deref(), lab, workers)?))
        }
        Spec::External(script) => Some(Box::new(external::External::up(script, lab)?)),
    })
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn reads_devices() {
        assert_eq!("none".parse(), Ok(Spec::None(None)));
        assert!(matches!("none:rate=1e5".parse(), Ok(Spec::None(Some(_)))));
        assert_eq!("ferrovia:/x/y".parse(), Ok(Spec::Ferrovia(Some("/x/y".into()))));
        for text in ["linux", "linux:nat", "linux:bridge"] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
        for (bad, word) in
            [("linx", "expected none"), ("linux:vxlan", "not built"), ("external", "SCRIPT")]
        {
            assert!(bad.parse::<Spec>().unwrap_err().contains(word), "{bad}");
        }
    }

    #[suite::test]
    fn devices_without_memif_are_refused_by_name() {
        use interface::Kind::{Memif, Tap, Veth};
        let specs: [Spec; 4] =
            ["linux:nat", "external:x", "ferrovia", "vpp"].map(|s| s.parse().unwrap());
        for ports in [Veth, Tap] {
            assert!(specs.iter().all(|spec| spec.check_ports(ports).is_ok()));
        }
        let are_taken = specs.each_ref().map(|spec| spec.check_ports(Memif).is_ok());
        assert_eq!(are_taken, [false, false, true, true]);
        let why = specs[1].check_ports(Memif).unwrap_err();
        assert!(why.contains("external:x has no memif") && why.contains("ferrovia"), "{why}");
    }
}
