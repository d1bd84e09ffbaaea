// SPDX-License-Identifier: Apache-2.0
use proptest::prelude::*;

use super::model::Plugins;
use super::slot::{LogClass, Variant};
use super::{Config, help, secrets_of};
use startup::Source;
use startup::text::quoted;
use startup::value::{Account, CoreList, Level, Limit, Listen, PageSize, SocketPath};
use startup::{Section, View, Word};

fn file(text: &str) -> Config {
    Config::parse(&Source::file("startup.conf", text)).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str) -> String {
    Config::parse(&Source::file("startup.conf", text)).unwrap_err().to_string()
}

fn refused_args(args: &[&str]) -> String {
    Config::parse(&Source::arguments(1, args)).unwrap_err().to_string()
}

#[suite::test]
fn a_whole_file() {
    let config = file(
        "# a router\n\
         unix {\n  nodaemon nosyslog full-coredump coredump-size unlimited\n  log /var/log/f.log\n\
           cli-listen /run/f/cli.sock\n  cli-listen localhost:5002\n  gid vpp poll-sleep-usec 10\n  exec /etc/f.cli\n}\n\
         api-trace { on } api-segment { prefix f1 gid 7 }\n\
         cpu { main-core 1 corelist-workers 2-3,18-19 }\n\
         buffers { buffers-per-numa 128000 default data-size 2048 page-size default-hugepage numa 1 { buffers 9 } }\n\
         statseg { socket-name stats.sock per-node-counters on update-interval 2.5 size 64M }\n\
         socksvr { default }\n\
         plugins { path /a:/b plugin default { disable } plugin acl_plugin.so { enable } plugin ping_plugin.so disable }\n\
         node { default { variant v3 100 } ip4-lookup { variant v4 } }\n\
         logging { default-log-level debug class linux-cp { level debug rate-limit 5 } }\n\
         punt { socket /run/f/punt.sock }\n",
    );
    let unix = &config.unix;
    assert!(unix.nodaemon && unix.nosyslog && unix.full_coredump && !unix.interactive);
    assert_eq!(unix.coredump_size, Some(Limit::Unlimited));
    assert_eq!(
        unix.cli_listen,
        [Listen::Unix("/run/f/cli.sock".into()), Listen::Tcp("localhost".into(), 5002)]
    );
    assert_eq!(unix.gid, Some(Account::Name("vpp".into())));
    assert_eq!((unix.poll_sleep_usec, unix.exec.len()), (Some(10), 1));
    assert_eq!(config.cpu.worker_cores(), Some(&CoreList(vec![2, 3, 18, 19])));
    assert_eq!(config.buffers.default_data_size, Some(2048));
    assert_eq!(config.buffers.page_size, Some(PageSize::DefaultHugepage));
    assert_eq!(config.buffers.numa.0[&1], 9);
    assert_eq!(config.statseg.socket_name, Some(SocketPath("stats.sock".into())));
    assert_eq!(
        (config.statseg.per_node_counters, config.statseg.update_interval),
        (Some(true), Some(2.5))
    );
    assert!(config.api_trace.on && config.socksvr.default);
    assert_eq!(config.api_segment.gid, Some(Account::Id(7)));
    assert_eq!(config.node.default, Some(Variant { name: "v3".into(), priority: Some(100) }));
    assert_eq!(config.node.nodes["ip4-lookup"].name, "v4");
    let class = LogClass { level: Some(Level::Debug), syslog_level: None, rate_limit: Some(5) };
    assert_eq!(config.logging.classes.0["linux-cp"], class);
    assert_eq!(
        config.startup::<punt::Startup>().socket,
        Some(SocketPath("/run/f/punt.sock".into()))
    );
    assert!(
        config.notes.iter().any(|n| n.starts_with("api-segment prefix f1: not needed")),
        "{:?}",
        config.notes
    );
}

fn plugin(name: &str) -> &'static graph::Plugin {
    crate::plugins::ALL.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[suite::test]
