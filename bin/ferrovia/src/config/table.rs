// SPDX-License-Identifier: Apache-2.0
//! The sections of the process itself. Sections of features and drivers are declared by their
//! plugins.

use startup::section::{GROWS, IgnoredValue, NOTHING, NUMBER, SIZE, TEXT, positive, within};
use startup::value::Size;

use super::model::Config;

type Section = startup::Section<Config>;
type Word = startup::Word<Config>;

const HEAP: IgnoredValue = ("[size] <n>[K|M|G]", |c| {
    if c.peek_word(0) == Some("size") {
        c.skip(1);
    }
    c.value::<Size>().map(drop)
});

const LOADING: &str = "loading of plugins from directories";
const NO_ELOG: &str =
    "no effect: there is no event logger; `trace add' and pcapng captures show what packets do";
const NO_FAULTS: &str = "no effect: allocations are not made to fail";
const NO_SHM: &str = "not needed: there is no shared-memory API";

/// Every section of the process.
pub static SECTIONS: &[Section] = &[
    Section::new("unix", "the process, its log and its CLI", UNIX),
    Section::new(
        "config",
        "the saved configuration",
        &[
            Word::new(
                "file",
                |c| &mut c.saved.file,
                "where it is saved [/var/lib/ferrovia/config]",
            ),
            Word::new(
                "load",
                |c| &mut c.saved.load,
                "load the last saved one at the start: all lines that can be run",
            ),
            Word::new(
                "strict",
                |c| &mut c.saved.strict,
                "a line that can't be run at the start ends it",
            ),
            Word::new(
                "lax",
                |c| &mut c.saved.lax,
                "interfaces come up although a line that filters or protects can't be run",
            ),
            Word::new(
                "history",
                |c| &mut c.saved.history,
                "versions kept besides the last one [20]",
            )
            .check(|c| within(c.saved.history, 0, 10_000)),
        ],
    ),
    Section::new(
        "compat",
        "behaviour where it differs from another program's (docs/differences.md)",
        &[Word::new(
            "vpp",
            |c| &mut c.compat.vpp,
            "VPP's behaviour, also where an RFC demands another [FERROVIA_COMPAT=vpp]",
        )],
    ),
    Section::new("cpu", "threads and the cores they run on", CPU),
    Section::new(
        "buffers",
        "packet buffers",
        &[
            Word::new(
                "buffers-per-numa",
                |c| &mut c.buffers.buffers_per_numa,
                "buffers on each NUMA node",
            )
            .check(|c| positive(c.buffers.buffers_per_numa, "buffers")),
            Word::new("numa", |c| &mut c.buffers.numa, "buffers on one NUMA node"),
            Word::new(
                "default data-size",
                |c| &mut c.buffers.default_data_size,
                "bytes of packet data in a buffer",
            )
            .check(|c| positive(c.buffers.default_data_size, "bytes")),
            Word::new(
                "page-size",
                |c| &mut c.buffers.page_size,
                "page size of the buffers' memory",
            ),
            Word::unused(
                "memory-size-in-mb",
                NUMBER,
                "not needed: `buffers-per-numa' limits their number",
            ),
        ],
    ),
    Section::new(
        "memory",
        "memory of the process",
        &[
            Word::unused("main-heap-size", SIZE, GROWS),
            Word::unused("main-heap-page-size", TEXT, GROWS),
            Word::new(
                "default-hugepage-size",
                |c| &mut c.memory.default_hugepage_size,
                "what `default-hugepage` means",
            ),
        ],
    ),
    Section::new(
        "physmem",
        "memory that devices reach",
        &[
            Word::new(
                "max-size",
                |c| &mut c.physmem.max_size,
                "the most memory that buffers may take",
            ),
            Word::unused("base-addr", TEXT, "not needed: addresses are chosen by the kernel"),
        ],
    ),
    Section::new(
        "statseg",
        "counters in shared memory",
        &[
            Word::new(
                "socket-name",
                |c| &mut c.statseg.socket_name,
                "socket that hands out the segment [RUNTIME-DIR/stats.sock]",
            ),
            Word::new("default", |c| &mut c.statseg.default, "the default socket, said explicitly"),
            Word::unused("size", SIZE, GROWS),
            Word::new(
                "per-node-counters",
                |c| &mut c.statseg.per_node_counters,
                "node counters in the segment [on]",
            ),
            Word::new(
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
            Word::unused("page-size", TEXT, GROWS),
        ],
    ),
    Section::new(
        "prometheus",
        "metrics over HTTP; off unless one of these is said",
        &[
            Word::new(
                "socket-name",
                |c| &mut c.prometheus.socket_name,
                "socket that serves /metrics [RUNTIME-DIR/metrics.sock]",
            ),
            Word::new(
                "default",
                |c| &mut c.prometheus.default,
                "the default socket, said explicitly",
            ),
            Word::new(
                "listen",
                |c| &mut c.prometheus.listen,
                "where /metrics is served besides, as 127.0.0.1:9482",
            ),
        ],
    ),
    Section::new(
        "socksvr",
        "the binary API's socket",
        &[
            Word::new(
                "socket-name",
                |c| &mut c.socksvr.socket_name,
                "where it listens [RUNTIME-DIR/api.sock]",
            ),
            Word::new("default", |c| &mut c.socksvr.default, "the default socket, said explicitly"),
            Word::new(
                "idle-timeout",
                |c| &mut c.socksvr.idle_timeout,
                "seconds after which a client that asks nothing and wants no events is sent away, 0 for never [0]",
            ),
        ],
    ),
    Section::new(
        "api-segment",
        "who may use the binary API",
        &[
            Word::new("gid", |c| &mut c.api_segment.gid, "group that may use the API"),
            Word::new("uid", |c| &mut c.api_segment.uid, "user that may use the API"),
            Word::unused("prefix", TEXT, NO_SHM),
            Word::unused("baseva", TEXT, NO_SHM),
            Word::unused("global-size", SIZE, NO_SHM),
            Word::unused("global-pvt-heap-size", HEAP, NO_SHM),
            Word::unused("api-pvt-heap-size", HEAP, NO_SHM),
            Word::unused("api-size", SIZE, NO_SHM),
        ],
    ),
    Section::new(
        "api-trace",
        "a record of API messages",
        &[
            Word::new("on", |c| &mut c.api_trace.on, "record from the start"),
            Word::new("enable", |c| &mut c.api_trace.on, "the same").alias(),
            Word::new("nitems", |c| &mut c.api_trace.nitems, "messages kept"),
            Word::new(
                "save-api-table",
                |c| &mut c.api_trace.save_api_table,
                "write the table of messages to /tmp/<text>",
            ),
        ],
    ),
    Section::new(
        "api-queue",
        "the shared-memory API's queue",
        &[Word::unused("length", NUMBER, NO_SHM), Word::unused("len", NUMBER, NO_SHM)],
    ),
    Section::new(
        "api-fuzz",
        "mutation of API messages",
        &[
            Word::unused("off", NOTHING, "nothing to switch off: API messages are never mutated"),
            Word::unused(
                "disable",
                NOTHING,
                "nothing to switch off: API messages are never mutated",
            ),
        ],
    ),
    Section::new(
        "plugins",
        "which plugins run and where they are found",
        &[
            Word::new("path", |c| &mut c.plugins.path, "directories to search, `:` between them")
                .pending(LOADING),
            Word::new("add-path", |c| &mut c.plugins.add_path, "a further directory")
                .pending(LOADING),
            Word::new("name-filter", |c| &mut c.plugins.name_filter, "load only this file name")
                .pending(LOADING),
            Word::new(
                "plugin",
                |c| &mut c.plugins.rules,
                "switch one plugin, or all others, on or off",
            ),
            Word::new("default", |c| &mut c.plugins.default, "switch all others on or off"),
            Word::unused("vat-path", TEXT, "not needed: there is no VAT"),
            Word::unused("vat-name-filter", TEXT, "not needed: there is no VAT"),
        ],
    ),
    Section::new(
        "logging",
        "what is logged",
        &[
            Word::new("size", |c| &mut c.logging.size, "lines that `show log` keeps [512]")
                .check(|c| positive(c.logging.size, "lines")),
            Word::new(
                "default-log-level",
                |c| &mut c.logging.default_log_level,
                "what goes to the log [notice]",
            ),
            Word::new(
                "default-syslog-log-level",
                |c| &mut c.logging.default_syslog_log_level,
                "what goes to syslog [warn]",
            ),
            Word::new(
                "unthrottle-time",
                |c| &mut c.logging.unthrottle_time,
                "seconds a throttled class is silent [3]",
            ),
            Word::new("class", |c| &mut c.logging.classes, "settings of one class"),
        ],
    ),
    Section::whole(
        "ISA variants of graph nodes",
        Word::new("node", |c| &mut c.node, "the variant that a node, or every other node, runs"),
    ),
    Section::new(
        "l2fib",
        "the MAC table",
        &[
            Word::unused("table-size", SIZE, GROWS),
            Word::unused("num-buckets", NUMBER, GROWS),
            Word::unused("memory-size", SIZE, GROWS),
        ],
    ),
    Section::new(
        "vlib",
        "the graph's own logs",
        &[
            Word::unused(
                "memory-trace",
                NOTHING,
                "no effect: `show memory' tells what the process takes",
            ),
            Word::unused("elog-events", NUMBER, NO_ELOG),
            Word::unused("elog-post-mortem-dump", NOTHING, NO_ELOG),
            Word::unused("buffer-alloc-success-rate", TEXT, NO_FAULTS),
            Word::unused("buffer-alloc-success-seed", NUMBER, NO_FAULTS),
        ],
    ),
    Section::whole("the main heap", Word::unused("heapsize", SIZE, GROWS)),
    Section::whole(
        "as `plugins { path … }`",
        Word::new(
            "plugin_path",
            |c| &mut c.plugins.path,
            "directories to search, `:` between them",
        )
        .pending(LOADING)
        .alias(),
    ),
];

static UNIX: &[Word] = &[
    Word::new("nodaemon", |c| &mut c.unix.nodaemon, "stay in the foreground"),
    Word::new(
        "interactive",
        |c| &mut c.unix.interactive,
        "a CLI session on the terminal; implies the foreground",
    ),
    Word::new("nosyslog", |c| &mut c.unix.nosyslog, "don't log to syslog"),
    Word::new("log", |c| &mut c.unix.log, "log to this file; SIGHUP opens it anew"),
    Word::new(
        "pidfile",
        |c| &mut c.unix.pidfile,
        "write the process id to this file and keep it locked",
    ),
    Word::new(
        "runtime-dir",
        |c| &mut c.unix.runtime_dir,
        "where sockets are put [/run/ferrovia, or the user's own]",
    ),
    Word::new(
        "cli-listen",
        |c| &mut c.unix.cli_listen,
        "where the CLI listens [RUNTIME-DIR/cli.sock]",
    ),
    Word::new("vpp-paths", |c| &mut c.unix.vpp_paths, "serve the sockets under /run/vpp as well"),
    Word::new("gid", |c| &mut c.unix.gid, "group that may use the sockets"),
    Word::new(
        "startup-config",
        |c| &mut c.unix.startup_config,
        "CLI commands to run at the start, before `exec`",
    ),
    Word::new("exec", |c| &mut c.unix.exec, "CLI commands to run at the start"),
    Word::new("full-coredump", |c| &mut c.unix.full_coredump, "core dumps hold shared memory too"),
    Word::new("coredump-size", |c| &mut c.unix.coredump_size, "limit of the core file"),
    Word::new(
        "poll-sleep-usec",
        |c| &mut c.unix.poll_sleep_usec,
        "sleep in every turn of the main loop [0]",
    ),
    Word::new("cli-prompt", |c| &mut c.unix.cli_prompt, "the CLI's prompt"),
    Word::new(
        "cli-idle-timeout",
        |c| &mut c.unix.cli_idle_timeout,
        "seconds after which a session that does nothing ends, 0 for never [0]",
    ),
    Word::new(
        "cli-history-limit",
        |c| &mut c.unix.cli_history_limit,
        "lines of history, 0 for none [50]",
    ),
    Word::new(
        "cli-pager-buffer-limit",
        |c| &mut c.unix.cli_pager_buffer_limit,
        "0 for no pager, as `cli-no-pager`; others count as no limit",
    ),
    Word::new("cli-no-pager", |c| &mut c.unix.cli_no_pager, "no pager"),
    Word::new("cli-no-banner", |c| &mut c.unix.no_banner, "no banner"),
    Word::new("nobanner", |c| &mut c.unix.no_banner, "the same").alias(),
    Word::new("nocolor", |c| &mut c.unix.nocolor, "no colours").pending("coloured output"),
    Word::new(
        "cli-line-mode",
        |c| &mut c.unix.cli_line_mode,
        "whole lines instead of characters from the terminal",
    ),
];

static CPU: &[Word] = &[
    Word::new("main-core", |c| &mut c.cpu.main_core, "core of the main thread").check(cores),
    Word::new("workers", |c| &mut c.cpu.workers, "number of workers [0: the main thread does all]")
        .check(cores),
    Word::new(
        "corelist-workers",
        |c| &mut c.cpu.corelist_workers,
        "a worker on each of these cores",
    )
    .check(cores),
    Word::new("coremask-workers", |c| &mut c.cpu.coremask_workers, "the same as a mask")
        .check(cores),
    Word::new("skip-cores", |c| &mut c.cpu.skip_cores, "cores left free at the beginning"),
    Word::new("relative", |c| &mut c.cpu.relative, "count among the cores this process may use"),
    Word::new(
        "scheduler-policy",
        |c| &mut c.cpu.scheduler_policy,
        "how the kernel schedules the threads",
    )
    .pending("scheduling policies"),
    Word::new("scheduler-priority", |c| &mut c.cpu.scheduler_priority, "priority under fifo or rr")
        .pending("scheduling policies")
        .check(|c| within(c.cpu.scheduler_priority, 1, 99)),
    Word::new("thread-prefix", |c| &mut c.cpu.thread_prefix, "what thread names begin with"),
    Word::unused("use-pthreads", NOTHING, "threads are always the kernel's"),
    Word::unused("numa-heap-size", SIZE, GROWS),
];

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
