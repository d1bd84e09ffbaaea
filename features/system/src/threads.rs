// SPDX-License-Identifier: Apache-2.0
//! `show threads`: the threads' own state, and the kernel's state of them.

use cli::{Error, Matches, Output, Table};
use graph::{ThreadInfo, World};
use std::fs;

/// The kernel's state of a thread: proc(5), `/proc/PID/task/TID/stat`.
struct Scheduled {
    /// The processor that it ran on last (field 39).
    processor: usize,
    /// Real-time priority (field 40); 0 for the others.
    priority: u32,
    /// Scheduling policy (field 41): sched(7).
    policy: &'static str,
}

impl Scheduled {
    fn of(thread: &ThreadInfo) -> Option<Self> {
        Self::read(&fs::read_to_string(format!("/proc/self/task/{}/stat", thread.tid)).ok()?)
    }

    /// The name, field 2, stands in parentheses and may hold anything.
    fn read(stat: &str) -> Option<Self> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |n: usize| fields.get(n - 3)?.parse::<u32>().ok();
        let policy = match field(41)? {
            0 => "other",
            1 => "fifo",
            2 => "rr",
            3 => "batch",
            5 => "idle",
            6 => "deadline",
            _ => "unknown",
        };
        Some(Self { processor: field(39)? as usize, priority: field(40)?, policy })
    }
}

/// The processor that the thread ran on last.
pub fn processor(thread: &ThreadInfo) -> Option<usize> {
    Scheduled::of(thread).map(|s| s.processor)
}

