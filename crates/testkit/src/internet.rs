// SPDX-License-Identifier: Apache-2.0
//! Route tables and traffic as the Internet's: what speed and memory of tables are measured with.
//!
//! Lengths are distributed as in the tables that providers exchange; prefixes stand in clusters
//! (some blocks are cut up finely, most hardly), half of them beside a sibling, more than half
//! below a shorter one; some 500 next hops, and neighbouring prefixes mostly share theirs. All of
//! that matters more to a lookup than the number of routes: consecutive prefixes, all of one
//! length, flatter every structure. The same seed gives the same table on every machine.

use crate::Rng;
use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::{Address, Ip4, Ip6, Prefix};

/// Next hops in a table.
pub const HOPS: u16 = 500;
/// Flows of [`Traffic::Zipf`].
pub const FLOWS: usize = 16_384;

/// A prefix, and the number of its next hop, below [`HOPS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route<A: Address> {
    /// Destination prefix.
    pub prefix: Prefix<A>,
    /// Number of the next hop.
    pub hop: u16,
}

/// The distribution of packets over destinations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// All to the same address.
    OneFlow,
    /// [`FLOWS`] addresses, the n-th most frequent in 1/n of the packets.
    Zipf,
    /// Every route is as likely as any other.
    Uniform,
    /// Every unicast address is as likely as any other: many have no route.
    AllAddresses,
}

/// A protocol's side of it.
pub trait Internet: wire::Family {
    /// Routes per mille by length.
    const LENGTHS: &'static [(u8, f64)];
    /// Routes per mille that lie below another.
    const COVERED: usize;
    /// Bits of a cluster.
    const CLUSTER: u8;
    /// The networks that clusters lie in.
    fn space() -> Vec<Prefix<Self::Addr>>;
    /// The address of these bits, the first one sent being the most significant of the 128.
    fn addr(bits: u128) -> Self::Addr;
    /// The inverse of [`Self::addr`].
    fn bits(addr: Self::Addr) -> u128;
}

impl Internet for Ip4 {
    const LENGTHS: &'static [(u8, f64)] = &[
        (8, 0.016),
        (9, 0.013),
        (10, 0.04),
        (11, 0.1),
        (12, 0.29),
        (13, 0.57),
        (14, 1.2),
        (15, 2.0),
        (16, 13.5),
        (17, 8.0),
        (18, 14.0),
        (19, 25.0),
        (20, 45.0),
        (21, 51.0),
        (22, 109.0),
        (23, 106.0),
        (24, 616.0),
    ];
    const COVERED: usize = 540;
    const CLUSTER: u8 = 16;

    /// Without 10.0.0.0/8, 127.0.0.0/8 and 192.0.0.0/8, which tests need for themselves.
    fn space() -> Vec<Prefix<Ipv4Addr>> {
        let first = (1..=223).filter(|first| ![10, 127, 192].contains(first));
        first.filter_map(|first| Prefix::new(Ipv4Addr::new(first, 0, 0, 0), 8)).collect()
    }

    fn addr(bits: u128) -> Ipv4Addr {
        Ipv4Addr::from_bits((bits >> 96) as u32)
    }

    fn bits(addr: Ipv4Addr) -> u128 {
        u128::from(addr.to_bits()) << 96
    }
}

impl Internet for Ip6 {
    const LENGTHS: &'static [(u8, f64)] = &[
        (20, 0.5),
        (24, 1.0),
        (28, 3.0),
        (29, 40.0),
        (30, 3.0),
        (31, 2.0),
        (32, 118.0),
        (33, 20.0),
        (34, 15.0),
        (35, 8.0),
        (36, 50.0),
        (37, 5.0),
        (38, 12.0),
        (39, 5.0),
        (40, 95.0),
        (41, 5.0),
        (42, 25.0),
        (43, 5.0),
        (44, 92.0),
        (45, 15.0),
        (46, 30.0),
        (47, 25.0),
        (48, 460.0),
        (56, 4.0),
        (64, 2.0),
    ];
    const COVERED: usize = 570;
    const CLUSTER: u8 = 20;

    /// The blocks that the registries hand out from.
    fn space() -> Vec<Prefix<Ipv6Addr>> {
        let blocks = [0x2000_u16, 0x2400, 0x2600, 0x2800, 0x2a00, 0x2c00];
        blocks
            .iter()
            .filter_map(|b| Prefix::new(Ipv6Addr::new(*b, 0, 0, 0, 0, 0, 0, 0), 12))
            .collect()
    }

    fn addr(bits: u128) -> Ipv6Addr {
        Ipv6Addr::from_bits(bits)
    }

    fn bits(addr: Ipv6Addr) -> u128 {
        addr.to_bits()
    }
}

