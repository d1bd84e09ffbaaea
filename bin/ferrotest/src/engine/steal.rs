// SPDX-License-Identifier: Apache-2.0
//! CPU time that a hypervisor took from this machine (proc(5), `/proc/stat`).

/// Counters at one moment, in ticks.
#[derive(Clone, Copy, Default, Debug)]
pub struct Times {
    total: u64,
    stolen: u64,
}

impl Times {
    /// Reads the counters; zeros if there are none.
    pub fn now() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Line `cpu`: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest nice; the
    /// guests' time is in the first two already.
    fn parse(text: &str) -> Self {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().take(8).filter_map(|word| word.parse().ok()).collect();
        Self { total: ticks.iter().sum(), stolen: ticks.get(7).copied().unwrap_or(0) }
    }

    /// Share of the time since then that was stolen, 0 to 1.
    pub fn share_since(self, then: Self) -> f64 {
        let total = self.total.saturating_sub(then.total);
        let stolen = self.stolen.saturating_sub(then.stolen);
        if total == 0 { 0.0 } else { stolen as f64 / total as f64 }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn steal_is_a_share_of_all_time() {
        let then = Times::parse("cpu  100 0 50 800 10 0 5 35 7 0\ncpu0 1 2 3\n");
        let now = Times::parse("cpu  150 0 60 830 10 0 5 45 9 0\n");
        assert_eq!(now.share_since(then), 0.1);
        assert_eq!(Times::parse("").share_since(then), 0.0);
        assert!(Times::now().total > 0);
    }
}
