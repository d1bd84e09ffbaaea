// SPDX-License-Identifier: Apache-2.0
//! `ping` of iputils: whether all that was asked was answered.

use super::{Netns, Output};

impl Netns {
    /// One `ping` with these options; whether it succeeds is the caller's to judge.
    pub fn ping(&self, options: &str, to: &str) -> Output {
        let ping = self.command("ping").args(["-n", "-W2"]);
        ping.args(options.split_whitespace()).args([to]).run()
    }

    /// `ping` that is answered each time, with the bytes that it sent. Returns what it printed: its
    /// last line has the round-trip times.
    ///
    /// # Panics
    /// A request wasn't answered within 20 seconds.
    #[track_caller]
    pub fn pings(&self, options: &str, to: &str) -> String {
        // Without a deadline `ping` waits for the last answer no longer than its interval, which
        // may be too short on a busy machine.
        let output = self.ping(&format!("-w20 {options}"), to);
        assert!(output.success() && answered(&output.stdout) == 1, "{}", output.complaint());
        output.stdout
    }
}

/// The number of `ping`s in a text of which each request that was waited for was answered, in the
/// order in which they were sent, with the bytes that it had. While an answer is late, `ping` with
/// a deadline sends more, so it may have sent more than was answered.
pub fn answered(text: &str) -> usize {
    let is_answered = |ping: &&str| {
        let replies = ping.lines().filter_map(|line| {
            line.split_once("icmp_seq=")?.1.split(' ').next()?.parse::<usize>().ok()
        });
        let received = ping
            .split_once(" packets transmitted, ")
            .and_then(|(_, rest)| rest.split(' ').next()?.parse::<usize>().ok());
        let received: usize = received.unwrap_or(0);
        received > 0 && replies.eq(1..=received) && !ping.contains("wrong data byte")
    };
    text.split("PING ").skip(1).filter(is_answered).count()
}
