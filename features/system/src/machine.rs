// SPDX-License-Identifier: Apache-2.0
//! Commands about the machine, and about parts of VPP that don't exist here but that scripts poll.

use cli::{Error, Matches, Output};
use graph::World;
use serde_json::json;
use std::fmt::Write;
use std::fs;

/// Bytes of an x86-64 page that isn't huge.
const PAGE: usize = 4096;

pub fn cpu(world: &World, _: &Matches) -> Result<Output, Error> {
    let file = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let (model, flags) = (field(&file, "model name"), field(&file, "flags"));
    let family = [field(&file, "cpu family"), field(&file, "model"), field(&file, "stepping")];
    let [family, number, stepping] = family.map(|f| f.parse::<u32>().unwrap_or(0));
    let level = world.level().to_string();
    let hz = simd::tsc_hz();
    let text = format!(
        "Model name:               {model}\n\
         Microarch model (family): [{family:#x}] model {number:#x} stepping {stepping:#x}\n\
         Instruction set:          {level}\n\
         Flags:                    {flags}\n\
         Base frequency:           {:.2} GHz\n",
        hz as f64 / 1e9
    );
    let flags: Vec<&str> = flags.split_whitespace().collect();
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

pub fn physmem(world: &World, _: &Matches) -> Result<Output, Error> {
    let region = world.pool.region();
    let pages = region.page_kind().to_string();
    let len = region.len();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "default-numa-0: size {} MiB, pages of {PAGE} bytes: {}, {pages}",
        len >> 20,
        len / PAGE
    );
    let json = json!([{ "name": "default-numa-0", "numa_node": 0, "bytes": len, "pages": pages }]);
    Ok(Output::both(text, json))
}

/// VPP's line for a logger without events.
pub fn event_logger(_: &World, _: &Matches) -> Result<Output, Error> {
    let json = json!({ "events": 0, "capacity": 0, "running": false });
    Ok(Output::both("0 of 0 events in buffer, logger stopped\n".to_string(), json))
}

/// The answer about something that VPP has to have and Ferrovia hasn't: nothing of it, and where to look.
pub fn instead(text: &str) -> Output {
    Output::both(text.to_string(), json!([]))
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_of_the_first_processor() {
        let file = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: A: CPU\nflags\t\t: fpu avx\n\nprocessor\t: 1\nmodel\t: 9\n";
        assert_eq!(
            (field(file, "model name"), field(file, "model"), field(file, "flags")),
            ("A: CPU", "17", "fpu avx")
        );
        assert_eq!(field(file, "none"), "");
    }
}
