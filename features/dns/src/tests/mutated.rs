// SPDX-License-Identifier: Apache-2.0
//! Mutated queries and responses: each is answered, ignored, or dropped by name.

use super::*;
use testkit::mutate::Mutator;

#[suite::test]
fn mutated_messages_do_no_harm() {
    let mut rig = rig();
    rig.cli("dns cache add s.example 1.2.3.4 2001:db8::1");
    let mut mutator = Mutator::new(0xd2);
    let (mut asked, mut answered) = (0, 0);
    for round in 0..5000u16 {
        // Good queries, of which some are behind pointers or have more records.
        let mut edns = ask(3, round, "e.example", RecordType::AAAA);
        edns.message[11] = 1;
        edns.message.extend([0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0]);
        let queries = [
            ask(2, round, &format!("n{}.example", round % 50), RecordType::A),
            ask(2, round, "s.example", RecordType::ANY),
            ask(4, round, "4.3.2.1.in-addr.arpa", RecordType::PTR),
            edns,
        ];
        let frames: Vec<_> = queries.iter().map(Datagram::frame).collect();
        for frame in mutator.vector(&frames, 10, 42) {
            rig.bench.arrive(rig.ports[0], &frame);
        }
        rig.receive_all(0, &frames[..1]);
        let mut responses = Vec::new();
        for sent in sent(&rig) {
            if sent.port == 0 {
                // A refusal may have no question.
                sent.parsed();
                answered += 1;
                continue;
            }
            asked += 1;
            let text = sent.parsed().questions[0].name.to_string();
            if text.parse::<Name>().is_err() {
                continue;
            }
            let answers = [alias(&text, 30, "c.example"), a("c.example", 30, [1; 4])];
            responses.push(response(&sent, 0, &answers, None).frame());
            responses.push(response(&sent, 3, &[], Some((9, 9))).frame());
            responses.push(response(&sent, 0, &answers[..1], None).frame());
        }
        if !responses.is_empty() {
            for frame in mutator.vector(&responses, 10, 44) {
                rig.bench.arrive(rig.ports[1], &frame);
            }
            rig.bench.settle();
        }
        if round % 16 == 0 {
            rig.seconds(2);
            rig.cli("show dns cache verbose");
        }
        for sent in sent(&rig) {
            assert!(sent.message.len() <= 512);
            sent.parsed();
        }
    }
    assert!(asked > 1000 && answered > 1000, "{asked} {answered}");
    // Nothing waits for ever.
    rig.seconds(60);
    assert!(!rig.cli("show dns cache").contains("[P]"));
}
