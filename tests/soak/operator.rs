// SPDX-License-Identifier: Apache-2.0
//! Operators: random changes, every show command, traces and captures; and all changes removed in
//! the end.

use crate::plan::{self, PORTS};
use crate::ports::Shared;
use fixture::CliClient;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use testkit::Rng;
use testkit::lab::Netns;

/// No answer takes longer on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Every show command, run for text and for JSON.
static SHOWS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tree = fixture::tree();
    let paths = tree.commands().into_iter().map(|command| command.path);
    let shows = paths.filter(|path| path.starts_with("show "));
    let lines =
        shows.flat_map(|path| fixture::with_words(&tree, path, &["", "verbose", "details"]));
    // With a word behind it, it writes a file of that name where the daemon was started.
    lines.filter(|line| !line.starts_with("show tech-support ")).collect()
});

/// One operator's session, and what has to be taken back.
pub struct Operator<'a> {
    socket: PathBuf,
    session: CliClient,
    rng: Rng,
    /// By name: the commands that take a change back.
    undo: BTreeMap<String, Vec<String>>,
    router: Netns,
    hosts: String,
    captures: PathBuf,
    commands: &'a AtomicU64,
    /// Commands that were refused, by their error.
    pub refused: BTreeMap<String, u64>,
}

impl<'a> Operator<'a> {
    /// A session, in the router's namespace beside that of the hosts.
    pub fn connect(
        socket: PathBuf,
        seed: u64,
        (router, hosts): (&Netns, &Netns),
        commands: &'a AtomicU64,
    ) -> Result<Operator<'a>, String> {
        let session = CliClient::connect(&socket, PATIENCE)?;
        Ok(Operator {
            session,
            rng: Rng::new(seed),
            undo: BTreeMap::new(),
            router: router.clone(),
            hosts: hosts.name().unwrap_or_default().to_string(),
            captures: socket.with_file_name("capture"),
            socket,
            commands,
            refused: BTreeMap::new(),
        })
    }

    /// Makes changes until it is stopped.
    pub fn work(&mut self, shared: &Shared, until: impl Fn() -> bool) -> Result<(), String> {
        while !until() && !shared.has_stopped() {
            self.change()?;
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Takes all changes back.
    pub fn tidy(&mut self) -> Result<(), String> {
        for (_, lines) in std::mem::take(&mut self.undo) {
            for line in lines {
                self.run(&line)?;
            }
        }
        for line in ["pcap trace off", "clear trace", "set super-path on"] {
            self.run(line)?;
        }
        Ok(())
    }

    /// A command; that it is refused is counted, for a change may have met another.
    fn run(&mut self, line: &str) -> Result<Option<String>, String> {
        self.commands.fetch_add(1, Relaxed);
        let json = line.starts_with("show") && self.rng.one_in(2);
        match self.session.run(line, json)? {
            Ok(text) => Ok(Some(text)),
            Err(why) => {
                let why = why.lines().next().unwrap_or_default();
                *self.refused.entry(format!("{line}: {why}")).or_default() += 1;
                Ok(None)
            }
        }
    }

    /// Runs `todo` unless the change of this name is there; then takes it back.
    fn toggle(&mut self, name: String, todo: &[String], back: &[String]) -> Result<(), String> {
        match self.undo.remove(&name) {
            Some(lines) => {
                for line in lines {
                    self.run(&line)?;
                }
            }
            None => {
                for line in todo {
                    self.run(line)?;
                }
                self.undo.insert(name, back.to_vec());
            }
        }
        Ok(())
    }

    fn change(&mut self) -> Result<(), String> {
        let (n, port) = (self.rng.below(20), self.rng.below(PORTS));
        let host = self.rng.below(200);
        match self.rng.below(22) {
            0 => self.toggle(
                format!("loop{n}"),
                &[
                    format!("create loopback interface instance {n}"),
                    format!("set interface state loop{n} up"),
                    format!("set interface ip address loop{n} 10.200.{n}.1/24"),
                    format!("set interface ip address loop{n} 2001:db8:200:{n}::1/64"),
                ],
                &[format!("delete loopback interface intfc loop{n}")],
            ),
            1 => {
                let family = ["100.64.0.0/24", "2001:db8:201::/64"][n % 2];
                let via = [format!("10.0.{port}.2"), format!("2001:db8:{port}::2")][n % 2].clone();
                let count = [10, 500, 3000][n % 3];
                self.toggle(
                    format!("routes {family}"),
                    &[format!("ip route add {family} count {count} via {via} host-r{port}")],
                    &[format!("ip route del {family} count {count} via {via} host-r{port}")],
                )
            }
            2 => self.toggle(
                format!("paths {n}"),
                &[
                    format!("ip route add 10.202.{n}.0/24 via 10.0.1.2 host-r1 weight 2"),
                    format!("ip route add 10.202.{n}.0/24 via 10.0.2.2 host-r2"),
                    format!("ip route add 10.202.{n}.0/24 via 10.0.3.{host} host-r3"),
                ],
                &[format!("ip route del 10.202.{n}.0/24")],
            ),
            3 => self.toggle(
                format!("group {n}"),
                &[format!(
                    "ip mroute add 239.2.2.{n} via host-r{port} Accept via host-r1 Forward via local Forward"
                )],
                &[format!("ip mroute del 239.2.2.{n}")],
            ),
            4 => self.toggle(
                format!("neighbor {port}"),
                &[format!(
                    "set ip neighbor host-r{port} 10.0.{port}.{} 02:aa:00:00:00:0{port} static",
                    50 + n
                )],
                &[format!("set ip neighbor del host-r{port} 10.0.{port}.{}", 50 + n)],
            ),
            5 => self.toggle(
                "reassembly".into(),
                &[format!("set interface reassembly host-r{port} on")],
                &[format!("set interface reassembly host-r{port} off")],
            ),
            6 => self.toggle(
                "virtual reassembly".into(),
                &[format!("set interface virtual-reassembly host-r{port} on")],
                &[format!("set interface virtual-reassembly host-r{port} off")],
            ),
            7 => self.toggle(
                "super-path".into(),
                &["set super-path off".into()],
                &["set super-path on".into()],
            ),
            8 => {
                for line in ["trace add af-packet-input 30", "show trace max 30", "clear trace"] {
                    self.run(line)?;
                    std::thread::sleep(Duration::from_millis(20));
                }
                Ok(())
            }
            9 => self.toggle(
                "capture".into(),
                &[format!(
                    "pcap trace rx tx drop max 1000 intfc any file {}{}.pcapng",
                    self.captures.display(),
                    self.commands.load(Relaxed)
                )],
                &["pcap trace off".into()],
            ),
            10 => self.host_interface(n % 3),
            11 => self.tap(n % 3),
            12 => self.stream(port, host),
            13 => self.toggle(
                "table".into(),
                &["ip table add 7".into(), "ip route add 10.9.0.0/16 table 7 via drop".into()],
                &["ip table del 7".into()],
            ),
            14 => {
                // A link that flaps.
                self.run("set interface state host-r2 down")?;
                std::thread::sleep(Duration::from_millis(50));
                self.run("set interface state host-r2 up").map(drop)
            }
            15 => {
                let line =
                    ["clear interfaces", "clear errors", "clear runtime", "clear node counters"][n % 4];
                self.run(line).map(drop)
            }
            16 => self.run("save").map(drop),
            17 => self.toggle(
                "reverse path".into(),
                &[format!("set urpf ip4 rx loose host-r{port}")],
                &[format!("set urpf off host-r{port}")],
            ),
            18 => self.another_session(),
            _ => {
                let line = self.rng.pick(&SHOWS);
                // All of it is for once in a while.
                if line == "show tech-support" && !self.rng.one_in(10) {
                    return Ok(());
                }
                self.run(line).map(drop)
            }
        }
    }

    /// A host interface on a link that comes, and goes before it or after it.
    fn host_interface(&mut self, n: usize) -> Result<(), String> {
        let name = format!("x{n}");
        if self.undo.contains_key(&name) {
            if self.rng.one_in(2) {
                let _ = self.router.command("ip").args(["link", "del", &name]).run();
            }
            self.toggle(name.clone(), &[], &[])?;
            let _ = self.router.command("ip").args(["link", "del", &name]).run();
            return Ok(());
        }
        let words = ["link", "add", &name, "type", "veth", "peer", "name", &format!("y{n}")]
            .map(str::to_string);
        let _ = self.router.command("ip").args(words).run();
        let todo = [
            format!("create host-interface name {name}"),
            format!("set interface state host-{name} up"),
            format!("set interface ip address host-{name} 10.203.{n}.1/24"),
        ];
        self.toggle(name.clone(), &todo, &[format!("delete host-interface name {name}")])
    }

    fn tap(&mut self, n: usize) -> Result<(), String> {
        let hosts = &self.hosts;
        let todo = [
            format!(
                "create tap id {n} host-ns {hosts} host-if-name t{n} host-ip4-addr 10.204.{n}.2/24"
            ),
            format!("set interface ip address tap{n} 10.204.{n}.1/24"),
            format!("set interface state tap{n} up"),
        ];
        self.toggle(format!("tap{n}"), &todo, &[format!("delete tap tap{n}")])
    }

    /// The packet generator sends through the router.
    fn stream(&mut self, port: usize, host: usize) -> Result<(), String> {
        let name = format!("s{port}");
        let to = plan::behind4(port, host as u8).map(|b| b.to_string()).join(".");
        let size = ["64-64", "64-1500", "1400-1400"][host % 3];
        let new = format!(
            "packet-generator new {{ name {name} limit 2000 rate 2e4 size {size} interface pg0 node ip4-input worker {} \
             data {{ UDP: 10.0.100.9 -> {to} UDP: 1234 -> 2345 incrementing 30 }} }}",
            host % 2
        );
        let todo = [new, format!("packet-generator enable-stream {name}")];
        let back = [
            format!("packet-generator disable-stream {name}"),
            format!("packet-generator delete {name}"),
        ];
        self.toggle(name, &todo, &back)
    }

    /// Another operator connects, runs a command with a long answer, and disconnects at once.
    fn another_session(&mut self) -> Result<(), String> {
        let mut other = CliClient::connect(&self.socket, PATIENCE)?;
        let line = self.rng.pick(&SHOWS).clone();
        let done = other.send(&cli::frames::Request::Run(line, self.rng.one_in(2)));
        if self.rng.one_in(2) {
            std::thread::sleep(Duration::from_millis(self.rng.below(20) as u64));
        }
        done
    }
}