fn random(rng: &mut Rng) -> u128 {
    u128::from(rng.next()) << 64 | u128::from(rng.next())
}

/// The first `len` of 128 bits.
fn network(bits: u128, len: u8) -> u128 {
    bits & Ipv6Addr::mask(len).to_bits()
}

/// Blocks of addresses of unequal popularity.
struct Clusters {
    blocks: Vec<u128>,
    /// Up to here, the sum of the weights.
    sums: Vec<f64>,
}

impl Clusters {
    fn new<F: Internet>(rng: &mut Rng) -> Self {
        let step = 1_u128 << (128 - F::CLUSTER);
        let (mut blocks, mut sums, mut sum) = (Vec::new(), Vec::new(), 0.0);
        for prefix in F::space() {
            let first = F::bits(prefix.addr());
            for block in 0..1_u128 << (F::CLUSTER - prefix.len()) {
                blocks.push(first + block * step);
                // Lognormal, σ = 1.3; the sum of twelve uniform numbers is normal enough.
                let normal: f64 = (0..12).map(|_| unit(rng)).sum::<f64>() - 6.0;
                sum += (1.3 * normal).exp();
                sums.push(sum);
            }
        }
        Self { blocks, sums }
    }

    fn pick(&self, rng: &mut Rng) -> u128 {
        let at = unit(rng) * self.sums[self.sums.len() - 1];
        self.blocks[self.sums.partition_point(|sum| *sum <= at).min(self.blocks.len() - 1)]
    }
}