fn plugins_by_any_of_their_names() {
    let p =
        file("plugins { default { disable } plugin acl_plugin.so { enable } plugin linux-cp { enable } plugin af-packet { enable } }")
            .plugins;
    for (name, on) in [("ping", false), ("vxlan-gpe", false), ("af_packet", true)] {
        assert_eq!(p.enabled(plugin(name)), on, "{name}");
    }
    for name in ["ip", "pg", "trace"] {
        assert!(p.enabled(plugin(name)), "{name} is VPP's core, which stays");
    }
    assert_eq!(
        p.missing(&["af_packet", "ping"]).collect::<Vec<_>>(),
        ["acl_plugin.so", "linux-cp"]
    );
    assert!(Plugins::default().enabled(plugin("ping")));
    assert!(!Plugins::default().enabled(plugin("unittest")));
    for text in ["plugin pg { disable }", "plugin unittest_plugin.so { enable }"] {
        let rules = file(&format!("plugins {{ {text} }}")).plugins;
        let name = if text.contains("pg") { "pg" } else { "unittest" };
        assert_eq!(rules.enabled(plugin(name)), name == "unittest", "a rule of its own: {text}");
    }
}

#[suite::test]
fn blanks_are_where_vpp_takes_them_too() {
    let cores = |text: &str| file(text).cpu.corelist_workers;
    assert_eq!(cores("cpu { corelist-workers 4, 6 }"), Some(CoreList(vec![4, 6])));
    assert_eq!(
        cores("cpu { corelist-workers 4 , 6-7,9 main-core 1 }"),
        Some(CoreList(vec![4, 6, 7, 9]))
    );
    assert!(refused("cpu { corelist-workers 4, }").contains("expected cores"));
    let c = file("statseg { per-node-counters onupdate-interval 0.05 }").statseg;
    assert_eq!((c.per_node_counters, c.update_interval), (Some(true), Some(0.05)));
    let c = file("statseg { per-node-counters offupdate-interval 3 }").statseg;
    assert_eq!((c.per_node_counters, c.update_interval), (Some(false), Some(3.0)));
    assert!(refused("statseg { per-node-counters onward }").contains("expected `on` or `off`"));
    assert!(refused("dsa { x }").contains("dsa_plugin.so"));
}

#[suite::test]
fn arguments_with_braces_on_their_own_or_not() {
    let apart = [
        "unix",
        "{",
        "nodaemon",
        "cli-listen",
        "/tmp/x",
        "}",
        "cpu",
        "{",
        "workers",
        "2",
        "}",
        "node",
        "{",
        "}",
    ];
    let together = ["unix {nodaemon cli-listen /tmp/x}", "cpu{workers 2}node{}"];
    let parse = |args: &[&str]| Config::parse(&Source::arguments(1, args)).unwrap();
    assert_eq!(parse(&apart), parse(&together));
    assert_eq!(parse(&apart).cpu.workers, Some(2));
    assert!(parse(&["unix", "interactive"]).unix.interactive, "one word needs no braces");
}

#[suite::test]
fn fixed_heaps_are_accepted_and_noted() {
    let config = file(
        "memory { main-heap-size 1G main-heap-page-size 2M } ip { heap-size 64M } ip6 { hash-buckets 131072 }\n\
         heapsize 2G api-segment { global-pvt-heap-size size 262144 } api-fuzz { off }",
    );
    assert_eq!(
        config.notes,
        [
            "memory main-heap-size 1G: not needed: memory grows as it is used",
            "memory main-heap-page-size 2M: not needed: memory grows as it is used",
            "ip heap-size 64M: not needed: memory grows as it is used",
            "ip6 hash-buckets 131072: not needed: memory grows as it is used",
            "heapsize 2G: not needed: memory grows as it is used",
            "api-segment global-pvt-heap-size size 262144: not needed: there is no shared-memory API",
            "api-fuzz off: nothing to switch off: API messages are never mutated",
        ]
    );
}

