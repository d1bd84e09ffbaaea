// SPDX-License-Identifier: Apache-2.0
//! The kernel of this machine, in the lab's middle namespace: routing here, others in modules.

mod bridge;
mod nat;

use std::io::{self, Seek as _, Write as _};
use std::path::PathBuf;
use std::process::Command;

use super::change::{Routes, Verb};
use super::{Device, sweep};
use crate::lab::{End, Lab, route_by_kernel};
use netlink::{Link, Rtnl};

pub use bridge::Bridge;
pub use nat::Nat;

/// The kernel's task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It routes.
    Router,
    /// It routes and translates source addresses.
    Nat,
    /// It bridges the ports.
    Bridge,
}

/// The kernel as a router.
#[derive(Debug)]
pub struct Linux {
    release: String,
}

impl Linux {
    /// Gives the namespace addresses and routes.
    ///
    /// # Errors
    /// The kernel's.
    pub fn up(lab: &Lab) -> Result<Self, String> {
        route_by_kernel(&lab.device)?;
        Ok(Self { release: release() })
    }

    /// Switches the interfaces off and on.
    fn toggle(lab: &Lab) -> Result<(Rtnl, Vec<Link>), String> {
        let mut rtnl = Rtnl::in_namespace(&lab.device).map_err(restarted)?;
        let links = End::BOTH
            .into_iter()
            .map(|end| rtnl.link(end.name()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(restarted)?;
        for up in [false, true] {
            for link in &links {
                rtnl.set_admin_up(link.index, up).map_err(restarted)?;
            }
        }
        Ok((rtnl, links))
    }
}

/// Version of the kernel.
fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

fn restarted(error: io::Error) -> String {
    format!("restart of the interfaces: {error}")
}

/// A program and its package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Program {
    name: &'static str,
    package: &'static str,
}

/// Changes routes and links.
const IP: Program = Program { name: "ip", package: "iproute2" };

/// Loads rules.
const NFT: Program = Program { name: "nft", package: "nftables" };

/// Empties the table of sessions.
const CONNTRACK: Program = Program { name: "conntrack", package: "conntrack" };

impl Program {
    /// The file: in `PATH`, or in the folders of system programs, which `PATH` often lacks.
    fn find(self) -> Result<PathBuf, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
        folders.map(|folder| folder.join(self.name)).find(|file| file.is_file()).ok_or_else(|| {
            format!("no program `{}' in PATH: install the package {}", self.name, self.package)
        })
    }
}

/// Runs a program in the device's namespace, with a text as its standard input.
///
/// # Errors
/// It is missing, can't be started, or fails; the text has its words.
fn run(lab: &Lab, program: Program, words: &[&str], input: &str) -> Result<(), String> {
    let name = program.name;
    let failed = |error: io::Error| format!("{name}: {error}");
    let mut file = tempfile::tempfile().map_err(failed)?;
    file.write_all(input.as_bytes()).and_then(|()| file.rewind()).map_err(failed)?;
    let mut command = Command::new(program.find()?);
    sweep::tag(&mut command).args(words).stdin(file);
    let output = lab.device.run(|| command.output()).map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let first = why.lines().next().unwrap_or_default();
    Err(format!("{name} {}: {}: {first}", words.join(" "), output.status))
}

impl Device for Linux {
    fn describe(&self) -> String {
        format!("Linux {}, routing in a network namespace", self.release)
    }

    fn routes(&mut self, lab: &Lab, routes: Routes, verb: Verb) -> Result<(), String> {
        let verb = match verb {
            Verb::Add => "add",
            Verb::Delete => "del",
        };
        let after = format!(" via {} dev {}", routes.via(), End::Right.name());
        let text = routes.lines(&format!("route {verb} "), &after);
        run(lab, IP, &["-batch", "-"], &text)
    }

    /// The kernel itself can't be restarted: its interfaces go down and up, and the configuration
    /// is made anew.
    fn restart(&mut self, lab: &Lab) -> Result<(), String> {
        let (mut rtnl, links) = Self::toggle(lab)?;
        // IPv6 addresses and all routes went with the links.
        for (end, link) in End::BOTH.into_iter().zip(&links) {
            let all = end.addresses();
            match rtnl.add_address(link.index, all.device.1.into(), crate::lab::LINK.1) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(restarted(error));
                }
                _ => {}
            }
            let (four, six) = (all.network, all.tester);
            rtnl.set_route(link.index, four.0.into(), crate::lab::ROUTE.0, six.0.into())
                .and_then(|()| {
                    rtnl.set_route(link.index, four.1.into(), crate::lab::ROUTE.1, six.1.into())
                })
                .map_err(restarted)?;
        }
        Ok(())
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn a_missing_program_is_named_with_its_package() {
        let missing = Program { name: "no-such-program", package: "some-package" };
        let error = missing.find().unwrap_err();
        assert!(error.contains("`no-such-program'") && error.contains("some-package"), "{error}");
    }
}
