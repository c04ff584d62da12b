//! A cubin to machine code, by `nvdisasm`.

use super::assemble::Cubin;
use super::machine_code::{MachineCode, MachineInstruction};
use super::tool::{Scratch, Tool, ToolError};
use std::ffi::OsStr;
use std::path::PathBuf;

/// `nvdisasm`.
#[derive(Clone, Debug)]
pub struct Disassembler {
    path: PathBuf,
}

impl Disassembler {
    /// The one that [`Tool::find`] finds.
    ///
    /// # Errors
    /// When there is none.
    pub fn find() -> Result<Disassembler, ToolError> {
        Ok(Disassembler { path: Tool::Nvdisasm.find()? })
    }

    /// The code of each kernel of a cubin.
    ///
    /// Lines are those of the PTX. Lines of the source come through [`PtxLines`](super::PtxLines): what `ptxas` writes
    /// down of them itself (`nvdisasm -g`) names a wrong file at the start of an inlined function.
    ///
    /// # Errors
    /// When the disassembler does not take it.
    pub fn disassemble(&self, cubin: &Cubin) -> Result<Vec<MachineCode>, ToolError> {
        let file = Scratch::holding("cubin", &cubin.bytes)?;
        let options = ["-c", "-gp"].map(OsStr::new);
        let run = Tool::Nvdisasm.run(&self.path, options.into_iter().chain([file.path.as_os_str()]))?;
        if !run.status.success() {
            return Err(ToolError::Unreadable { log: String::from_utf8_lossy(&run.stderr).trim_end().into() });
        }
        Ok(read(&String::from_utf8_lossy(&run.stdout)))
    }
}

/// Reads a listing.
fn read(listing: &str) -> Vec<MachineCode> {
    let mut all: Vec<MachineCode> = vec![];
    let (mut line, mut labels) = (None, vec![]);
    for text in listing.lines().map(str::trim) {
        if let Some(name) = text.strip_prefix(".text.").and_then(|t| t.strip_suffix(':')) {
            all.push(MachineCode { kernel: name.into(), instructions: vec![] });
            (line, labels) = (None, vec![]);
        } else if let Some(at) = text.strip_prefix("//## File ") {
            line = at.rsplit_once("line ").and_then(|(_, n)| n.trim().parse().ok());
        } else if let Some(label) = text.strip_suffix(':').filter(|l| l.starts_with(".L")) {
            labels.push(label.into());
        } else if let (Some(code), Some(mut i)) = (all.last_mut(), instruction(text)) {
            i.ptx_line = line;
            i.labels = std::mem::take(&mut labels);
            code.instructions.push(i);
        }
    }
    all
}

/// Reads `/*0220*/ @!P0 LDG.E.128.CONSTANT R4, desc[UR10][R22.64+0x200] ;`.
fn instruction(text: &str) -> Option<MachineInstruction> {
    let (offset, rest) = text.strip_prefix("/*")?.split_once("*/")?;
    let offset = u32::from_str_radix(offset, 16).ok()?;
    let rest = rest.split_once(';').map_or(rest, |(code, _)| code).trim();
    let (guard, rest) = match rest.split_once(' ') {
        Some((guard, rest)) if guard.starts_with('@') => (Some(guard.to_string()), rest.trim()),
        _ => (None, rest),
    };
    let (opcode, operands) = rest.split_once(' ').unwrap_or((rest, ""));
    let (opcode, operands) = (opcode.to_string(), operands.trim().to_string());
    Some(MachineInstruction { offset, labels: vec![], guard, opcode, operands, ptx_line: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read() {
        let listing = "\t.target\tsm_90a\n\n//--- .text.k ---\n\t.section\t.text.k,\"ax\",@progbits\n        .global         k\n\
            k:\n.text.k:\n\t//## File \".nv_debug_ptx_txt\", line 13\n\
            \x20       /*0000*/                   LDC R1, c[0x0][0x28] ;\n\
            .L_x_0:\n\
            \t//## File \".nv_debug_ptx_txt\", line 51\n\
            \x20       /*0010*/              @!P0 LDG.E.128.CONSTANT R8, desc[UR10][R22.64] ;\n\
            \x20       /*0020*/                   ACQBULK ;\n\
            .L_x_13:\n\n\
            .text.other:\n\x20       /*0000*/                   EXIT ;\n";
        let all = read(listing);
        assert_eq!(all.iter().map(|c| c.kernel.as_str()).collect::<Vec<_>>(), ["k", "other"]);
        let [first, second, third] = &all[0].instructions[..] else { panic!("{all:?}") };
        assert_eq!(
            (first.offset, first.ptx_line, first.to_string().as_str()),
            (0, Some(13), "      LDC R1, c[0x0][0x28]")
        );
        assert_eq!(second.labels, [".L_x_0"]);
        assert_eq!((second.guard.as_deref(), second.opcode.as_str()), (Some("@!P0"), "LDG.E.128.CONSTANT"));
        assert_eq!((second.operands.as_str(), second.ptx_line), ("R8, desc[UR10][R22.64]", Some(51)));
        assert_eq!((third.offset, third.opcode.as_str(), third.operands.as_str()), (32, "ACQBULK", ""));
        assert_eq!((all[1].instructions.len(), all[1].instructions[0].ptx_line), (1, None));
    }
}
