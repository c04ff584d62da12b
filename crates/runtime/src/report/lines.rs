//! Which source line a line of PTX came from.

use rustc_hash::FxHashMap;
use std::sync::Arc;
use warpsmith_ptx::{Module, SourceLine, Statement};
use warpsmith_types::{Inlined, Location};

/// The source of each line of a PTX text, with the calls that led there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PtxLines {
    /// By line of the PTX, for those with an instruction.
    lines: FxHashMap<u32, Location>,
}

impl PtxLines {
    /// Reads the `.loc`s of a module that was parsed from text.
    pub fn of(module: &Module) -> PtxLines {
        let files = module.files.iter().map(|f| (f.index, Arc::from(f.path.as_str()))).collect();
        let mut reader = Reader { files, places: FxHashMap::default() };
        let mut lines = FxHashMap::default();
        for function in &module.functions {
            let mut here = None;
            for statement in &function.body {
                match statement {
                    Statement::Source(line) => here = Some(reader.location(line)),
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

struct Reader {
    files: FxHashMap<u32, Arc<str>>,
    /// What the last `.loc` of a place said: `inlined_at` names a place alone, and the calls that led to that one are
    /// said where it had a `.loc` of its own.
    places: FxHashMap<(u32, u32, u32), Location>,
}

impl Reader {
    fn location(&mut self, line: &SourceLine) -> Location {
        let mut location = self.place(line.file, line.line, line.column);
        if let Some(call) = &line.inlined_at {
            let key = (call.file, call.line, call.column);
            let at = match self.places.get(&key) {
                Some(known) => known.clone(),
                None => self.place(call.file, call.line, call.column),
            };
            location.inlined_at = Some(Arc::new(Inlined { function: call.function.as_str().into(), at }));
        }
        // A place may be named once more without its caller, for `inlined_at` to refer to.
        let known = self.places.entry((line.file, line.line, line.column)).or_insert_with(|| location.clone());
        if location.inlined_at.is_some() {
            known.clone_from(&location);
        }
        location
    }

    fn place(&self, file: u32, line: u32, column: u32) -> Location {
        let path = self.files.get(&file).cloned().unwrap_or_else(|| "<unknown>".into());
        Location::new(path, line, column)
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