#[suite::test]
fn errors_name_line_column_and_the_nearest_word() {
    assert_eq!(
        refused("unix {\n\tnodeamon\n}\n"),
        "startup.conf:2:2: unknown word `nodeamon` in section unix\n     nodeamon\n     ^^^^^^^^\n  did you mean `nodaemon`?"
    );
    assert_eq!(
        refused("buffers { default size 1 }"),
        "startup.conf:1:11: `default` is not a word of section buffers on its own\n    \
         buffers { default size 1 }\n              ^^^^^^^\n  did you mean `default data-size`?"
    );
    assert_eq!(
        refused("cpu { workers }"),
        "startup.conf:1:7: `workers` wants <n>\n    cpu { workers }\n          ^^^^^^^"
    );
    assert_eq!(
        refused("cpu { workers many }"),
        "startup.conf:1:15: expected a number, not `many`\n    cpu { workers many }\n                  ^^^^"
    );
    assert_eq!(
        refused("unix {\n nodaemon\n"),
        "startup.conf:1:6: this `{` is not closed\n    unix {\n         ^"
    );
    assert_eq!(
        refused("cpu { } }"),
        "startup.conf:1:9: this `}` closes nothing\n    cpu { } }\n            ^"
    );
    assert_eq!(
        refused("punt"),
        "startup.conf:1:1: `punt` wants `{ … }`, the section punt\n    punt\n    ^^^^"
    );
    assert!(refused("{ nodaemon }").contains("1:1: expected the name of a section"));
    assert!(refused("plugins { plugin x { enabel } }").ends_with("did you mean `enable`?"));
    assert!(
        refused("logging { class x { depth 3 } }")
            .ends_with("known are `level`, `syslog-level`, `rate-limit`")
    );
}

#[suite::test]
fn errors_in_arguments_name_the_argument() {
    assert_eq!(
        refused_args(&["unix", "{", "nodeamon", "}"]),
        "argument 3: unknown word `nodeamon` in section unix\n    unix { nodeamon }\n           ^^^^^^^^\n  did you mean `nodaemon`?"
    );
    assert_eq!(
        refused_args(&["unxi", "{", "}"]),
        "argument 1: unknown section `unxi`\n    unxi { }\n    ^^^^\n  did you mean `unix`?"
    );
    assert!(refused_args(&["nodaemon"]).ends_with("did you mean `unix { nodaemon … }`?"));
}

#[suite::test]
fn a_section_of_an_absent_plugin_names_it() {
    assert_eq!(
        refused("dpdk {\n dev default { num-rx-queues 3 }\n}"),
        "startup.conf:1:1: section `dpdk` belongs to dpdk_plugin.so, which is not part of this build\n    \
         dpdk {\n    ^^^^\n  leave the section out; the command `create host-interface name IF` takes an interface of the host"
    );
    assert!(refused("nat { x }").contains("nat_plugin.so"));
    assert!(refused("tuntap { enable }").contains("`create tap`"));
    assert!(refused("session { evt_qs_memfd_seg }").contains("host stack"));
}

#[suite::test]
fn cores_that_contradict_each_other() {
    assert!(
        refused("cpu { main-core 2 corelist-workers 2-3 }")
            .contains("core 2 is the main thread's and a worker's")
    );
    assert!(
        refused("cpu { workers 3 corelist-workers 2-3 }").contains("3 workers, but cores for 2")
    );
    assert!(refused("cpu { coremask-workers 0xc corelist-workers 2-3 }").contains("not as both"));
    assert!(refused("ethernet { default-mtu 9001 }").contains("9001 is not within 64 to 9000"));
}

#[suite::test]
fn the_table_has_no_word_twice_and_the_help_names_all() {
    let help = help();
    let views = views();
    let mut sections: Vec<&str> = views.iter().map(|v| v.name).collect();
    let n = sections.len();
    sections.sort_unstable();
    sections.dedup();
    assert_eq!(sections.len(), n, "a section stands there twice");
    for View { name, words, .. } in &views {
        assert!(help.contains(name));
        for (i, word) in words.iter().enumerate() {
            assert!(!word.help.is_empty() && help.contains(word.name), "{}", word.name);
            assert!(words[..i].iter().all(|w| w.name != word.name), "{} twice", word.name);
        }
    }
}

