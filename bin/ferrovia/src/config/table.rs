// SPDX-License-Identifier: Apache-2.0
//! The table of sections and words: what is accepted, where it goes and what it is for. Parsing, errors,
//! `--help-config` and `show config` all read it.

use super::cursor::Cursor;
use super::error::Error;
use super::model::Config;
use super::slot::Slot;
use super::values::{Size, Value};

/// Where a word's value goes.
pub enum Target {
    /// Into a field.
    Field(fn(&mut Config) -> &mut dyn Slot),
    /// Nowhere: accepted for VPP's sake, and noted.
    Unused {
        /// What follows the word, for the help.
        syntax: &'static str,
        /// Reads it.
        read: fn(&mut Cursor) -> Result<(), Error>,
        /// Why it isn't needed.
        why: &'static str,
    },
}

/// A word of a section.
pub struct Word {
    /// As written; may be several words, as `default data-size`.
    pub name: &'static str,
    /// Where it goes.
    pub target: Target,
    /// What it is for, in one line.
    pub help: &'static str,
    /// What has to hold once it is set.
    pub check: fn(&Config) -> Result<(), String>,
    /// A second name of a field that another word shows.
    pub alias: bool,
    /// What is missing for the word to have an effect, while that isn't built.
    pub pending: Option<&'static str>,
    /// Its value is told to nobody who needn't know it.
    pub secret: bool,
}