/// From 0 to below 1.
fn unit(rng: &mut Rng) -> f64 {
    (rng.next() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A table of `n` different prefixes, in random order.
pub fn routes<F: Internet>(n: usize, seed: u64) -> Vec<Route<F::Addr>> {
    let mut rng = Rng::new(seed);
    let clusters = Clusters::new::<F>(&mut rng);
    let cluster = Ipv6Addr::mask(F::CLUSTER).to_bits();
    let mut seen: HashSet<(u128, u8)> = HashSet::with_capacity(n);
    let mut all: Vec<(u128, u8)> = Vec::with_capacity(n);
    let total: f64 = F::LENGTHS.iter().map(|(_, share)| share).sum();
    let mut due = 0.0;
    for &(len, share) in F::LENGTHS {
        due += share / total * n as f64;
        let (shorter, host) = (all.len(), !Ipv6Addr::mask(len).to_bits());
        let last = len == F::LENGTHS[F::LENGTHS.len() - 1].0;
        let until = if last { n } else { (due.round() as usize).min(n) };
        let mut tries = 0_usize;
        while all.len() < until {
            tries += 1;
            // A length that is used up leaves the rest to the longer ones.
            if tries > 64 * (until - shorter) && !last {
                break;
            }
            let covered = rng.below(1000) < F::COVERED;
            let bits = if rng.one_in(2) && all.len() > shorter {
                all[shorter + rng.below(all.len() - shorter)].0 ^ (host + 1)
            } else if covered && shorter > 0 {
                let (above, above_len) = all[rng.below(shorter)];
                above | random(&mut rng) & !Ipv6Addr::mask(above_len).to_bits()
            } else {
                clusters.pick(&mut rng) | random(&mut rng) & !cluster
            };
            let bits = network(bits, len);
            let inside = clusters.blocks.binary_search(&(bits & cluster)).is_ok();
            let is_covered = || {
                F::LENGTHS.iter().any(|(l, _)| *l < len && seen.contains(&(network(bits, *l), *l)))
            };
            if !inside
                || (!covered && !tries.is_multiple_of(8) && is_covered())
                || !seen.insert((bits, len))
            {
                continue;
            }
            all.push((bits, len));
        }
    }
    // Neighbours in the order of addresses mostly have the same next hop.
    all.sort_unstable();
    let mut hop = 0;
    let mut routes: Vec<Route<F::Addr>> = all
        .into_iter()
        .filter_map(|(bits, len)| {
            if rng.below(1000) >= 600 {
                hop = rng.below(HOPS.into()) as u16;
            }
            Some(Route { prefix: Prefix::new(F::addr(bits), len)?, hop })
        })
        .collect();
    for at in (1..routes.len()).rev() {
        routes.swap(at, rng.below(at + 1));
    }
    routes
}

/// Destinations of `n` packets in a table of these routes.
///
/// # Panics
/// If there are no routes.
pub fn destinations<F: Internet>(
    routes: &[Route<F::Addr>],
    traffic: Traffic,
    n: usize,
    seed: u64,
) -> Vec<F::Addr> {
    let mut rng = Rng::new(seed);
    let one = |rng: &mut Rng| {
        let prefix = rng.pick(routes).prefix;
        F::addr(
            F::bits(prefix.network().addr())
                | random(rng) & !Ipv6Addr::mask(prefix.len()).to_bits(),
        )
    };
    match traffic {
        Traffic::OneFlow => vec![one(&mut rng); n],
        Traffic::Uniform => (0..n).map(|_| one(&mut rng)).collect(),
        Traffic::AllAddresses => {
            let space = F::space();
            let any = |rng: &mut Rng| {
                let within = rng.pick(&space);
                let host = random(rng) & !Ipv6Addr::mask(within.len()).to_bits();
                F::addr(F::bits(within.addr()) | host)
            };
            (0..n).map(|_| any(&mut rng)).collect()
        }
        Traffic::Zipf => {
            let flows: Vec<F::Addr> = (0..FLOWS).map(|_| one(&mut rng)).collect();
            let mut sum = 0.0;
            let sums: Vec<f64> = (1..=FLOWS)
                .map(|rank| {
                    sum += 1.0 / rank as f64;
                    sum
                })
                .collect();
            let pick = |rng: &mut Rng| {
                let at = unit(rng) * sum;
                flows[sums.partition_point(|sum| *sum <= at).min(FLOWS - 1)]
            };
            (0..n).map(|_| pick(&mut rng)).collect()
        }
    }
}

/// Number of routes of each length.
pub fn lengths<A: Address>(routes: &[Route<A>]) -> HashMap<u8, usize> {
    let mut lengths = HashMap::new();
    for route in routes {
        *lengths.entry(route.prefix.len()).or_default() += 1;
    }
    lengths
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn shape<F: Internet>(n: usize) {
        let all = routes::<F>(n, 1);
        assert_eq!(all.len(), n);
        assert_eq!(all, routes::<F>(n, 1), "a seed gives the same table again");
        let keys: HashSet<(u128, u8)> =
            all.iter().map(|r| (F::bits(r.prefix.addr()), r.prefix.len())).collect();
        assert_eq!(keys.len(), n, "prefixes are different");
        assert!(all.iter().all(|r| !r.prefix.has_host_bits() && r.hop < HOPS));
        let lengths = lengths(&all);
        for (len, share) in F::LENGTHS.iter().filter(|(_, share)| *share >= 10.0) {
            let got = lengths[len] as f64 * 1000.0 / n as f64;
            assert!((got - share).abs() < share * 0.1, "/{len}: {got} of 1000, expected {share}");
        }
        let below =
            |(bits, len): &(u128, u8)| (0..*len).any(|l| keys.contains(&(network(*bits, l), l)));
        let covered = keys.iter().filter(|k| below(k)).count() as f64 / n as f64;
        assert!((0.4..0.75).contains(&covered), "{covered} of the routes lie below another");
        let space = F::space();
        assert!(all.iter().all(|r| space.iter().any(|s| s.contains(r.prefix.addr()))));
    }

    #[suite::test]
    fn tables_have_the_shape_of_the_internets() {
        shape::<Ip4>(50_000);
        shape::<Ip6>(20_000);
    }

    #[suite::test]
    fn traffic_goes_where_it_should() {
        let all = routes::<Ip4>(1000, 7);
        let covered = |a: &Ipv4Addr| all.iter().any(|r| r.prefix.contains(*a));
        let uniform = destinations::<Ip4>(&all, Traffic::Uniform, 1000, 3);
        assert!(uniform.iter().all(covered));
        let one = destinations::<Ip4>(&all, Traffic::OneFlow, 1000, 3);
        assert!(one.iter().all(|a| *a == one[0]) && covered(&one[0]));
        let zipf = destinations::<Ip4>(&all, Traffic::Zipf, 20_000, 3);
        let mut counts: HashMap<Ipv4Addr, usize> = HashMap::new();
        zipf.iter().for_each(|a| *counts.entry(*a).or_default() += 1);
        let most = counts.values().max().copied().unwrap_or(0);
        // 1 / H(16384) of the packets, which is a tenth.
        assert!((1600..2400).contains(&most) && counts.len() > 3000, "{most} of {}", counts.len());
        let any = destinations::<Ip4>(&all, Traffic::AllAddresses, 1000, 3);
        assert!(any.iter().any(|a| !covered(a)));
    }
}