/// All sections, with nothing given.
fn views() -> Vec<View> {
    Config::default().views()
}

/// Words that lead deep into the parser more often than chance would.
fn vocabulary() -> Vec<String> {
    let mut words: Vec<String> = [
        "{", "}", "{", "}", "#", "\"", "\n", "default", "1", "2-3", "32m", "on", "enable",
        "variant", "x",
    ]
    .map(String::from)
    .into();
    for view in views().into_iter() {
        words.push(view.name.into());
        for word in view.words {
            words.push(word.name.into());
            words.push(word.syntax);
        }
    }
    words
}

fn sections() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        "[a-z/:#\"\\\\ ]{0,8}".prop_map(|s| quoted(&s)),
        "[0-9]{1,4}",
        Just("1G".into())
    ];
    let pairs = proptest::collection::vec((proptest::sample::select(vocabulary()), value), 0..4);
    (proptest::sample::select(views().iter().map(|v| v.name).collect::<Vec<_>>()), pairs).prop_map(
        |(name, pairs)| {
            let inner: String =
                pairs.iter().map(|(word, value)| format!(" {word} {value}")).collect();
            format!("{name} {{{inner} }}")
        },
    )
}

proptest! {
    #[suite::test]
    fn any_text_gives_a_configuration_or_an_error_with_a_caret(text in "\\PC{0,60}(\n[\\PC\t]{0,40}){0,3}") {
        if let Err(e) = Config::parse(&Source::file("f", text)) {
            prop_assert!(e.to_string().contains('^'));
        }
    }

    #[suite::test]
    fn any_order_of_known_words_too(words in proptest::collection::vec(proptest::sample::select(vocabulary()), 0..24)) {
        let _ = Config::parse(&Source::arguments(1, &words));
        let _ = Config::parse(&Source::file("f", words.join(" ")));
    }

    #[suite::test]
    fn what_was_read_is_shown_and_read_again(text in sections()) {
        if let Ok(mut config) = Config::parse(&Source::file("f", text)) {
            config.notes.clear();
            let shown = config.to_string();
            // Words that aren't built yet are noted again.
            let again = Config::parse(&Source::file("shown", shown.as_str()));
            let again = again.map(|again| Config { notes: Vec::new(), ..again });
            prop_assert_eq!(again, Ok(config), "{}", shown);
        }
    }
}

#[suite::test]
fn values_of_secret_words_are_found() {
    static UNIX: Section<Config> = Section::new(
        "unix",
        "",
        &[
            Word::<Config>::new("cli-prompt", |c| &mut c.unix.cli_prompt, "").secret(),
            Word::<Config>::new("log", |c| &mut c.unix.log, "").secret(),
        ],
    );
    let config =
        Config::parse(&Source::file("f", "unix { cli-prompt \"my key\" nodaemon }")).unwrap();
    assert_eq!(secrets_of(&[UNIX.view(&config)]), ["my key"]);
    assert_eq!(config.secrets(), [""; 0], "none of the words is a secret yet");
}

