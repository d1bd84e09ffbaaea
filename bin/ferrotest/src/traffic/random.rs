// SPDX-License-Identifier: Apache-2.0
//! Pseudorandom numbers and the distributions of addresses and ports. A seed gives the same
//! packets on every machine.

use measure::siitperf::{Span, Vary};

/// xorshift64* (Vigna 2016).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed; every seed will do.
    pub fn new(seed: u64) -> Self {
        // splitmix64's finaliser: neighbouring seeds give unrelated numbers, and never zero
        let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((z ^ (z >> 31)) | 1)
    }

    /// 32 random bits.
    #[inline(always)]
    pub fn bits(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }

    /// A number below `n`, which is not 0.
    #[inline(always)]
    pub fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.bits()) * u64::from(n)) >> 32) as u32
    }

    /// A number in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        f64::from(self.bits()) / 4_294_967_296.0
    }
}

/// Most addresses of a range.
pub const MOST_ADDRESSES: u32 = 65_000;

/// Distribution of addresses over a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spread {
    /// The first address only.
    #[default]
    Fixed,
    /// Uniform over this many addresses.
    Random(u32),
    /// Zipf with exponent 1 over this many addresses: few are frequent, most are rare.
    Zipf(u32),
}

impl Spread {
    /// Number of addresses.
    pub fn count(self) -> u32 {
        match self {
            Self::Fixed => 1,
            Self::Random(count) | Self::Zipf(count) => count,
        }
    }
}

impl std::str::FromStr for Spread {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "address range `{text}': expected fixed, random:COUNT or zipf:COUNT \
                 (1-{MOST_ADDRESSES})"
            )
        };
        let (kind, count) = text.split_once(':').unwrap_or((text, "1"));
        let count = count.parse().ok().filter(|count| (1..=MOST_ADDRESSES).contains(count));
        match (kind, count) {
            ("fixed", Some(1)) => Ok(Self::Fixed),
            ("random", Some(count)) => Ok(Self::Random(count)),
            ("zipf", Some(count)) => Ok(Self::Zipf(count)),
            _ => Err(wrong()),
        }
    }
}

/// Draws numbers of a [`Spread`].
#[derive(Clone, Debug)]
pub enum Draw {
    /// Always 0.
    Fixed,
    /// Uniform below.
    Uniform(u32),
    /// One of these, uniformly: a sample of a distribution that is costly to draw from.
    Table(Box<[u32]>),
}

/// Entries of a sampled distribution.
const SAMPLES: usize = 1 << 16;

impl Draw {
    /// Prepares to draw.
    pub fn new(spread: Spread, seed: u64) -> Self {
        match spread {
            Spread::Fixed | Spread::Random(0 | 1) | Spread::Zipf(0 | 1) => Self::Fixed,
            Spread::Random(count) => Self::Uniform(count),
            Spread::Zipf(count) => {
                let mut sum = 0.0;
                let sums: Vec<f64> = (1..=count)
                    .map(|rank| {
                        sum += 1.0 / f64::from(rank);
                        sum
                    })
                    .collect();
                let mut random = Random::new(seed);
                let one = |_| {
                    let at = random.unit() * sum;
                    sums.partition_point(|&below| below <= at).min(sums.len() - 1) as u32
                };
                Self::Table((0..SAMPLES).map(one).collect())
            }
        }
    }

    /// Draws a number.
    #[inline(always)]
    pub fn next(&self, random: &mut Random) -> u32 {
        match self {
            Self::Fixed => 0,
            Self::Uniform(count) => random.below(*count),
            Self::Table(table) => table[random.below(SAMPLES as u32) as usize % SAMPLES],
        }
    }
}

/// Source ports of RFC 4814 §4.5: 1024 to 65535.
pub const SOURCE: Span = Span { vary: Vary::Random, min: 1024, max: 65_535 };

/// Destination ports of RFC 4814 §4.5: 1 to 49151.
pub const DESTINATION: Span = Span { vary: Vary::Random, min: 1, max: 49_151 };

/// The number of packet `sequence`, below a count that isn't 0.
#[inline(always)]
pub fn step(vary: Vary, count: u32, sequence: u32, random: &mut Random) -> u32 {
    match vary {
        Vary::Fixed => 0,
        Vary::Increase => sequence % count,
        Vary::Decrease => count - 1 - sequence % count,
        Vary::Random => random.below(count),
    }
}

/// The port of packet `sequence`.
#[inline(always)]
pub fn port(span: &Span, sequence: u32, random: &mut Random) -> u16 {
    let count = u32::from(span.max.saturating_sub(span.min)) + 1;
    span.min.wrapping_add(step(span.vary, count, sequence, random) as u16)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn ports_stay_in_their_range_and_reach_its_ends() {
        let mut random = Random::new(1);
        for range in [SOURCE, DESTINATION] {
            let mut seen = vec![false; 65_536];
            for sequence in 0..2_000_000 {
                let port = port(&range, sequence, &mut random);
                assert!((range.min..=range.max).contains(&port));
                seen[usize::from(port)] = true;
            }
            let all = usize::from(range.max - range.min) + 1;
            assert_eq!(seen.iter().filter(|&&seen| seen).count(), all);
        }
    }

    #[suite::test]
    fn ports_go_up_and_down() {
        let ports = |vary| {
            let range = Span { vary, min: 10, max: 12 };
            (0..4).map(|i| port(&range, i, &mut Random::new(0))).collect::<Vec<_>>()
        };
        assert_eq!(ports(Vary::Increase), [10, 11, 12, 10]);
        assert_eq!(ports(Vary::Decrease), [12, 11, 10, 12]);
        assert_eq!(ports(Vary::Fixed), [10; 4]);
    }

    #[suite::test]
    fn zipf_follows_its_law() {
        let draw = Draw::new(Spread::Zipf(1000), 3);
        let mut random = Random::new(4);
        let mut counts = [0_u32; 1000];
        for _ in 0..1_000_000 {
            counts[draw.next(&mut random) as usize] += 1;
        }
        // harmonic number of 1000: 7.4855
        let share = |rank: usize| f64::from(counts[rank - 1]) / 1e6 * 7.4855 * rank as f64;
        assert!((0.95..1.05).contains(&share(1)), "{}", share(1));
        assert!((0.9..1.1).contains(&share(2)), "{}", share(2));
        assert!((0.8..1.2).contains(&share(10)), "{}", share(10));
    }

    #[suite::test]
    fn reads_ranges() {
        assert_eq!("fixed".parse(), Ok(Spread::Fixed));
        assert_eq!("random:4096".parse(), Ok(Spread::Random(4096)));
        assert_eq!("zipf:65000".parse(), Ok(Spread::Zipf(65_000)));
        for bad in ["random:0", "random:65001", "fixed:2", "other", "zipf:x", ""] {
            assert!(bad.parse::<Spread>().is_err(), "{bad}");
        }
    }
}