/// What a section holds.
pub enum Body {
    /// `NAME { word … }`
    Words(&'static [Word]),
    /// `NAME value`: the section is one word itself.
    Whole(Word),
}

/// A section.
pub struct Section {
    /// As written.
    pub name: &'static str,
    /// What it is for, in one line.
    pub help: &'static str,
    /// What it holds.
    pub body: Body,
}

const fn word(name: &'static str, field: fn(&mut Config) -> &mut dyn Slot, help: &'static str) -> Word {
    Word {
        name,
        target: Target::Field(field),
        help,
        check: |_| Ok(()),
        alias: false,
        pending: None,
        secret: false,
    }
}

const fn unused(name: &'static str, (syntax, read): Takes, why: &'static str) -> Word {
    Word {
        name,
        target: Target::Unused { syntax, read, why },
        help: why,
        check: |_| Ok(()),
        alias: false,
        pending: None,
        secret: false,
    }
}

const fn section(name: &'static str, help: &'static str, words: &'static [Word]) -> Section {
    Section { name, help, body: Body::Words(words) }
}

impl Word {
    const fn check(mut self, check: fn(&Config) -> Result<(), String>) -> Word {
        self.check = check;
        self
    }
    const fn alias(mut self) -> Word {
        self.alias = true;
        self
    }
    const fn pending(mut self, what: &'static str) -> Word {
        self.pending = Some(what);
        self
    }
}

/// What follows a word that goes nowhere: its syntax and its reader.
type Takes = (&'static str, fn(&mut Cursor) -> Result<(), Error>);
const NOTHING: Takes = ("", |_| Ok(()));
const SIZE: Takes = (Size::SYNTAX, |c| c.value::<Size>().map(drop));
const NUMBER: Takes = (u64::SYNTAX, |c| c.value::<u64>().map(drop));
const TEXT: Takes = (String::SYNTAX, |c| c.value::<String>().map(drop));
const HEAP: Takes = ("[size] <n>[K|M|G]", |c| {
    if c.peek_word(0) == Some("size") {
        c.skip(1);
    }
    c.value::<Size>().map(drop)
});

const LOADING: &str = "loading of plugins from directories";
const GROWS: &str = "not needed: memory grows as it is used";
const NO_ELOG: &str =
    "no effect: there is no event logger; `trace add' and pcapng captures show what packets do";
const NO_FAULTS: &str = "no effect: allocations are not made to fail";
const NO_SHM: &str = "not needed: there is no shared-memory API";

/// Every section this build knows.
pub static SECTIONS: &[Section] = &[
    section("unix", "the process, its log and its CLI", UNIX),
    section(
        "config",
        "the saved configuration",
        &[
            word("file", |c| &mut c.saved.file, "where it is saved [/var/lib/ferrovia/config]"),
            word(
                "load",
                |c| &mut c.saved.load,
                "load the last saved one at the start: all lines that can be run",
            ),
            word("strict", |c| &mut c.saved.strict, "a line that can't be run at the start ends it"),
            word("history", |c| &mut c.saved.history, "versions kept besides the last one [20]")
                .check(|c| within(c.saved.history, 0, 10_000)),
        ],
    ),
    section("cpu", "threads and the cores they run on", CPU),
    section(
        "buffers",
        "packet buffers",
        &[
            word("buffers-per-numa", |c| &mut c.buffers.buffers_per_numa, "buffers on each NUMA node")
                .check(|c| positive(c.buffers.buffers_per_numa, "buffers")),
            word("numa", |c| &mut c.buffers.numa, "buffers on one NUMA node"),
            word(
                "default data-size",
                |c| &mut c.buffers.default_data_size,
                "bytes of packet data in a buffer",
            )
            .check(|c| positive(c.buffers.default_data_size, "bytes")),
            word("page-size", |c| &mut c.buffers.page_size, "page size of the buffers' memory"),
            unused("memory-size-in-mb", NUMBER, "not needed: `buffers-per-numa' limits their number"),
        ],
    ),
    section(
        "memory",
        "memory of the process",
        &[
            unused("main-heap-size", SIZE, GROWS),
            unused("main-heap-page-size", TEXT, GROWS),
            word(
                "default-hugepage-size",
                |c| &mut c.memory.default_hugepage_size,
                "what `default-hugepage` means",
            ),
        ],
    ),
    section(
        "physmem",
        "memory that devices reach",
        &[
            word("max-size", |c| &mut c.physmem.max_size, "the most memory that buffers may take"),
            unused("base-addr", TEXT, "not needed: addresses are chosen by the kernel"),
        ],
    ),
    section(
        "statseg",
        "counters in shared memory",
        &[
            word(
                "socket-name",
                |c| &mut c.statseg.socket_name,
                "socket that hands out the segment [RUNTIME-DIR/stats.sock]",
            ),
            word("default", |c| &mut c.statseg.default, "the default socket, said explicitly"),
            unused("size", SIZE, GROWS),
            word(
                "per-node-counters",
                |c| &mut c.statseg.per_node_counters,
                "node counters in the segment [on]",
            ),
            word(
                "update-interval",
                |c| &mut c.statseg.update_interval,
                "seconds between updates of gauges [10]",
            )
            .check(|c| match c.statseg.update_interval {
                Some(seconds) if !(0.01..=86_400.0).contains(&seconds) => {
                    Err(format!("{seconds} s is not within 0.01 to 86400"))
                }
                _ => Ok(()),
            }),
            unused("page-size", TEXT, GROWS),
        ],
    ),
    section(
        "prometheus",
        "metrics over HTTP; off unless one of these is said",
        &[
            word(
                "socket-name",
                |c| &mut c.prometheus.socket_name,
                "socket that serves /metrics [RUNTIME-DIR/metrics.sock]",
            ),
            word("default", |c| &mut c.prometheus.default, "the default socket, said explicitly"),
            word(
                "listen",
                |c| &mut c.prometheus.listen,
                "where /metrics is served besides, as 127.0.0.1:9482",
            ),
        ],
    ),
    section(
        "socksvr",
        "the binary API's socket",
        &[
            word("socket-name", |c| &mut c.socksvr.socket_name, "where it listens [RUNTIME-DIR/api.sock]"),
            word("default", |c| &mut c.socksvr.default, "the default socket, said explicitly"),
            word(
                "idle-timeout",
                |c| &mut c.socksvr.idle_timeout,
                "seconds after which a client that asks nothing and wants no events is sent away, 0 for never [0]",
            ),
        ],
    ),
    section(
        "api-segment",
        "who may use the binary API",
        &[
            word("gid", |c| &mut c.api_segment.gid, "group that may use the API"),
            word("uid", |c| &mut c.api_segment.uid, "user that may use the API"),
            unused("prefix", TEXT, NO_SHM),
            unused("baseva", TEXT, NO_SHM),
            unused("global-size", SIZE, NO_SHM),
            unused("global-pvt-heap-size", HEAP, NO_SHM),
            unused("api-pvt-heap-size", HEAP, NO_SHM),
            unused("api-size", SIZE, NO_SHM),
        ],
    ),
    section(
        "api-trace",
        "a record of API messages",
        &[
            word("on", |c| &mut c.api_trace.on, "record from the start"),
            word("enable", |c| &mut c.api_trace.on, "the same").alias(),
            word("nitems", |c| &mut c.api_trace.nitems, "messages kept"),
            word(
                "save-api-table",
                |c| &mut c.api_trace.save_api_table,
                "write the table of messages to /tmp/<text>",
            ),
        ],
    ),
    section(
        "api-queue",
        "the shared-memory API's queue",
        &[unused("length", NUMBER, NO_SHM), unused("len", NUMBER, NO_SHM)],
    ),
    section(
        "api-fuzz",
        "mutation of API messages",
        &[
            unused("off", NOTHING, "nothing to switch off: API messages are never mutated"),
            unused("disable", NOTHING, "nothing to switch off: API messages are never mutated"),
        ],
    ),
    section(
        "plugins",
        "which plugins run and where they are found",
        &[
            word("path", |c| &mut c.plugins.path, "directories to search, `:` between them").pending(LOADING),
            word("add-path", |c| &mut c.plugins.add_path, "a further directory").pending(LOADING),
            word("name-filter", |c| &mut c.plugins.name_filter, "load only this file name").pending(LOADING),
            word("plugin", |c| &mut c.plugins.rules, "switch one plugin, or all others, on or off"),
            word("default", |c| &mut c.plugins.default, "switch all others on or off"),
            unused("vat-path", TEXT, "not needed: there is no VAT"),
            unused("vat-name-filter", TEXT, "not needed: there is no VAT"),
        ],
    ),
    section(
        "logging",
        "what is logged",
        &[
            word("size", |c| &mut c.logging.size, "lines that `show log` keeps [512]")
                .check(|c| positive(c.logging.size, "lines")),
            word("default-log-level", |c| &mut c.logging.default_log_level, "what goes to the log [notice]"),
            word(
                "default-syslog-log-level",
                |c| &mut c.logging.default_syslog_log_level,
                "what goes to syslog [warn]",
            ),
            word(
                "unthrottle-time",
                |c| &mut c.logging.unthrottle_time,
                "seconds a throttled class is silent [3]",
            ),
            word("class", |c| &mut c.logging.classes, "settings of one class"),
        ],
    ),
    Section {
        name: "node",
        help: "ISA variants of graph nodes",
        body: Body::Whole(word(
            "node",
            |c| &mut c.node,
            "the variant that a node, or every other node, runs",
        )),
    },
    section(
        "ethernet",
        "Ethernet interfaces",
        &[word("default-mtu", |c| &mut c.ethernet_default_mtu, "MTU of new interfaces [9000]")
            .check(|c| within(c.ethernet_default_mtu, 64, 9000))],
    ),
    section("ip", "the IPv4 tables", &[unused("heap-size", SIZE, GROWS)]),
    section(
        "ip6",
        "the IPv6 tables",
        &[unused("heap-size", SIZE, GROWS), unused("hash-buckets", NUMBER, GROWS)],
    ),
    section(
        "l2learn",
        "learning of MAC addresses",
        &[word("limit", |c| &mut c.l2learn_limit, "MAC addresses at most").pending("MAC learning")],
    ),
    section(
        "l2fib",
        "the MAC table",
        &[
            unused("table-size", SIZE, GROWS),
            unused("num-buckets", NUMBER, GROWS),
            unused("memory-size", SIZE, GROWS),
        ],
    ),
    section(
        "punt",
        "packets for other programs",
        &[word("socket", |c| &mut c.punt_socket, "where clients send packets that answer punted ones")],
    ),
    section(
        "l3fib",
        "the tables of routes",
        &[unused("load-balance-pool-size", SIZE, GROWS), unused("load-balance-size", SIZE, GROWS)],
    ),
    section(
        "vlib",
        "the graph's own logs",
        &[
            unused("memory-trace", NOTHING, "no effect: `show memory' tells what the process takes"),
            unused("elog-events", NUMBER, NO_ELOG),
            unused("elog-post-mortem-dump", NOTHING, NO_ELOG),
            unused("buffer-alloc-success-rate", TEXT, NO_FAULTS),
            unused("buffer-alloc-success-seed", NUMBER, NO_FAULTS),
        ],
    ),
    Section { name: "heapsize", help: "the main heap", body: Body::Whole(unused("heapsize", SIZE, GROWS)) },
    Section {
        name: "plugin_path",
        help: "as `plugins { path … }`",
        body: Body::Whole(
            word("plugin_path", |c| &mut c.plugins.path, "directories to search, `:` between them")
                .pending(LOADING)
                .alias(),
        ),
    },
];

static UNIX: &[Word] = &[
    word("nodaemon", |c| &mut c.unix.nodaemon, "stay in the foreground"),
    word("interactive", |c| &mut c.unix.interactive, "a CLI session on the terminal; implies the foreground"),
    word("nosyslog", |c| &mut c.unix.nosyslog, "don't log to syslog"),
    word("log", |c| &mut c.unix.log, "log to this file; SIGHUP opens it anew"),
    word("pidfile", |c| &mut c.unix.pidfile, "write the process id to this file and keep it locked"),
    word(
        "runtime-dir",
        |c| &mut c.unix.runtime_dir,
        "where sockets are put [/run/ferrovia, or the user's own]",
    ),
    word("cli-listen", |c| &mut c.unix.cli_listen, "where the CLI listens [RUNTIME-DIR/cli.sock]"),
    word("vpp-paths", |c| &mut c.unix.vpp_paths, "serve the sockets under /run/vpp as well"),
    word("gid", |c| &mut c.unix.gid, "group that may use the sockets"),
    word("startup-config", |c| &mut c.unix.startup_config, "CLI commands to run at the start, before `exec`"),
    word("exec", |c| &mut c.unix.exec, "CLI commands to run at the start"),
    word("full-coredump", |c| &mut c.unix.full_coredump, "core dumps hold shared memory too"),
    word("coredump-size", |c| &mut c.unix.coredump_size, "limit of the core file"),
    word("poll-sleep-usec", |c| &mut c.unix.poll_sleep_usec, "sleep in every turn of the main loop [0]"),
    word("cli-prompt", |c| &mut c.unix.cli_prompt, "the CLI's prompt"),
    word(
        "cli-idle-timeout",
        |c| &mut c.unix.cli_idle_timeout,
        "seconds after which a session that does nothing ends, 0 for never [0]",
    ),
    word("cli-history-limit", |c| &mut c.unix.cli_history_limit, "lines of history, 0 for none [50]"),
    word(
        "cli-pager-buffer-limit",
        |c| &mut c.unix.cli_pager_buffer_limit,
        "0 for no pager, as `cli-no-pager`; others count as no limit",
    ),
    word("cli-no-pager", |c| &mut c.unix.cli_no_pager, "no pager"),
    word("cli-no-banner", |c| &mut c.unix.no_banner, "no banner"),
    word("nobanner", |c| &mut c.unix.no_banner, "the same").alias(),
    word("nocolor", |c| &mut c.unix.nocolor, "no colours").pending("coloured output"),
    word(
        "cli-line-mode",
        |c| &mut c.unix.cli_line_mode,
        "whole lines instead of characters from the terminal",
    ),
];

static CPU: &[Word] = &[
    word("main-core", |c| &mut c.cpu.main_core, "core of the main thread").check(cores),
    word("workers", |c| &mut c.cpu.workers, "number of workers [0: the main thread does all]").check(cores),
    word("corelist-workers", |c| &mut c.cpu.corelist_workers, "a worker on each of these cores").check(cores),
    word("coremask-workers", |c| &mut c.cpu.coremask_workers, "the same as a mask").check(cores),
    word("skip-cores", |c| &mut c.cpu.skip_cores, "cores left free at the beginning"),
    word("relative", |c| &mut c.cpu.relative, "count among the cores this process may use"),
    word("scheduler-policy", |c| &mut c.cpu.scheduler_policy, "how the kernel schedules the threads")
        .pending("scheduling policies"),
    word("scheduler-priority", |c| &mut c.cpu.scheduler_priority, "priority under fifo or rr")
        .pending("scheduling policies")
        .check(|c| within(c.cpu.scheduler_priority, 1, 99)),
    word("thread-prefix", |c| &mut c.cpu.thread_prefix, "what thread names begin with"),
    unused("use-pthreads", NOTHING, "threads are always the kernel's"),
    unused("numa-heap-size", SIZE, GROWS),
];

fn positive(n: Option<u32>, what: &str) -> Result<(), String> {
    if n == Some(0) { Err(format!("there have to be some {what}")) } else { Ok(()) }
}

fn within(n: Option<u32>, low: u32, high: u32) -> Result<(), String> {
    match n {
        Some(n) if !(low..=high).contains(&n) => Err(format!("{n} is not within {low} to {high}")),
        _ => Ok(()),
    }
}

fn cores(c: &Config) -> Result<(), String> {
    if c.cpu.corelist_workers.is_some() && c.cpu.coremask_workers.is_some() {
        return Err("workers' cores are given as a list or as a mask, not as both".into());
    }
    let Some(list) = c.cpu.worker_cores() else { return Ok(()) };
    match (c.cpu.main_core, c.cpu.workers) {
        (Some(main), _) if list.0.contains(&main) => {
            Err(format!("core {main} is the main thread's and a worker's"))
        }
        (_, Some(n)) if n as usize != list.0.len() => {
            Err(format!("{n} workers, but cores for {}", list.0.len()))
        }
        _ => Ok(()),
    }
}
