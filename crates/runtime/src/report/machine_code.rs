//! Machine code as data, and questions about it.

use std::fmt;

/// The machine code of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineCode {
    /// The kernel.
    pub kernel: String,
    /// Its instructions, in order of their addresses.
    pub instructions: Vec<MachineInstruction>,
}

/// An instruction of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineInstruction {
    /// Bytes from the start of the kernel.
    pub offset: u32,
    /// Labels in front of it.
    pub labels: Vec<String>,
    /// The predicate that it runs under: `@!P0`.
    pub guard: Option<String>,
    /// Opcode and modifiers: `LDG.E.128.CONSTANT`.
    pub opcode: String,
    /// The rest of it, as the disassembler writes it.
    pub operands: String,
    /// The line of the PTX that it came from, from 1.
    pub ptx_line: Option<u32>,
}

/// An access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// From memory to registers, or to shared memory by `LDGSTS`.
    Load,
    /// From registers to memory.
    Store,
}

impl MachineInstruction {
    /// Whether it is this instruction, with these modifiers first: `LDG` and `LDG.E` are both `LDG.E.128`, `LD` is not.
    pub fn is(&self, opcode: &str) -> bool {
        self.opcode.strip_prefix(opcode).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Whether it has this modifier: `LDG.E.128` has `128`.
    pub fn has(&self, modifier: &str) -> bool {
        self.opcode.split('.').skip(1).any(|m| m == modifier)
    }

    /// Bits that one thread moves, of an access to memory.
    pub fn bits(&self) -> u32 {
        let widths = [("256", 256), ("128", 128), ("64", 64), ("U16", 16), ("S16", 16), ("U8", 8), ("S8", 8)];
        widths.iter().find(|(modifier, _)| self.has(modifier)).map_or(32, |(_, bits)| *bits)
    }
}

impl MachineCode {
    /// How many instructions it has of this kind: `HGMMA`, `LDSM`, `LDG.E.128`. Unrolled copies count one by one.
    pub fn count(&self, opcode: &str) -> usize {
        self.instructions.iter().filter(|i| i.is(opcode)).count()
    }

    /// Whether it touches local memory: spills, or arrays that are indexed at run time.
    pub fn uses_local_memory(&self) -> bool {
        self.instructions.iter().any(|i| i.is("LDL") || i.is("STL"))
    }

    /// Loads from global memory or stores to it. Copies by TMA are not among them: no thread moves their bytes.
    pub fn global(&self, access: Access) -> impl Iterator<Item = &MachineInstruction> {
        let opcodes: &[&str] = match access {
            Access::Load => &["LDG", "LDGSTS"],
            Access::Store => &["STG"],
        };
        self.instructions.iter().filter(move |i| opcodes.iter().any(|o| i.is(o)))
    }

    /// The widths of these in bits, without repetition, the widest first.
    pub fn global_widths(&self, access: Access) -> Vec<u32> {
        let mut widths: Vec<u32> = self.global(access).map(MachineInstruction::bits).collect();
        widths.sort_unstable_by(|a, b| b.cmp(a));
        widths.dedup();
        widths
    }
}

impl fmt::Display for MachineInstruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = self.guard.as_deref().unwrap_or("");
        write!(f, "{guard:>5} {}", self.opcode)?;
        if self.operands.is_empty() { Ok(()) } else { write!(f, " {}", self.operands) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(opcodes: &[&str]) -> MachineCode {
        let instructions = opcodes.iter().map(|o| MachineInstruction { opcode: (*o).into(), ..Default::default() });
        MachineCode { kernel: "k".into(), instructions: instructions.collect() }
    }

    #[test]
    fn opcodes_are_told_apart() {
        let c = code(&["LDG.E.128.CONSTANT", "LDG.E.U16", "LD.E", "LDGSTS.E.BYPASS.LTC128B.128", "STG.E.64", "STG.E"]);
        assert_eq!((c.count("LDG"), c.count("LDG.E.128"), c.count("LD"), c.count("LDG.E.1")), (2, 1, 1, 0));
        assert_eq!(c.global_widths(Access::Load), [128, 16]);
        assert_eq!(c.global_widths(Access::Store), [64, 32]);
        assert!(!c.uses_local_memory());
        assert!(code(&["MOV", "STL.64"]).uses_local_memory());
        assert!(code(&["LDL"]).uses_local_memory());
        assert_eq!(code(&["LDG.E.ENL2.256"]).global_widths(Access::Load), [256]);
    }
}
