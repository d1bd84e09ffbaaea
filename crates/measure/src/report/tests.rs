// SPDX-License-Identifier: Apache-2.0
//! A made-up run with everything that a report shows, and checks of its outputs.

use super::*;
use crate::*;

/// Values around a centre, the same in each run.
fn spread(centre: f64, share: f64, n: u32) -> Vec<f64> {
    (0..n).map(|i| centre * (1.0 + share * (f64::from(i * 7 % n) / f64::from(n) - 0.5))).collect()
}

fn trial(rate: f64, repeat: u32, at: f64) -> Trial {
    let mut t = Trial::new(rate, 1.0);
    let sent = t.expected();
    let both = [Direction::Forward, Direction::Reverse];
    t.directions =
        both.map(|d| Counts { sent, received: sent, sending_time: 1.0, ..Counts::new(d) }).to_vec();
    (t.repeat, t.at) = (repeat, at);
    t
}

fn latencies(base: f64) -> Vec<LatencyAt> {
    let loads = [("no load", 100.0), ("50 % of NDR", 2e5), ("90 % of NDR", 3.6e5)];
    let at = |(i, (load, rate)): (usize, (&str, f64))| {
        let mut latency = Latency::new();
        for k in 1..20_000u32 {
            // A long tail: the inverse of the rank.
            let tail = (20_000.0 / f64::from(k)).powf(0.35 + i as f64 * 0.15);
            latency.record((base * (1.0 + i as f64 * 0.4) * (0.8 + 0.2 * tail)) as u64);
        }
        LatencyAt { load: load.into(), rate, direction: None, latency }
    };
    loads.into_iter().enumerate().map(at).collect()
}

/// Run of two devices with all kinds of results.
pub(crate) fn example() -> Results {
    let mut r = Results {
        program: "ferrotest 0.1.0".into(),
        title: "Linux and Ferrovia over veth".into(),
        started: "2026-11-27T07:01:04Z".into(),
        finished: "2026-11-27T07:31:04Z".into(),
        complete: true,
        seed: 42,
        ..Results::default()
    };
    let e = &mut r.environment;
    e.cpu.model = "AMD EPYC 9B45".into();
    (e.cpu.cores, e.cpu.threads_per_core, e.cpu.tsc_hz) = (2, 2, 2.7e9);
    e.cpu.flags = ["avx2", "avx512f", "avx512vbmi"].map(String::from).to_vec();
    e.kernel = "Linux 6.1.0".into();
    e.memory_bytes = 24 << 30;
    e.versions.push(("rustc".into(), "1.95.0".into()));
    e.command = "ferrotest compare linux ferrovia --sizes 64,512,1518"
        .split(' ')
        .map(String::from)
        .collect();
    r.selftests.push(SelfTest {
        port: "veth".into(),
        size: Size::Bytes(64),
        rate: 9e5,
        latency_ns: 2100,
        at: 0.0,
    });
    for (device, base, n) in [("linux", 4.4e5, 20), ("ferrovia", 8.1e5, 20)] {
        for (family, part) in [(Family::Ip4, 1.0), (Family::Ip6, 0.93)] {
            for (bytes, share) in [(64, 1.0), (512, 0.97), (1518, 0.8)] {
                let mut m = Measurement::new(Mode::Throughput, device, Profile::Quick);
                (m.family, m.size) = (family, Size::Bytes(bytes));
                m.description = format!("{device} with two ports");
                m.mark(Mark::NotRfc2544);
                let rate = base * part * share;
                if rate > 9e5 / 1.2 {
                    m.mark(Mark::TesterBound);
                }
                m.series_mut("throughput", "pps").values = spread(rate, 0.04, n);
                m.trials = (0..n).map(|i| trial(rate, i, f64::from(i) * 2.0)).collect();
                m.cpu =
                    Some(CpuCost { cpu_seconds: 20.0, packets: (rate * 20.0) as u64, hz: 2.7e9 });
                r.measurements.push(m);
            }
        }
        let mut l = Measurement::new(Mode::Latency, device, Profile::Quick);
        l.latency = latencies(if device == "linux" { 14_000.0 } else { 9000.0 });
        r.measurements.push(l);
        let mut l = Measurement::new(Mode::Loss, device, Profile::Quick);
        l.loss = (0..10)
            .map(|i| 1e6 * (1.0 - f64::from(i) * 0.1))
            .map(|rate| {
                let loss_ratio = (1.0 - base / rate).max(0.0);
                RatePoint { rate, loss_ratio, forwarding_rate: rate.min(base) * 2.0 }
            })
            .collect();
        r.measurements.push(l);
    }
    r.measurements[0].trials[3].steal = 0.031;
    r.measurements[0].trials[3].judge(&Rules::default(), &[Direction::Forward]);
    r.measurements[0].energy =
        Some(Energy { source: "rapl".into(), watt_hours: 0.25, packets: 1 << 30, bytes: 1 << 36 });
    let mut failed = Measurement::new(Mode::Ndrpdr, "vpp", Profile::Csit);
    failed.outcome = Outcome::Failed { reason: "expected the program vpp, found none".into() };
    r.measurements.push(failed);
    let mut mlr = Measurement::new(Mode::Ndrpdr, "ferrovia", Profile::Csit);
    for (cores, rate) in [(1, 7.1e6), (2, 14e6), (4, 27.2e6), (8, 50e6)] {
        mlr.cores = cores;
        mlr.series = vec![Series { values: spread(rate, 0.01, 8), ..Series::new("ndr", "pps") }];
        mlr.bounds = vec![Bound {
            goal: "ndr".into(),
            loss_ratio: 0.0,
            lower: Some(rate),
            upper: Some(rate * 1.004),
            conditional_throughput: Some(rate),
        }];
        r.measurements.push(mlr.clone());
    }
    r.asserts.push(AssertOutcome {
        expression: "throughput>=400k".into(),
        measurement: "linux".into(),
        actual: Some(4.4e5),
        holds: true,
    });
    r
}

