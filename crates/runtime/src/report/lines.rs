//! Which source line a line of PTX came from.

use rustc_hash::FxHashMap;
use warpsmith_ptx::{Locations, Module, Statement};
use warpsmith_types::Location;

/// The source of each line of a PTX text, with the calls that led there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PtxLines {
    /// By line of the PTX, for those with an instruction.
    lines: FxHashMap<u32, Location>,
}

impl PtxLines {
    /// Reads the `.loc`s of a module that was parsed from text.
    pub fn of(module: &Module) -> PtxLines {
        let mut locations = Locations::new(module);
        let mut lines = FxHashMap::default();
        for function in &module.functions {
            let mut here = None;
            for statement in &function.body {
                match statement {
                    Statement::Source(line) => here = Some(locations.read(line)),
                    Statement::Instruction(i) => {
                        if let Some(location) = &here {
                            lines.insert(i.line, location.clone());
                        }
                    }
                    Statement::Label(_) | Statement::Pragma(_) => {}
                }
            }
        }
        PtxLines { lines }
    }

    /// The source of a line, from 1; `None` when it has no instruction or its instruction no `.loc`.
    pub fn at(&self, line: u32) -> Option<&Location> {
        self.lines.get(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = r#".version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b32 %r<4>;
	mov.u32 %r0, 1;
	.loc 1 10 5
	mov.u32 %r1, 2;
	.loc 2 40 9, function_name $L__info_string0, inlined_at 1 10 5
	mov.u32 %r2, 3;
	.loc 2 40 9
	.loc 2 50 9, function_name $L__info_string1, inlined_at 2 40 9
	mov.u32 %r3, 4;
	ret;
}
.file 1 "src/kernel.rs"
.file 2 "src/reduce.rs"
.section .debug_str
{
$L__info_string0:
	.b8 111,117,116,101,114,0
$L__info_string1:
	.b8 105,110,110,101,114,0
}
"#;

    #[test]
    fn a_line_knows_the_calls_that_led_to_it() {
        let lines = PtxLines::of(&warpsmith_ptx::parse(PTX).unwrap());
        let said = |line| {
            let mut text = String::new();
            let mut next = lines.at(line);
            while let Some(at) = next {
                text += &at.to_string();
                next = at.inlined_at.as_deref().map(|call| {
                    text += &format!(" in {} at ", call.function);
                    &call.at
                });
            }
            text
        };
        assert_eq!((said(7), said(8)), (String::new(), String::new()));
        assert_eq!(said(9), "src/kernel.rs:10:5");
        assert_eq!(said(11), "src/reduce.rs:40:9 in outer at src/kernel.rs:10:5");
        assert_eq!(said(14), "src/reduce.rs:50:9 in inner at src/reduce.rs:40:9 in outer at src/kernel.rs:10:5");
        assert_eq!(lines.at(15), lines.at(14));
    }
}
