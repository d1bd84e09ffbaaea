// SPDX-License-Identifier: Apache-2.0
//! A well-behaved client, which has to be served all the while.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use fixture::api::ApiClient;

/// A client that behaves, on a thread of its own.
pub struct Witness {
    end: Arc<AtomicBool>,
    served: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

impl Witness {
    pub fn start(path: PathBuf) -> Witness {
        let (end, served) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (over, count) = (Arc::clone(&end), Arc::clone(&served));
        let mut wire = ApiClient::connect(&path, "witness");
        let thread = std::thread::spawn(move || {
            for context in 1.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                match wire.ping(context) {
                    Some(0) => drop(count.fetch_add(1, Ordering::Relaxed)),
                    Some(n) => return Err(format!("{n} messages that weren't asked for")),
                    None => return Err(format!("ping {context} wasn't answered")),
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Ok(())
        });
        Witness { end, served, thread: Some(thread) }
    }

    /// Pings answered so far.
    pub fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// It was served to the end.
    #[track_caller]
    pub fn finish(mut self) {
        self.end.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it runs");
        thread.join().expect("no panic").unwrap_or_else(|e| panic!("the client that behaves: {e}"));
    }
}