/// VPP's own file as its package installs it, without the comments: sections of features that
/// aren't built stand there empty.
#[suite::test]
fn the_file_that_vpp_ships() {
    let config = file(
        "unix {\n  nodaemon\n  log /var/log/vpp/vpp.log\n  full-coredump\n  cli-listen /run/vpp/cli.sock\n  gid vpp\n}\n\
         acl-plugin {\n# use tuple merge 1\n\n}\n\
         api-queue {\n# length 1024\n}\napi-segment {\n  gid vpp\n}\napi-trace {\n  on\n}\nbuffers {\n}\ncj {\n}\ncpu {\n}\ndns {\n}\n\
         # dpdk {\n# dev 0000:02:00.0\n# }\n\
         ip {\n}\nip6 {\n}\nl2learn {\n}\nl2tp {\n}\nlogging {\n}\nmactime {\n}\nmc {\n}\nnat {\n}\noam {\n}\n\
         # plugins {\n# plugin default { disable }\n# }\n\
         punt {\n}\nsession {\n}\nsocksvr {\n  default\n}\nstatseg {\n}\ntapcli {\n}\ntcp {\n}\ntls {\n}\ntuntap {\n}\n\
         vhost-user {\n}\nvlib {\n}\nl3fib {\n}\n",
    );
    assert_eq!(config.unix.log.as_deref(), Some(std::path::Path::new("/var/log/vpp/vpp.log")));
    assert_eq!(config.unix.gid, Some(Account::Name("vpp".into())));
    assert!(config.api_trace.on && config.socksvr.default && config.unix.full_coredump);
    let note =
        |text: &str| assert!(config.notes.iter().any(|n| n == text), "{text}: {:?}", config.notes);
    note("mactime: empty, and belongs to mactime_plugin.so, which is not part of this build");
    note("session: empty, and belongs to VPP's host stack, which is not part of this build");
    assert_eq!(config.notes.len(), 11);
}

/// Files of VPP's tutorials and of measurements that were published.
#[suite::test]
fn files_of_tutorials() {
    let tutorial = file(
        "unix {\n  nodaemon\n  full-coredump\n  cli-listen /run/vpp/cli-vpp1.sock\n}\n\
         api-segment { prefix vpp1 }\nplugins { plugin dpdk_plugin.so { disable } }\n",
    );
    assert_eq!(tutorial.unix.cli_listen, [Listen::Unix("/run/vpp/cli-vpp1.sock".into())]);
    assert_eq!(tutorial.plugins.missing(&[]).count(), 0);

    let measured = file(
        "unix { nodaemon log /tmp/vpp.log cli-listen /run/vpp/cli.sock poll-sleep-usec 100 exec /etc/vpp/setup.gate }\n\
         cpu { main-core 2 corelist-workers 4, 6 # 2 workers\n skip-cores 1 scheduler-policy fifo scheduler-priority 50 }\n\
         buffers { buffers-per-numa 128000 default data-size 2048 page-size default-hugepage }\n\
         memory { main-heap-size 2G main-heap-page-size 1G default-hugepage-size 1G }\n\
         statseg { size 1G page-size 2M per-node-counters onupdate-interval 0.05 }\n\
         vlib { memory-trace elog-events 100000 elog-post-mortem-dump }\n\
         l3fib { load-balance-pool-size 1M }\n\
         logging { default-log-level debug default-syslog-log-level error size 1024 unthrottle-time 10 }\n",
    );
    assert_eq!(measured.cpu.worker_cores(), Some(&CoreList(vec![4, 6])));
    assert_eq!(measured.statseg.update_interval, Some(0.05));
    assert_eq!(measured.logging.size, Some(1024));

    // A section that only switches off or sizes what isn't there never ends a start.
    for section in [
        "crypto-engines { default { disable } }",
        "crypto-engines { default disable openssl { disable } }",
        "dpdk { num-mbufs 16384 }",
        "session { preallocated-sessions 1024 v4-session-table-memory 64m }",
        "mpls { no-tables }",
        "l3fib { fib-entry-pool-size 256K ip4-mtrie-pool-size 1M }",
    ] {
        assert!(!file(section).notes.is_empty(), "{section}");
    }
    for section in [
        "crypto-engines { default { enable } }",
        "dpdk { dev 0000:00:08.0 }",
        "dpdk { dev default { num-rx-queues 3 } }",
        "dhcp { server 10.0.0.1 }",
    ] {
        assert!(refused(section).contains("is not part of this build"), "{section}");
    }

    let acl = file(
        "plugins { plugin default { disable } plugin acl_plugin.so { enable } plugin ping_plugin.so { enable } }",
    );
    assert_eq!(acl.plugins.missing(&["ping"]).collect::<Vec<_>>(), ["acl_plugin.so"]);
    assert!(
        refused("unix { nodaemon }\ndhcp { server 10.0.0.1 }")
            .contains("startup.conf:2:1: section `dhcp`")
    );
}
