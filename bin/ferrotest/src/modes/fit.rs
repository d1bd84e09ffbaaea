// SPDX-License-Identifier: Apache-2.0
//! Refusal of measurements that make no sense on a device, before anything is sent.

use measure::siitperf::{Span, Vary};
use measure::{Direction, Mode};

use super::{Measuring, NAT, Stop};
use crate::bench::Traffic;
use crate::dut::Spec;
use crate::dut::linux::Role;
use crate::traffic::Kind;
use crate::traffic::random::Spread;

/// Sessions that packets with drawn addresses and ports may open.
fn combinations(traffic: &Traffic) -> u64 {
    let count = |span: Span| match span.vary {
        Vary::Fixed => 1,
        _ => u64::from(span.max.saturating_sub(span.min)) + 1,
    };
    let ports = traffic.ports[0];
    traffic.flows().saturating_mul(count(ports.source) * count(ports.destination))
}

impl Measuring<'_> {
    /// # Errors
    /// The reason why the mode can't be measured with this traffic on this device.
    pub(super) fn check(&self) -> Result<(), Stop> {
        let (mode, spec, most) =
            (self.measurement.mode, self.bench.spec(), self.bench.most_sessions());
        let refused = match NAT.contains(&mode) {
            true => translated(mode, self.traffic, self.settings.sessions.into(), most),
            false if *spec == Spec::Linux(Role::Nat) => untranslated(self.traffic, most),
            false => Ok(()),
        };
        refused.map_err(Stop::Failed)
    }
}

fn too_many(what: &str, count: u64, most: u64) -> String {
    format!(
        "{what} {count} sessions, and the device's table holds {most}; the host's sysctl \
         net.netfilter.nf_conntrack_max makes it larger"
    )
}

/// The modes of NAT.
fn translated(
    mode: Mode,
    traffic: &Traffic,
    sessions: u64,
    most: Option<u64>,
) -> Result<(), String> {
    if traffic.kind != Kind::Ip4 || traffic.share.of > 1 {
        return Err("NAT is measured with IPv4 only: expected --family ip4, no --foreground".into());
    }
    if (traffic.src, traffic.dst) != (Spread::Fixed, Spread::Fixed) {
        return Err("sessions have one address on each side, and are told apart by their ports: \
                    expected --src fixed and --dst fixed"
            .into());
    }
    match most.filter(|most| sessions > *most && mode != Mode::NatCapacity) {
        Some(most) => Err(too_many("--sessions wants", sessions, most)),
        None => Ok(()),
    }
}

/// Other modes through a device that translates.
fn untranslated(traffic: &Traffic, most: Option<u64>) -> Result<(), String> {
    if traffic.kind != Kind::Ip4 || traffic.share.of > 1 {
        return Err(
            "the device translates IPv4 only: expected --family ip4, no --foreground".into()
        );
    }
    if traffic.directions.contains(&Direction::Reverse) {
        return Err("reverse packets of this mode belong to no session, so they would pass \
                    untranslated: expected --one-way, or the mode nat-throughput, which answers \
                    sessions that are open"
            .into());
    }
    let count = combinations(traffic);
    match most.filter(|most| count > *most) {
        Some(most) => Err(format!(
            "{}; expected fewer --ports, such as 1024-2023:1-10",
            too_many("these ports and addresses make", count, most)
        )),
        None => Ok(()),
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::traffic::flow::Share;

    #[suite::test]
    fn modes_of_nat_have_one_address_and_fit_into_the_table() {
        let traffic = Traffic::default();
        let of = |mode, traffic: &Traffic| translated(mode, traffic, 5000, Some(4000));
        assert!(of(Mode::NatCps, &traffic).unwrap_err().contains("holds 4000"));
        // That is the number that is looked for.
        assert_eq!(of(Mode::NatCapacity, &traffic), Ok(()));
        assert_eq!(translated(Mode::NatCps, &traffic, 4000, Some(4000)), Ok(()));
        assert_eq!(translated(Mode::NatCps, &traffic, 5000, None), Ok(()));
        for (traffic, word) in [
            (Traffic { kind: Kind::Ip6, ..traffic.clone() }, "--family ip4"),
            (Traffic { share: Share { foreground: 1, of: 2 }, ..traffic.clone() }, "--foreground"),
            (Traffic { src: Spread::Random(9), ..traffic.clone() }, "--src fixed"),
            (Traffic { dst: Spread::Zipf(9), ..traffic.clone() }, "--dst fixed"),
        ] {
            let why = translated(Mode::NatCapacity, &traffic, 1, None).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
    }

    #[suite::test]
    fn other_modes_need_one_direction_and_few_sessions() {
        let span = |min, max| Span { vary: Vary::Random, min, max };
        let mut traffic = Traffic::default();
        let why = |traffic: &Traffic| untranslated(traffic, Some(8000)).unwrap_err();
        assert!(why(&traffic).contains("--one-way"));
        traffic.directions = vec![Direction::Forward];
        assert!(why(&traffic).contains("3170829312 sessions"), "{}", why(&traffic));
        assert_eq!(untranslated(&traffic, None), Ok(()));
        traffic.ports[0].source = span(1024, 2023);
        traffic.ports[0].destination = span(1, 8);
        assert_eq!(untranslated(&traffic, Some(8000)), Ok(()));
        assert!(why(&Traffic { src: Spread::Random(2), ..traffic.clone() }).contains("16000"));
        assert!(why(&Traffic { kind: Kind::Ethernet, ..traffic }).contains("--family ip4"));
    }
}
