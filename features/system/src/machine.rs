// SPDX-License-Identifier: Apache-2.0
//! Commands about the machine, and about parts of VPP that don't exist here but that scripts poll.

use crate::memory::scaled;
use buffer::SLOT_SIZE;
use cli::{Error, Matches, Output};
use graph::World;
use serde_json::json;
use std::fs;
use std::os::unix::fs::MetadataExt;

pub fn cpu(world: &World, _: &Matches) -> Result<Output, Error> {
    let file = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let (model, flags) = (field(&file, "model name"), field(&file, "flags"));
    // Not every kernel tells them.
    let numbers =
        ["cpu family", "model", "stepping"].map(|name| field(&file, name).parse::<u32>().ok());
    let known = |n: Option<u32>| n.map_or("unknown".to_string(), |n| format!("{n:#x}"));
    let [family, number, stepping] = numbers.map(known);
    let level = world.level().to_string();
    let hz = simd::tsc_hz();
    let text = format!(
        "Model name:               {model}\n\
         Microarch model (family): [{family}] model {number} stepping {stepping}\n\
         Instruction set:          {level}\n\
         Flags:                    {flags}\n\
         Base frequency:           {:.2} GHz\n",
        hz as f64 / 1e9
    );
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let [family, number, stepping] = numbers;
    let json = json!({
        "model_name": model, "family": family, "model": number, "stepping": stepping, "instruction_set": level, "flags": flags,
        "base_frequency_hz": hz,
    });
    Ok(Output::both(text, json))
}

/// The first processor's value of a line `NAME : VALUE` of /proc/cpuinfo: proc(5).
fn field<'a>(file: &'a str, name: &str) -> &'a str {
    let line = file.lines().filter_map(|line| line.split_once(':')).find(|(n, _)| n.trim() == name);
    line.map_or("", |(_, value)| value.trim())
}

/// The memory of the buffers: its size, what of it has pages behind it, and what of it buffers have
/// taken so far.
pub fn physmem(world: &World, m: &Matches) -> Result<Output, Error> {
    let (region, stats) = (world.pool.region(), world.pool.stats());
    let pages = region.page_kind().to_string();
    // stat(2): blocks of 512 bytes, whatever the size of a page.
    let file = region.fd().try_clone_to_owned().and_then(|fd| fs::File::from(fd).metadata());
    let committed = file.map_or(0, |stat| stat.blocks() * 512);
    let (size, used) = (region.len() as u64, (stats.carved * SLOT_SIZE) as u64);
    let mut text = format!(
        "default-numa-0: size {}, committed {}, used {}, {pages}\n",
        scaled(size),
        scaled(committed),
        scaled(used)
    );
    if ["verbose", "detail", "map"].iter().any(|word| m.flag(word)) {
        let start = region.base().addr().get();
        text += &format!(
            "  {start:#x}-{:#x}, {} of {} buffers of {SLOT_SIZE} bytes taken\n",
            start + region.len(),
            stats.carved,
            stats.limit
        );
    }
    let json = json!([{
        "name": "default-numa-0", "numa_node": 0, "bytes": size, "committed": committed, "used": used, "pages": pages,
    }]);
    Ok(Output::both(text, json))
}

/// VPP's line for a logger without events.
pub fn event_logger(_: &World, _: &Matches) -> Result<Output, Error> {
    let json = json!({ "events": 0, "capacity": 0, "running": false });
    Ok(Output::both("0 of 0 events in buffer, logger stopped\n".to_string(), json))
}

/// The answer about something that VPP has to have and Ferrovia hasn't: nothing of it, and where to
/// look.
pub fn instead(text: &str) -> Output {
    Output::both(text.to_string(), json!([]))
}

#[cfg(feature = "tests")]
mod tests {
    use super::field;

    #[suite::test]
    fn fields_of_the_first_processor() {
        let file = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: A: CPU\nflags\t\t: fpu avx\n\nprocessor\t: 1\nmodel\t: 9\n";
        assert_eq!(
            (field(file, "model name"), field(file, "model"), field(file, "flags")),
            ("A: CPU", "17", "fpu avx")
        );
        assert_eq!(field(file, "none"), "");
    }
}
