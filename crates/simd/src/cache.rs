// SPDX-License-Identifier: Apache-2.0
//! How large caches are.

/// Bytes of a core's first-level data cache, if the processor says so: CPUID leaf 4h of Intel, 8000001Dh of AMD, which are laid out
/// alike.
pub fn l1_data() -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};
        const LEAVES: [(u32, u32); 2] = [(0, 4), (0x8000_0000, 0x8000_001d)];
        let known = LEAVES.into_iter().filter(|(group, leaf)| __cpuid(*group).eax >= *leaf);
        let caches = known.flat_map(|(_, leaf)| (0..4).map(move |i| __cpuid_count(leaf, i)));
        // The type is 1 for data and 3 for both.
        let is_it = |cache: &CpuidResult| matches!(cache.eax & 31, 1 | 3) && cache.eax >> 5 & 7 == 1;
        return caches.into_iter().find(is_it).map(|cache| {
            let field = |at: u32, bits: u32| (cache.ebx >> at & ((1 << bits) - 1)) as usize + 1;
            // Bytes of a line, lines in one piece, ways, and sets.
            field(0, 12) * field(12, 10) * field(22, 10) * (cache.ecx as usize + 1)
        });
    }
    #[allow(unreachable_code, reason = "on x86-64")]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of some core, that is: not all of a processor's are alike.
    #[test]
    fn as_the_kernel_says() {
        let of_core = |cpu: usize| {
            let file = |name| format!("/sys/devices/system/cpu/cpu{cpu}/cache/index0/{name}");
            let read = |name| std::fs::read_to_string(file(name)).ok();
            let kib = read("size")?.trim().trim_end_matches('K').parse::<usize>().ok()?;
            (read("type")?.trim() == "Data").then_some(kib << 10)
        };
        let sizes: Vec<usize> = (0..1024).filter_map(of_core).collect();
        if sizes.is_empty() || cfg!(not(target_arch = "x86_64")) {
            println!("skipped: neither the kernel nor CPUID says anything about caches here");
            return;
        }
        assert!(l1_data().is_some_and(|size| sizes.contains(&size)), "{:?} of {sizes:?}", l1_data());
    }
}
