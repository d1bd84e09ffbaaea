// SPDX-License-Identifier: Apache-2.0
//! A running daemon, as far as the checks need it.

use crate::client::Client;
use cli::frames::{Reply, Request};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The driver that uses an interface of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    AfPacket,
    AfXdp,
}

/// A running daemon.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Daemon {
    pub pid: String,
    /// Processors of its workers.
    pub workers: BTreeSet<usize>,
    /// Interfaces of Linux that it uses.
    pub netdevs: Vec<(String, Use)>,
}

impl Daemon {
    /// Asks the daemon at this socket.
    ///
    /// # Errors
    /// There is none, it doesn't answer, or its answer can't be read.
    pub fn ask(socket: &Path) -> Result<Self, String> {
        let mut client = Client::connect(socket)?;
        let mut ask = |command: &str, json: bool| {
            let mut answer = String::new();
            let request = Request::Run(command.into(), json);
            client.request_within(Some(PATIENCE), &request, &mut |reply| {
                if let Reply::Out(text) | Reply::More(text) = reply {
                    answer += &text;
                }
                true
            })?;
            Ok::<_, String>(answer)
        };
        let threads = ask("show threads", true)?;
        let threads = serde_json::from_str(&threads).map_err(|e| format!("`show threads': {e}"))?;
        // Not all of what may be a million routes.
        let lines = ask("show running-config | include \"create \"", false)?;
        Ok(Self::read(&threads, &lines))
    }

    /// Reads the threads, and lines of the configuration.
    fn read(threads: &Value, lines: &str) -> Self {
        let mut daemon = Self::default();
        for thread in threads.as_array().into_iter().flatten() {
            let main = thread["id"] == 0;
            if main {
                daemon.pid = thread["lwp"].to_string();
            } else if let Some(core) = thread["lcore"].as_u64() {
                daemon.workers.insert(core as usize);
            }
        }
        daemon.netdevs = lines.lines().filter_map(netdev).collect();
        daemon
    }
}

/// The interface of Linux that a line of the configuration uses.
fn netdev(line: &str) -> Option<(String, Use)> {
    let (of, word, rest) = [
        (Use::AfPacket, "name", "create host-interface "),
        (Use::AfXdp, "host-if", "create interface af_xdp "),
    ]
    .into_iter()
    .find_map(|(of, word, command)| Some((of, word, line.strip_prefix(command)?)))?;
    let mut words = rest.split_whitespace().skip_while(|w| *w != word);
    Some((words.nth(1)?.trim_matches('"').to_string(), of))
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use serde_json::json;

    #[suite::test]
    fn workers_and_interfaces_of_linux() {
        let threads = json!([
            { "id": 0, "lwp": 77, "lcore": 1 },
            { "id": 1, "lwp": 78, "lcore": 4 },
            { "id": 2, "lwp": 79, "lcore": null },
        ]);
        let lines = "create host-interface v2 name eth0 num-rx-queues 2\n\
                     create interface af_xdp host-if \"eth1\" name x\n\
                     create bridge-domain 7\n";
        let daemon = Daemon::read(&threads, lines);
        let netdevs = vec![("eth0".into(), Use::AfPacket), ("eth1".into(), Use::AfXdp)];
        assert_eq!(daemon, Daemon { pid: "77".into(), workers: [4].into(), netdevs });
    }
}
