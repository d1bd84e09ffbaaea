// SPDX-License-Identifier: Apache-2.0
//! Hosts and a router on a link that may lose messages: in the end the router knows what all hosts
//! together listen to.

use super::*;
use crate::filter::Filter;
use crate::host::Host;
use crate::router::{Router, Times};
use testkit::Rng;

const TIMES: Times = Times { membership: 1000, leave: 20 };

struct Link {
    hosts: Vec<Host>,
    router: Router,
    now: u64,
    rng: Rng,
    lossy: bool,
}

impl Link {
    fn step(&mut self) {
        self.now += 1;
        let mut heard = Vec::new();
        for host in &mut self.hosts {
            let pause = 1 + self.rng.below(5) as u64;
            heard.extend(host.take_changes(self.now, pause));
            heard.extend(host.take_answers(self.now));
        }
        for record in heard {
            if self.lossy && self.rng.one_in(5) {
                continue;
            }
            let key = (record.kind, record.group);
            let asked = self.router.record(self.now, key, &record.sources, TIMES);
            asked.expect("room").into_iter().for_each(|q| self.ask(q.group, &q.sources));
        }
        for query in self.router.take_repeats(self.now, TIMES.leave) {
            self.ask(query.group, &query.sources);
        }
        if self.now.is_multiple_of(300) {
            self.ask(Ipv4Addr::UNSPECIFIED, &Sources::new());
        }
        self.router.expire(self.now);
    }

    fn ask(&mut self, group: Ipv4Addr, sources: &Sources) {
        for host in &mut self.hosts {
            if !(self.lossy && self.rng.one_in(5)) {
                host.query(self.now, group, sources.clone(), self.rng.below(8) as u64);
            }
        }
    }

    fn wanted(&self, group: Ipv4Addr) -> Filter {
        let filters = self.hosts.iter().flat_map(|host| host.groups());
        let of_group = filters.filter(|(ip, _)| *ip == group);
        of_group.fold(Filter::default(), |all, (_, one)| all.merge(one))
    }
}

#[suite::test]
fn a_router_learns_what_its_hosts_listen_to() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let hosts = vec![Host::default(); 1 + rng.below(4)];
        let mut link = Link { hosts, router: Router::default(), now: 0, rng, lossy: seed % 2 == 1 };
        let groups: Vec<_> = (1..4).map(|n| Ipv4Addr::new(239, 0, 0, n)).collect();
        let sources: Vec<_> = (1..6).map(|n| Ipv4Addr::new(10, 0, 0, n)).collect();
        for _ in 0..40 {
            let (host, group) = (link.rng.below(link.hosts.len()), *link.rng.pick(&groups));
            let chosen = sources.iter().copied().filter(|_| link.rng.one_in(2));
            let chosen: Sources = chosen.collect();
            let filter = Filter { exclude: link.rng.one_in(3), sources: chosen };
            link.hosts[host].set(link.now, group, &filter, 2);
            for _ in 0..link.rng.below(30) {
                link.step();
            }
        }
        link.lossy = false;
        // Two queries, and the time after which all that nobody reports is forgotten.
        for _ in 0..3000 {
            link.step();
        }
        for group in groups {
            let (wanted, known) = (link.wanted(group), link.router.filter(group));
            for source in &sources {
                assert_eq!(known.wants(*source), wanted.wants(*source), "seed {seed} {group}");
            }
            assert_eq!(known.exclude, wanted.exclude, "seed {seed} {group}");
        }
    }
}

#[suite::test]
fn filters_merge_to_what_either_listens_to() {
    let mut rng = Rng::new(7);
    let sources: Vec<_> = (1..9).map(|n| Ipv4Addr::new(10, 0, 0, n)).collect();
    for _ in 0..2000 {
        let mut one = || {
            let chosen = sources[..7].iter().copied().filter(|_| rng.one_in(2)).collect();
            Filter { sources: chosen, exclude: rng.one_in(2) }
        };
        let (a, b) = (one(), one());
        let merged = a.merge(&b);
        assert_eq!(merged, b.merge(&a));
        for source in &sources {
            assert_eq!(merged.wants(*source), a.wants(*source) || b.wants(*source));
        }
    }
}
