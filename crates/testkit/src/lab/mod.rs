// SPDX-License-Identifier: Apache-2.0
//! Network namespaces and real peers, cleaned up whatever happens.
//!
//! ```no_run
//! use testkit::lab;
//! let Some(lab) = lab::require(&["root", "ping"]) else { return };
//! let (a, b) = (lab.netns("a"), lab.netns("b"));
//! lab.veth((&a, "eth0"), (&b, "eth0"));
//! a.addr("eth0", "10.0.0.1/24");
//! b.addr("eth0", "10.0.0.2/24");
//! a.pings("-c1", "10.0.0.2");
//! ```
//!
//! Lifetimes: a [`Background`] process ends with its value, processes in a namespace and the
//! namespace with its last [`Netns`]. Leftovers of a killed run are removed by the next one
//! ([`sweep()`]): names of namespaces and the environment of processes identify the run that they
//! belong to.

mod command;
mod netns;
mod ping;
mod sweep;

use std::{
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

pub use command::{Background, Command, Output, Signal};
pub use netns::Netns;
pub use ping::answered;
pub use sweep::sweep;

use netns::ip;
use sweep::run_name;

use crate::skip::{Lack, skip, skip_lacking};

/// Leave to change this machine's network; [`require`] gives it.
#[derive(Clone, Debug)]
pub struct Lab(());

/// The laboratory, if this machine has everything in `words`: `root` (the right to make network
/// namespaces), an absolute path that exists, or the name of a program. Otherwise the test is
/// skipped as by [`crate::skip()`], which is a failure in CI, and the caller returns.
///
/// A machine where namespaces can be made is meant to have the rest: there a missing program or
/// path **panics** without `CI` too, unless `FERROVIA_ALLOW_SKIP=1` makes it a skip.
#[track_caller]
pub fn require(words: &[&str]) -> Option<Lab> {
    let able = ability();
    let mut missing: Vec<String> = Vec::new();
    for &word in words {
        match word {
            "root" => missing.extend(able.as_ref().err().cloned()),
            path if path.starts_with('/') => {
                missing
                    .extend((!Path::new(path).exists()).then(|| format!("{path} doesn't exist")));
            }
            program => missing
                .extend(find_program(program).is_none().then(|| format!("no program {program}"))),
        }
    }
    if missing.is_empty() {
        if words.contains(&"linux.uml") && has_amx() {
            skip_lacking(Lack::UserModeLinux);
            return None;
        }
        return Some(Lab(()));
    }
    let missing = missing.join(", ");
    let allowed = std::env::var_os("FERROVIA_ALLOW_SKIP").is_some_and(|value| value == "1");
    assert!(
        able.is_err() || allowed,
        "{missing}: this machine can make namespaces, so it shouldn't skip (FERROVIA_ALLOW_SKIP=1 lets it)"
    );
    skip(&missing);
    None
}

/// True if the processor has AMX.
fn has_amx() -> bool {
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    about.split_whitespace().any(|flag| flag == "amx_tile")
}

/// Where `program` is: in `PATH`, or in the folders of system programs, which `PATH` often lacks.
pub fn find_program(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Can this process make network namespaces? Tried once.
fn ability() -> &'static Result<(), String> {
    static ABLE: OnceLock<Result<(), String>> = OnceLock::new();
    ABLE.get_or_init(|| {
        if !rustix::process::geteuid().is_root() {
            return Err("not root".into());
        }
        find_program("ip").ok_or("no program ip (iproute2)")?;
        sweep();
        let probe = unique("probe");
        ip(&["netns", "add", &probe])
            .map_err(|error| format!("root, but can't make a network namespace: {error}"))?;
        ip(&["netns", "del", &probe]).map(drop)
    })
}

/// A name that no other namespace has: which run, which one of it, what for.
fn unique(name: &str) -> String {
    format!("{}-{}-{name}", run_name(), count())
}

fn count() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Lab {
    /// A new namespace with its loopback up. `name` shows in `ip netns`, behind what makes it
    /// unique.
    #[track_caller]
    pub fn netns(&self, name: &str) -> Netns {
        Netns::create(unique(name))
    }

    /// The namespace that the test itself runs in. Give its interfaces names by [`Lab::if_name`].
    pub fn root(&self) -> Netns {
        Netns::root()
    }

    /// A name for an interface in the root namespace that no other has, at most 15 characters;
    /// `suffix` may have 4.
    #[track_caller]
    pub fn if_name(&self, suffix: &str) -> String {
        let name =
            format!("fvt{}{}-{suffix}", base36(std::process::id() as usize), base36(count()));
        assert!(name.len() <= 15, "interface name {name} is too long");
        name
    }

    /// A pair of virtual Ethernet interfaces, both up. One end at least is in a namespace that the
    /// test made, so that the pair goes with it.
    #[track_caller]
    pub fn veth(&self, a: (&Netns, &str), b: (&Netns, &str)) {
        // `ip` puts an interface whose namespace isn't named into its own, the root's: that end
        // goes first
        let ((near, near_name), (far, far_name)) =
            if b.0.name().is_none() { (b, a) } else { (a, b) };
        let far_ns =
            far.name().unwrap_or_else(|| panic!("both ends of a veth pair in the root namespace"));
        let mut words = vec!["link", "add", near_name];
        words.extend(near.name().into_iter().flat_map(|name| ["netns", name]));
        words.extend(["type", "veth", "peer", "name", far_name, "netns", far_ns]);
        ip(&words).unwrap_or_else(|error| panic!("veth {near_name} - {far_name}: {error}"));
        near.up(near_name);
        far.up(far_name);
    }

    /// A command in the namespace of the test itself.
    pub fn command(&self, program: &str) -> Command {
        self.root().command(program)
    }
}

fn base36(mut number: usize) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn names() {
        assert_eq!(
            (base36(0), base36(35), base36(36), base36(4_194_304)),
            ("0".into(), "z".into(), "10".into(), "2hwcg".into())
        );
        assert!(find_program("sh").is_some());
        assert!(find_program("no-such-program-anywhere").is_none());
        assert_ne!(unique("a"), unique("a"));
    }
}
