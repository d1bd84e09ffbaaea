// SPDX-License-Identifier: Apache-2.0
//! Clients of the API, the stats segment, Prometheus and the CLI: some behave, and are served; some
//! don't.

use crate::ports::Shared;
use fixture::CliClient;
use fixture::api::{ApiClient, frame, header, hello, route};
use stats::Reader;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use testkit::Rng;

/// Counters of the clients' work, in all lives.
#[derive(Default)]
pub struct Served {
    pub api: AtomicU64,
    pub stats: AtomicU64,
    pub metrics: AtomicU64,
    pub hostile: AtomicU64,
}

/// A client of the API that behaves: routes, dumps and pings, all answered.
pub fn api(dir: &Path, shared: &Shared, served: &Served, until: impl Fn() -> bool) {
    let mut client = ApiClient::connect(&dir.join("api.sock"), "soak");
    let mut context = 0;
    while !until() && !shared.has_stopped() {
        for add in [true, false] {
            for i in 0..50_u32 {
                context += 1;
                let fields = route(add, 0x0a_cd_00_00 + (i << 8), 24, u32::MAX, [10, 0, 1, 2]);
                let request = client.request("ip_route_add_del", context, &fields);
                client.send(&request);
            }
            context += 1;
            let request = client.request("sw_interface_dump", context, &[0; 6 + 49]);
            client.send(&request);
            context += 1;
            match client.ping(context) {
                Some(answers) if answers >= 50 => drop(served.api.fetch_add(52, Relaxed)),
                Some(answers) => {
                    shared.fault(format!("API: {answers} answers to 50 requests and a dump"))
                }
                None => {
                    return shared
                        .fault("API: the connection of a client that behaves was ended".into());
                }
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

/// Readers of the stats segment and of metrics.
pub fn readers(dir: &Path, shared: &Shared, served: &Served, until: impl Fn() -> bool) {
    let reader = match Reader::connect(&dir.join("stats.sock")) {
        Ok(reader) => reader,
        Err(why) => return shared.fault(format!("stats: {why}")),
    };
    while !until() && !shared.has_stopped() {
        match reader.read(|_| true) {
            Ok(all) if all.len() > 100 => drop(served.stats.fetch_add(1, Relaxed)),
            Ok(all) => shared.fault(format!("stats: {} counters only", all.len())),
            Err(why) => shared.fault(format!("stats: {why}")),
        }
        match scrape(&dir.join("metrics.sock")) {
            Ok(text) if text.ends_with("# EOF\n") => drop(served.metrics.fetch_add(1, Relaxed)),
            Ok(text) => shared.fault(format!("metrics: a cut answer of {} bytes", text.len())),
            Err(why) => shared.fault(format!("metrics: {why}")),
        }
        shared.sleep(Duration::from_millis(200));
    }
}

fn scrape(socket: &Path) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(fixture::PATIENCE))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: soak\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// Clients of all sockets that don't behave. Errors of their own connections don't matter.
pub fn hostile(dir: &Path, seed: u64, shared: &Shared, served: &Served, until: impl Fn() -> bool) {
    let mut rng = Rng::new(seed);
    // Connections that send nothing more, or don't read.
    let mut idle = Vec::new();
    while !until() && !shared.has_stopped() {
        let socket = dir.join(["api.sock", "cli.sock", "stats.sock", "metrics.sock"][rng.below(4)]);
        if let Ok(mut stream) = UnixStream::connect(&socket) {
            let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
            let bytes = nonsense(&mut rng);
            let _ = stream.write_all(&bytes);
            served.hostile.fetch_add(1, Relaxed);
            match rng.below(4) {
                0 if idle.len() < 40 => idle.push(stream),
                1 => {
                    let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
                    let _ = stream.read(&mut [0; 100]);
                }
                _ => {}
            }
        }
        if rng.one_in(10) && !idle.is_empty() {
            idle.swap_remove(rng.below(idle.len()));
        }
        if rng.one_in(20)
            && let Ok(mut session) =
                CliClient::connect(&dir.join("cli.sock"), Duration::from_secs(60))
        {
            let words = [
                "show ip fib",
                "show ip route \u{7f}",
                "{ { {",
                "show",
                "exec /dev/zero",
                "echo \\",
            ];
            let line = format!("{} {}", rng.pick(&words), "x".repeat(rng.below(5000)));
            let _ = session.run(&line, rng.one_in(2));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Bytes that no proper client sends.
fn nonsense(rng: &mut Rng) -> Vec<u8> {
    let mut noise = vec![0; 1 + rng.below(3000)];
    rng.fill(&mut noise);
    match rng.below(7) {
        0 => noise,
        1 => hello("hostile"),
        2 => [hello("hostile"), frame(rng.next() as u16, &noise)].concat(),
        3 => header([0, 1, 1 << 20, u32::MAX][rng.below(4)]).to_vec(),
        4 => [b"GET /metrics HTTP/1.1\r\nX: ".to_vec(), noise].concat(),
        5 => b"GET /metrics HTTP/1.1\r\n\r\n".repeat(1 + rng.below(20)),
        _ => Vec::new(),
    }
}
