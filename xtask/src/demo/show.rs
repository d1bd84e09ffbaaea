// SPDX-License-Identifier: Apache-2.0
//! The steps of the demo, in order, and the summary.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Router;
use super::lab::{LEFT, Lab, RIGHT, within};
use super::report::{self, Report};
use crate::sh::{self, Res};

/// Seconds that each iperf3 run sends.
const SECONDS: u32 = 3;

/// The demo, inside the lab; results also go to files in `out`.
pub fn run(router: &Router, out: &Path) -> Res {
    let start = Instant::now();
    let mut report = Report::default();
    title("two hosts, and a router between them");
    println!(
        "  left {}/24  ---  {} [ router ] {}  ---  {}/24 right",
        LEFT.address, LEFT.gateway, RIGHT.gateway, RIGHT.address
    );
    let mut lab = Lab::up(router, out)?;
    if lab.has_cli() {
        title("configure the router");
        for host in [LEFT, RIGHT] {
            let name = format!("host-{}", host.port);
            tell(&mut lab, &format!("create host-interface name {}", host.port))?;
            tell(&mut lab, &format!("set interface state {name} up"))?;
            tell(&mut lab, &format!("set interface ip address {name} {}/24", host.gateway))?;
        }
    }

    title("ping");
    let line = format!("ping -c 10 -i 0.2 -W 2 {}", RIGHT.address);
    println!("left$ {line}");
    // ping's status says whether all were answered; its last lines say more.
    let answer = within("left", 20, &line).output().map_err(|e| format!("ping: {e}"))?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    print!("{text}");
    report.ping(&text)?;

    if lab.has_cli() {
        title("one packet's way through the graph");
        tell(&mut lab, "trace add af-packet-input 5")?;
        sh::output(&mut within("left", 10, &format!("ping -c 1 -W 2 {}", RIGHT.address)))?;
        keep(&mut lab, "show trace", out)?;
        tell(&mut lab, "clear trace")?;
        tell(&mut lab, "clear runtime")?;
    }

    title("iperf3: TCP and UDP");
    let mut server = serve()?;
    let result = traffic(&mut report);
    let _ = server.kill();
    let _ = server.wait();
    result?;

    if lab.has_cli() {
        title("what the router says");
        for command in ["show runtime", "show interface", "show errors"] {
            keep(&mut lab, command, out)?;
        }
        title("the graph as a picture");
        picture(&mut lab, out)?;
    }

    title("summary");
    lab.down()?;
    report.print();
    println!("  files      {}", out.display());
    println!("  time       {:.0} s", start.elapsed().as_secs_f64());
    report.verdict()
}

fn title(text: &str) {
    println!("\n== {text}");
}

/// Give the CLI a command, print both it and the answer.
fn tell(lab: &mut Lab, command: &str) -> Res<String> {
    println!("$ ferroctl {command}");
    let answer = lab.ctl(command)?;
    print!("{answer}");
    if !answer.is_empty() && !answer.ends_with('\n') {
        println!();
    }
    Ok(answer)
}

/// As [`tell`], and the answer goes to a file of the command's name.
fn keep(lab: &mut Lab, command: &str, out: &Path) -> Res {
    let answer = tell(lab, command)?;
    sh::write(out.join(format!("{}.txt", command.replace(' ', "-"))), answer)
}

/// iperf3's server on the right host, listening.
fn serve() -> Res<Child> {
    let mut command = within("right", 60, "iperf3 -s --forceflush");
    let server =
        command.stdout(std::process::Stdio::null()).spawn().map_err(|e| format!("iperf3: {e}"))?;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) {
        let listening = sh::output(&mut within("right", 5, "ss -Hltn sport = :5201"))?;
        if !listening.trim().is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(server)
}

/// TCP, then UDP from left to right.
fn traffic(report: &mut Report) -> Res {
    for (name, words) in [("TCP", String::new()), ("UDP", " -u -b 200M -l 1400".into())] {
        let line = format!("iperf3 -c {} -t {SECONDS} -J{words}", RIGHT.address);
        let mut command = within("left", SECONDS + 15, &line);
        println!("left$ {line}");
        // iperf3 reports errors in its JSON, and exits with 1.
        let out = command.output().map_err(|e| format!("iperf3: {e}"))?;
        let result: Value = serde_json::from_slice(&out.stdout)
            .map_err(|_| format!("iperf3 gave no result ({})", out.status))?;
        if let Some(error) = result["error"].as_str() {
            return Err(format!("iperf3 {name}: {error}"));
        }
        println!("  {}", report.iperf(name, &result)?);
    }
    Ok(())
}

/// The running graph's own picture of itself, drawn by graphviz.
fn picture(lab: &mut Lab, out: &Path) -> Res {
    let command = "show vlib graphviz";
    println!("$ ferroctl {command} | dot -Tsvg");
    report::drawn(&lab.ctl(command)?, out)
}
