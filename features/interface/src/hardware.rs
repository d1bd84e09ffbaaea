// SPDX-License-Identifier: Apache-2.0
//! `show hardware-interfaces`, `clear hardware-interfaces`.

use crate::control;
use crate::layout::NAME;
use crate::names::chosen;
use cli::{Error, Matches, Output, Writer, centre};
use graph::{ThreadIndex, World};
use net::{IfKind, Interface, Interfaces, MtuKind};
use serde_json::json;
use std::fmt::{self, Write};

pub fn clear(w: &World, m: &Matches) -> Result<Output, Error> {
    let only = chosen(w, m)?;
    Ok(control::clear_device_counters(w, &only).then(|_| Ok(Output::empty())))
}

pub fn show(w: &World, m: &Matches) -> Result<Output, Error> {
    let interfaces = w.get::<Interfaces>();
    let only = chosen(w, m)?;
    let brief = m.flag("brief");
    let items = [None].into_iter().chain(interfaces.indices().map(Some));
    Ok(Output::list(items, move |w: &World, sw_if, out: &mut Writer| {
        let Some(sw_if) = sw_if else {
            let (name, idx, link) = (centre("Name", NAME), centre("Idx", 6), centre("Link", 8));
            out.text(|text| writeln!(text, "{name}{idx}{link}Hardware"));
            return Ok(());
        };
        let Ok(i) = interfaces.get(sw_if) else { return Ok(()) };
        if i.parent == sw_if && (only.is_empty() || only.contains(&sw_if)) {
            write(w, &i, brief, out);
        }
        Ok(())
    }))
}

fn thread(thread: ThreadIndex) -> String {
    format!("{} ({})", graph::thread_name(thread), thread.0)
}

/// A speed of kilobits a second in VPP's words.
fn speed(kilobits: u64) -> String {
    match kilobits {
        0..1000 => format!("{kilobits} Kbps"),
        1000..1_000_000 => format!("{} Mbps", kilobits as f64 / 1e3),
        _ => format!("{} Gbps", kilobits as f64 / 1e6),
    }
}

fn write_queues(w: &World, i: &Interface, text: &mut String) -> fmt::Result {
    let (rx, tx) = (i.device.rx_queues(), i.device.tx_queues());
    if !rx.is_empty() {
        writeln!(text, "  RX Queues:\n    {:<6}{:<15}mode", "queue", "thread")?;
        for q in rx {
            // VPP's threads have shorter names: a blank stands between them and the mode in any
            // case.
            writeln!(text, "    {:<6}{:<14} {}", q.queue, thread(q.thread), q.mode)?;
        }
    }
    if tx > 0 {
        writeln!(text, "  TX Queues:\n    {:<6}{:<7}thread(s)", "queue", "shared")?;
        for queue in 0..tx {
            let threads: Vec<String> =
                control::senders(w, i, queue).iter().map(u16::to_string).collect();
            let shared = if threads.len() > 1 { "yes" } else { "no" };
            writeln!(text, "    {queue:<6}{shared:<7}{}", threads.join(","))?;
        }
    }
    Ok(())
}

fn write(w: &World, i: &Interface, brief: bool, out: &mut Writer) {
    let link = if i.link_up { "up" } else { "down" };
    let details = i.device.details();
    out.text(|text| {
        let (idx, link) = (centre(i.sw_if.0, 6), centre(link, 8));
        writeln!(text, "{:<NAME$}{idx}{link}{}", i.name, i.name)?;
        if brief {
            return Ok(());
        }
        writeln!(text, "  Link speed: {}", i.device.link_speed().map_or("unknown".into(), speed))?;
        write_queues(w, i, text)?;
        if i.kind == IfKind::Ethernet {
            writeln!(text, "  Ethernet address {}", i.mac)?;
        }
        writeln!(text, "  driver {}, link MTU {}", i.device.driver(), i.mtu_of(MtuKind::Link))?;
        details.iter().try_for_each(|line| writeln!(text, "  {line}"))
    });
    out.value(|| {
        let rx = i.device.rx_queues();
        let rx = rx
            .iter()
            .map(|q| json!({ "queue": q.queue, "thread": q.thread.0, "mode": q.mode.to_string() }));
        let tx = i.device.tx_queues();
        let tx = (0..tx)
            .map(|queue| json!({ "queue": queue, "threads": control::senders(w, i, queue) }));
        json!({
            "name": i.name,
            "sw_if_index": i.sw_if.0,
            "link": link,
            "hardware": i.name,
            "driver": i.device.driver(),
            "mac": i.mac.to_string(),
            "mtu": i.mtu_of(MtuKind::Link),
            "link_speed": i.device.link_speed(),
            "rx_queues": rx.collect::<Vec<_>>(),
            "tx_queues": tx.collect::<Vec<_>>(),
            "details": details,
        })
    });
}

#[cfg(feature = "tests")]
mod tests {
    use super::speed;

    #[suite::test]
    fn speeds_have_the_unit_that_fits() {
        let texts = [64, 100_000, 1_000_000, 2_500_000, 400_000_000].map(speed);
        assert_eq!(texts, ["64 Kbps", "100 Mbps", "1 Gbps", "2.5 Gbps", "400 Gbps"]);
    }
}
