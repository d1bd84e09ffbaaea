// SPDX-License-Identifier: Apache-2.0
//! The demo's numbers: read from the programs' output, printed at the end, judged.

use std::path::Path;

use serde_json::Value;

use crate::graph;
use crate::sh::Res;

/// The measured results, and the faults.
#[derive(Debug, Default)]
pub struct Report {
    lines: Vec<String>,
    faults: Vec<String>,
}

/// The number right before `what` in `text`.
fn number_before(text: &str, what: &str) -> Option<f64> {
    text.split_once(what)?.0.split_whitespace().last()?.trim_end_matches('%').parse().ok()
}

impl Report {
    /// Read the closing lines of iputils' ping.
    pub fn ping(&mut self, text: &str) -> Res {
        let fail = || format!("ping said something unexpected:\n{text}");
        let sent = number_before(text, " packets transmitted").ok_or_else(fail)?;
        let received = number_before(text, " received").ok_or_else(fail)?;
        let times = text.split_once("mdev = ").map_or("no answer", |(_, t)| t.trim());
        self.lines
            .push(format!("ping       {received} of {sent} answered, min/avg/max/mdev {times}"));
        if received < sent {
            self.faults.push(format!("ping: {} of {sent} lost", sent - received));
        }
        Ok(())
    }

    /// Read the result of an iperf3 client; gives back the line for the summary.
    pub fn iperf(&mut self, name: &str, result: &Value) -> Res<String> {
        let end = &result["end"];
        let sum = if end["sum_received"].is_object() { &end["sum_received"] } else { &end["sum"] };
        let rate = sum["bits_per_second"].as_f64().ok_or("iperf3 gave no rate")? / 1e6;
        let detail =
            match (end["sum_sent"]["retransmits"].as_u64(), end["sum"]["lost_packets"].as_u64()) {
                (Some(again), _) => format!("{again} retransmissions"),
                (None, Some(lost)) => {
                    format!(
                        "{lost} of {} packets lost",
                        end["sum"]["packets"].as_u64().unwrap_or(0)
                    )
                }
                (None, None) => String::from("loss unknown"),
            };
        if rate < 1.0 {
            self.faults
                .push(format!("iperf3 {name}: hardly anything came through ({rate:.3} Mbit/s)"));
        }
        self.lines.push(format!("{name}        {rate:.0} Mbit/s, {detail}"));
        Ok(format!("{rate:.0} Mbit/s, {detail}"))
    }

    /// Print what was measured.
    pub fn print(&self) {
        self.lines.iter().for_each(|line| println!("  {line}"));
    }

    /// An error if something that must work did not.
    pub fn verdict(self) -> Res {
        if self.faults.is_empty() { Ok(()) } else { Err(self.faults.join("; ")) }
    }
}

/// Draw the graph into `out` and say how large it is.
pub fn drawn(dot: &str, out: &Path) -> Res {
    let (nodes, edges) = graph::size(dot);
    graph::draw(dot, out)?;
    println!("  {nodes} nodes, {edges} edges: {}", out.join("graph.svg").display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PING: &str = "PING 10.0.2.2 (10.0.2.2) 56(84) bytes of data.\n\n--- 10.0.2.2 ping statistics ---\n\
        10 packets transmitted, 9 received, 10% packet loss, time 1850ms\n\
        rtt min/avg/max/mdev = 0.031/0.045/0.071/0.010 ms\n";

    #[test]
    fn ping_is_read_and_loss_is_a_fault() {
        let mut report = Report::default();
        report.ping(PING).unwrap();
        assert_eq!(
            report.lines,
            ["ping       9 of 10 answered, min/avg/max/mdev 0.031/0.045/0.071/0.010 ms"]
        );
        assert_eq!(report.verdict(), Err("ping: 1 of 10 lost".into()));
        let mut report = Report::default();
        report.ping(&PING.replace("9 received", "10 received")).unwrap();
        assert_eq!(report.verdict(), Ok(()));
        assert!(Report::default().ping("ping: bad").is_err());
    }

    #[test]
    fn iperf_is_read_for_tcp_and_udp() {
        let mut report = Report::default();
        let tcp = json!({ "end": { "sum_sent": { "retransmits": 3 }, "sum_received": { "bits_per_second": 2.5e9 } } });
        assert_eq!(report.iperf("TCP", &tcp).unwrap(), "2500 Mbit/s, 3 retransmissions");
        let udp = json!({ "end": { "sum": { "bits_per_second": 2e8, "lost_packets": 7, "packets": 900 } } });
        assert_eq!(report.iperf("UDP", &udp).unwrap(), "200 Mbit/s, 7 of 900 packets lost");
        assert!(report.iperf("UDP", &json!({ "end": {} })).is_err());
        assert_eq!(report.verdict(), Ok(()));
    }

    #[test]
    fn no_traffic_is_a_fault() {
        let mut report = Report::default();
        let none = json!({ "end": { "sum": { "bits_per_second": 0.0, "lost_packets": 900, "packets": 900 } } });
        report.iperf("UDP", &none).unwrap();
        assert!(report.verdict().is_err());
    }
}
