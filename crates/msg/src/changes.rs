// SPDX-License-Identifier: Apache-2.0
//! Log of requests that change the configuration. The first requests of a burst get a line each,
//! the rest one summary, so that a client that adds 100,000 routes a second causes a few lines.

use std::fmt::Write as _;
use std::time::Duration;

/// Receives a client's name and a line about one or more of its requests.
pub type RequestHook = fn(client: &str, line: &str);

/// Number of requests of a burst that get a line each.
const SINGLE: u32 = 20;
/// A burst ends after this time without a request.
const QUIET: Duration = Duration::from_secs(1);
/// Interval between summaries of a burst that goes on.
const LONGEST: Duration = Duration::from_secs(10);

/// Words of the names of requests that change nothing.
const LOOKS: [&str; 5] = ["get", "show", "lookup", "want", "dump"];
/// Names of others: commands are logged by themselves.
const OTHERS: [&str; 11] = [
    "arping",
    "arping_acd",
    "cli",
    "cli_inband",
    "det44_forward",
    "det44_reverse",
    "dns_resolve_ip",
    "dns_resolve_name",
    "feature_is_enabled",
    "nat_det_forward",
    "nat_det_reverse",
];

/// End of the names of requests that only want a reply: several modules have one of their own.
const PING: &str = "control_ping";

/// Returns true if a request of this name, which isn't a dump, changes something.
pub fn is_change(name: &str) -> bool {
    if name.ends_with(PING) {
        return false;
    }
    // `l2tpv3_set_lookup_key` sets, whatever it names.
    let sets = name.split('_').any(|word| word == "set") && !name.ends_with("_dump");
    !OTHERS.contains(&name) && (sets || !name.split('_').any(|word| LOOKS.contains(&word)))
}

/// Requests of one name that wait for the summary.
struct PendingSummary {
    name: &'static str,
    count: u64,
    failed: u64,
    /// Return value of the last one that failed.
    retval: i32,
}

struct Burst {
    since: Duration,
    last: Duration,
    /// Reported one by one so far.
    single: u32,
    more: Vec<PendingSummary>,
}

/// The requests of one client.
#[derive(Default)]
pub struct Changes(Option<Burst>);

impl Changes {
    /// Counts a request that was answered at `now`. Returns its line, if it is one of the first of
    /// a burst.
    pub fn add(&mut self, now: Duration, name: &'static str, retval: i32) -> Option<String> {
        let burst = self.0.get_or_insert_with(|| Burst {
            since: now,
            last: now,
            single: 0,
            more: Vec::new(),
        });
        burst.last = now;
        if burst.single < SINGLE {
            burst.single += 1;
            return Some(match retval {
                0 => name.into(),
                _ => format!("{name} failed: {retval}"),
            });
        }
        let at = burst.more.iter().position(|more| more.name == name).unwrap_or_else(|| {
            burst.more.push(PendingSummary { name, count: 0, failed: 0, retval: 0 });
            burst.more.len() - 1
        });
        let more = &mut burst.more[at];
        more.count += 1;
        if retval != 0 {
            more.failed += 1;
            more.retval = retval;
        }
        None
    }

    /// Time at which [`Self::look`] has something to do.
    pub fn wake_at(&self) -> Option<Duration> {
        self.0.as_ref().map(|burst| (burst.last + QUIET).min(burst.since + LONGEST))
    }

    /// Ends a burst, or sums up one that goes on, if it is time. Gives the line, if there is one.
    pub fn look(&mut self, now: Duration) -> Option<String> {
        let burst = self.0.as_mut()?;
        if now >= burst.last + QUIET {
            return self.end();
        }
        if now < burst.since + LONGEST {
            return None;
        }
        let line = burst.summary();
        (burst.since, burst.more) = (now, Vec::new());
        line
    }

    /// Ends the burst. Gives the line about what wasn't reported yet, if there is anything.
    pub fn end(&mut self) -> Option<String> {
        self.0.take()?.summary()
    }
}

impl Burst {
    fn summary(&self) -> Option<String> {
        let all: u64 = self.more.iter().map(|more| more.count).sum();
        if all == 0 {
            return None;
        }
        let mut line = format!("{all} more in {:.1} s", (self.last - self.since).as_secs_f64());
        for (i, PendingSummary { name, count, failed, retval }) in self.more.iter().enumerate() {
            // Writing to a String doesn't fail.
            let _ = write!(line, "{} {name} {count}", if i == 0 { ":" } else { "," });
            if *failed > 0 {
                let _ = write!(line, " ({failed} failed, the last one: {retval})");
            }
        }
        Some(line)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[suite::test]
    fn the_first_ones_stand_alone_and_the_others_in_a_summary() {
        let mut changes = Changes::default();
        assert_eq!((changes.wake_at(), changes.look(at(5)), changes.end()), (None, None, None));
        let lines: Vec<_> = (0..100).map(|i| changes.add(at(i), "ip_route_add_del", 0)).collect();
        assert!(
            lines[..20].iter().all(|line| line.as_deref() == Some("ip_route_add_del")),
            "{lines:?}"
        );
        assert_eq!(lines[20..], vec![None; 80]);
        assert_eq!(changes.add(at(120), "sw_interface_set_flags", -2), None);
        assert_eq!(changes.add(at(150), "ip_route_add_del", -3), None);
        assert_eq!((changes.wake_at(), changes.look(at(1149))), (Some(at(1150)), None));
        let summary = "82 more in 0.1 s: ip_route_add_del 81 (1 failed, the last one: -3), \
                       sw_interface_set_flags 1 (1 failed, the last one: -2)";
        assert_eq!(changes.look(at(1150)).as_deref(), Some(summary));
        // The next one is the first of another burst.
        assert_eq!(changes.wake_at(), None);
        let line = changes.add(at(1200), "ip_route_add_del", -3);
        assert_eq!(line.as_deref(), Some("ip_route_add_del failed: -3"));
        assert_eq!(changes.look(at(2200)), None);
        assert_eq!(changes.wake_at(), None);
    }

    #[suite::test]
    fn a_burst_without_an_end_is_summed_up_every_ten_seconds() {
        let mut changes = Changes::default();
        let mut lines = 0;
        // 1000 a second.
        for ms in 0..30_000 {
            lines += usize::from(changes.add(at(ms), "ip_route_add_del", 0).is_some());
            if let Some(line) = changes.look(at(ms)) {
                lines += 1;
                assert!(
                    line.ends_with(" s: ip_route_add_del 9981") || line.ends_with("10000"),
                    "{line}"
                );
            }
        }
        assert_eq!(lines, 20 + 2);
        // The client goes.
        assert_eq!(changes.end().as_deref(), Some("9999 more in 10.0 s: ip_route_add_del 9999"));
    }

    #[suite::test]
    fn what_only_looks_is_no_change() {
        for name in [
            "show_version",
            "get_node_index",
            "sw_interface_get_table",
            "lisp_locator_set_dump",
            "ip_route_lookup",
            "arping",
            "arping_acd",
            "dns_resolve_ip",
            "dns_resolve_name",
            "cli",
            "control_ping",
            "dhcp_plugin_control_ping",
        ] {
            assert!(!is_change(name), "{name}");
        }
        for name in [
            "create_loopback",
            "dns_enable_disable",
            "ip_route_add_del",
            "sw_interface_set_flags",
            "set_punt",
            "l2tpv3_set_lookup_key",
            "tap_delete_v2",
            "udp_ping_add_del",
        ] {
            assert!(is_change(name), "{name}");
        }
    }
}
