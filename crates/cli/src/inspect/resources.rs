//! What a kernel costs.

use std::collections::BTreeMap;
use std::fmt;
use warpsmith::dsl::Compiled;
use warpsmith::runtime::report::{Access, Cubin, MachineCode, ToolError};
use warpsmith_types::Chip;

/// A kernel as the assembler sees it.
pub(super) struct Resources<'a> {
    pub(super) compiled: &'a Compiled,
    pub(super) cubin: &'a Cubin,
    /// The machine code, or why there is none to be seen.
    pub(super) code: Result<MachineCode, ToolError>,
}

/// Matrix instructions of all generations, and what feeds them.
const MATRIX: [&str; 9] = ["HGMMA", "QGMMA", "IGMMA", "HMMA", "QMMA", "IMMA", "UTCHMMA", "LDSM", "STSM"];
/// Copies that no thread's registers see.
const COPIES: [&str; 5] = ["UTMALDG", "UTMASTG", "UTMAREDG", "UBLKCP", "LDGSTS"];

impl fmt::Display for Resources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resources { compiled, cubin, code } = self;
        let report = cubin.report(&compiled.entry);
        let dynamic = compiled.program.dynamic_shared();
        let number = |n: Option<u32>| n.map_or("not said".into(), |n| n.to_string());
        let mut row = |name: &str, value: String| writeln!(f, "{name:<10} {value}");
        row("kernel", format!("{} for {}", compiled.entry, cubin.target))?;
        if let Some([x, y, z]) = compiled.program.block {
            row("block", format!("{x} x {y} x {z} threads"))?;
        }
        row("registers", number(report.registers))?;
        row("local", format!("{} bytes a thread", number(report.local)))?;
        let spills =
            report.spills.map_or("not said".into(), |s| format!("{} bytes stored, {} loaded", s.stores, s.loads));
        row("spills", spills)?;
        row("shared", format!("{} bytes, {dynamic} more at launch", report.shared))?;
        row("barriers", number(report.barriers))?;
        let threads = compiled.program.block.map_or(0, |block| block.iter().product());
        if let Some(chip) = Chip::of_target(cubin.target) {
            let resident = report.residency(&chip, threads, dynamic);
            let said = resident.map_or("not one block fits".into(), |r| r.to_string());
            row("resident", format!("{said} ({})", chip.name))?;
        }
        row("cubin", format!("{} bytes, assembled in {:.0} ms", cubin.bytes.len(), cubin.time.as_secs_f64() * 1e3))?;
        match code {
            Ok(code) => {
                row("code", format!("{} instructions", code.instructions.len()))?;
                row("loads", accesses(code, Access::Load))?;
                row("stores", accesses(code, Access::Store))?;
                for (name, kinds) in [("copies", &COPIES[..]), ("matrix", &MATRIX[..])] {
                    let found = kinds.iter().filter(|kind| code.count(kind) > 0);
                    let found: Vec<_> = found.map(|kind| format!("{} {kind}", code.count(kind))).collect();
                    if !found.is_empty() {
                        row(name, found.join(", "))?;
                    }
                }
            }
            Err(missing) => row("code", missing.to_string())?,
        }
        match &report.warnings[..] {
            [] => row("warnings", "none".into()),
            all => all.iter().try_for_each(|warning| row("warning", warning.to_string())),
        }
    }
}

/// Global accesses by width, each instruction counted once.
fn accesses(code: &MachineCode, access: Access) -> String {
    let mut widths = BTreeMap::new();
    code.global(access).for_each(|i| *widths.entry(i.bits()).or_insert(0) += 1);
    let all: Vec<_> = widths.iter().rev().map(|(bits, count)| format!("{count} of {bits} bits")).collect();
    if all.is_empty() { "none by threads".into() } else { format!("{} in global memory", all.join(", ")) }
}