fn topology(lcore: Option<usize>, what: &str) -> Option<u32> {
    let path = format!("/sys/devices/system/cpu/cpu{}/topology/{what}", lcore?);
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// A graph thread, and where it runs.
#[derive(Clone, Debug)]
pub struct ThreadPlacement {
    /// Its number; 0 is the main one's.
    pub id: usize,
    /// Its name.
    pub name: String,
    /// `workers`, or nothing for the main one.
    pub kind: &'static str,
    /// The kernel's thread id; 0 until it runs.
    pub tid: i32,
    /// Policy and priority of the kernel's scheduler.
    pub scheduled: Option<String>,
    /// The processor that it is pinned to, or ran on last.
    pub lcore: Option<usize>,
    /// That one's core.
    pub core: Option<u32>,
    /// And its package.
    pub socket: Option<u32>,
    /// Current activity.
    pub state: &'static str,
}

/// All graph threads.
pub fn placements(world: &World) -> Vec<ThreadPlacement> {
    let place = |(id, thread): (usize, ThreadInfo)| {
        let scheduled = Scheduled::of(&thread);
        let lcore = thread.core.or(scheduled.as_ref().map(|s| s.processor));
        let state = match (thread.tid, thread.asleep) {
            (0, _) => "not started",
            // It takes nothing of what control sends it.
            _ if thread.silent.is_some() => "stuck",
            (_, true) => "wait",
            (_, false) => "running",
        };
        ThreadPlacement {
            id,
            name: thread.name,
            kind: if id == 0 { "" } else { "workers" },
            tid: thread.tid,
            scheduled: scheduled.map(|s| format!("{} ({})", s.policy, s.priority)),
            lcore,
            core: topology(lcore, "core_id"),
            socket: topology(lcore, "physical_package_id"),
            state,
        }
    };
    world.thread_list().into_iter().enumerate().map(place).collect()
}

/// Columns of VPP's `show threads`, with their widths.
const COLUMNS: [(&str, usize); 9] = [
    ("ID", 7),
    ("Name", 20),
    ("Type", 12),
    ("LWP", 8),
    ("Sched Policy (Priority)", 25),
    ("lcore", 7),
    ("Core", 7),
    ("Socket", 7),
    ("State", 0),
];

/// A line of the table. A value that is too long for its column has a blank behind it.
fn line(values: [String; 9]) -> String {
    let mut line: String = values
        .into_iter()
        .zip(COLUMNS)
        .map(|(value, (_, width))| format!("{value:<0$} ", width.saturating_sub(1)))
        .collect();
    line.truncate(line.trim_end().len());
    line + "\n"
}

fn text(placements: &[ThreadPlacement]) -> String {
    let or_blank = |value: Option<String>| value.unwrap_or_default();
    let row = |place: &ThreadPlacement| {
        line([
            place.id.to_string(),
            place.name.clone(),
            place.kind.into(),
            place.tid.to_string(),
            or_blank(place.scheduled.clone()),
            or_blank(place.lcore.map(|n| n.to_string())),
            or_blank(place.core.map(|n| n.to_string())),
            or_blank(place.socket.map(|n| n.to_string())),
            place.state.into(),
        ])
    };
    line(COLUMNS.map(|(title, _)| title.into())) + &placements.iter().map(row).collect::<String>()
}

pub fn show(world: &World, _: &Matches) -> Result<Output, Error> {
    let placements = placements(world);
    let text = text(&placements);
    let mut table = Table::new()
        .left("ID")
        .left("Name")
        .left("Type")
        .left("LWP")
        .left("Sched Policy (Priority)")
        .key("sched_policy")
        .left("lcore")
        .left("Core")
        .left("Socket")
        .left("State");
    for place in placements {
        table.row([
            place.id.into(),
            place.name.into(),
            place.kind.into(),
            place.tid.into(),
            place.scheduled.into(),
            place.lcore.into(),
            place.core.into(),
            place.socket.into(),
            place.state.into(),
        ]);
    }
    Ok(Output::both(text, table.to_json()))
}

#[cfg(feature = "tests")]
mod tests {
    use super::{Scheduled, ThreadPlacement, text};

    #[suite::test]
    fn columns_are_where_vpp_has_them() {
        let main = ThreadPlacement {
            id: 0,
            name: "vpp_main".into(),
            kind: "",
            tid: 12345,
            scheduled: Some("other (0)".into()),
            lcore: Some(1),
            core: Some(1),
            socket: Some(0),
            state: "wait",
        };
        let worker = ThreadPlacement {
            id: 1,
            name: "vpp_wk_0".into(),
            kind: "workers",
            tid: 12346,
            scheduled: Some("fifo (50)".into()),
            lcore: Some(2),
            core: Some(2),
            state: "running",
            ..main.clone()
        };
        let long = ThreadPlacement {
            id: 2,
            name: "a-name-of-thirty-two-characters-".into(),
            ..worker.clone()
        };
        let waiting = ThreadPlacement {
            tid: 0,
            scheduled: None,
            lcore: None,
            core: None,
            socket: None,
            state: "not started",
            ..worker.clone()
        };
        let want = "\
ID     Name                Type        LWP     Sched Policy (Priority)  lcore  Core   Socket State
0      vpp_main                        12345   other (0)                1      1      0      wait
1      vpp_wk_0            workers     12346   fifo (50)                2      2      0      running
2      a-name-of-thirty-two-characters- workers     12346   fifo (50)                2      2      0      running
1      vpp_wk_0            workers     0                                                     not started
";
        assert_eq!(text(&[main, worker, long, waiting]), want);
    }

    #[suite::test]
    fn a_name_with_blanks_and_parentheses_does_not_shift_the_fields() {
        let fields: Vec<String> = (4..=52).map(|n| n.to_string()).collect();
        let stat = |policy: &str| {
            let mut fields = fields.clone();
            fields[41 - 4] = policy.into();
            format!("17 (a) S 1 (b) R {}", fields.join(" "))
        };
        let s = Scheduled::read(&stat("1")).expect("well-formed");
        assert_eq!((s.processor, s.priority, s.policy), (39, 40, "fifo"));
        assert!(Scheduled::read("17 (short) S 1 2").is_none());
    }
}