/// Text of tags and entities of HTML or SVG in order: panics if they don't nest.
fn check_nesting(markup: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = markup;
    while let Some(start) = rest.find('<') {
        let end = rest[start..].find('>').expect("each < has a >") + start;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap_or("");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closes in order");
        } else if !tag.starts_with(['!', '?']) && !tag.ends_with('/') && name != "meta" {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
}

#[suite::test]
fn the_html_report_is_whole() {
    let results = example();
    let page = html(&results, &[]).unwrap();
    check_nesting(&page);
    for text in [
        "not RFC 2544",
        "tester-bound",
        "the hypervisor took 3.10 % of the CPU time, at most 1.00 % is valid",
        "failed: expected the program vpp, found none",
        "AMD EPYC 9B45",
        "ferrotest compare linux ferrovia",
        "Self-test",
        "1 trial was not valid",
        "prefers-color-scheme:dark",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // One file: nothing is loaded from elsewhere.
    for text in ["http:", "https:", "<script", "<link", "url(", "@import", "src="] {
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(text), "{text}");
    }
}

#[suite::test]
fn figures_have_texts_and_names_of_their_own() {
    let figures = figures(&example()).unwrap();
    let names: Vec<&str> = figures.iter().map(|f| &*f.name).collect();
    assert_eq!(
        names,
        [
            "throughput-by-device",
            "throughput-by-frame-size",
            "ndrpdr-ndr-by-cores",
            "loss-by-rate",
            "latency-percentiles",
            "latency-histogram",
        ]
    );
    for figure in &figures {
        let svg = figure.to_svg();
        check_nesting(&svg);
        assert!(svg.contains("<title id=") && svg.contains("<desc id="), "{svg}");
        assert!(!figure.description.is_empty() && !svg.contains("NaN") && !svg.contains("inf"));
    }
}

#[suite::test]
fn texts_from_outside_are_escaped() {
    let mut results = example();
    let evil = "<script>alert(1)</script> & \"x\" 'y' | `z` \u{1}";
    results.title = evil.into();
    results.environment.kernel = evil.into();
    for m in &mut results.measurements {
        m.device = evil.into();
        m.parameters.insert(evil.into(), evil.into());
    }
    let page = html(&results, &[]).unwrap();
    check_nesting(&page);
    assert!(!page.contains("<script") && !page.contains('\u{1}'));
    let text = markdown(&results, &[]).unwrap();
    assert!(!text.contains("<script"));
    for figure in figures(&results).unwrap() {
        check_nesting(&figure.to_svg());
        assert!(!figure.to_svg().contains("<script") && !figure.to_svg().contains('\u{1}'));
    }
}

/// Results without values, or with values that no axis can show, make no report fail.
#[suite::test]
fn odd_values_are_drawn_or_left_out() {
    let empty = Results::default();
    check_nesting(&html(&empty, &[]).unwrap());
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX] {
        let mut results = example();
        for m in &mut results.measurements {
            m.series.iter_mut().for_each(|s| s.values = vec![value, 1.0]);
            m.loss.iter_mut().for_each(|p| (p.rate, p.loss_ratio) = (value, value));
            m.latency.iter_mut().for_each(|l| l.latency = Latency::new());
        }
        check_nesting(&html(&results, &[]).unwrap());
        let _ = (series_csv(&results), rate_csv(&results), results.to_json());
    }
    let mut results = example();
    for m in &mut results.measurements {
        for l in &mut m.latency {
            l.latency = Latency::new();
            l.latency.record(5);
        }
    }
    check_nesting(&html(&results, &[]).unwrap());
}

#[suite::test]
fn markdown_tables_have_equal_rows() {
    let text = markdown(&example(), &[]).unwrap();
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let mut before = 0;
    for line in text.lines() {
        let now = if line.starts_with('|') { bars(line) } else { 0 };
        assert!(before == 0 || now == 0 || before == now, "{line}");
        before = now;
    }
    assert!(text.contains("![Bar chart."));
}

#[suite::test]
fn csv_files_have_the_forms_of_their_readers() {
    let results = example();
    let series = series_csv(&results);
    let first = series.lines().nth(1).unwrap();
    assert_eq!(
        first,
        "throughput,linux,quick,IPv4,64,1,1,forward;reverse,,done,not RFC 2544,throughput,pps,1,\
         431200"
    );
    let rates = rate_csv(&results);
    let mut lines = rates.lines();
    assert_eq!(
        lines.next().unwrap(),
        "No, Size, Dir, n, m, Duration, Initial Rate, Timeout, Error, Date, Iterations needed, rate"
    );
    assert_eq!(
        lines.nth(1).unwrap(),
        "2, 84, b, 2, 2, 1, 440000, 2000, 1, 2026-11-27 07:01:06, 1, 437360"
    );
}

#[cfg(feature = "png")]
#[suite::test]
fn a_png_is_a_picture_with_ink() {
    let Ok(fonts) = png::Fonts::load() else {
        eprintln!("no font is installed");
        return;
    };
    let figures = figures(&example()).unwrap();
    let png = figures[0].to_png(&fonts).unwrap();
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    assert!(png.len() > 10_000, "{} bytes", png.len());
}
