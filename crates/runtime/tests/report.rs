//! The assembler's report and the machine code of small kernels. Skipped, and said so, where the tools are missing.

#![allow(clippy::print_stdout, reason = "a skip is printed")]

use warpsmith_runtime::report::{Access, Assembler, Disassembler, PtxLines, Spills, ToolError, Warning};
use warpsmith_types::Target;

fn or_skip<T>(found: Result<T, ToolError>) -> Option<T> {
    match found {
        Ok(tool) => Some(tool),
        Err(e @ ToolError::Missing { .. }) => {
            println!("skipped: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// A kernel around a body, with lines: the body begins at line 10.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 x)\n.reqntid 128, 1, 1\n{{\n\
         .reg .b64 %rd<4>; .reg .b32 %r<99>; .reg .f32 %f<99>; .reg .pred %p<2>;\n\
         ld.param.u64 %rd0, [x]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd1, %rd0;\n\
         .loc 1 7 5\n{body}\nret;\n}}\n.file 1 \"src/k.rs\"\n"
    )
}

#[test]
fn a_report_counts_what_a_thread_costs() {
    let Some(assembler) = or_skip(Assembler::find()) else { return };
    let ptx = kernel(".shared .b8 s[64];\nbar.sync 0;\nbar.sync 3;\nst.global.u32 [%rd1], %r0;");
    let cubin = assembler.assemble(&ptx, Target::SM_90A).unwrap();
    let report = cubin.report("k");
    assert!(report.registers.is_some_and(|r| (4..32).contains(&r)), "{report:?}");
    assert_eq!(
        (report.spills, report.local, report.barriers),
        (Some(Spills::default()), Some(0), Some(4)),
        "{report:?}"
    );
    assert_eq!((report.shared, report.cubin), (64, Some(cubin.bytes.len())));
    assert_eq!(report.warnings, []);
    // Another kernel's name finds nothing.
    assert_eq!(cubin.report("other").registers, None);
}

#[test]
fn a_refusal_has_the_line() {
    let Some(assembler) = or_skip(Assembler::find()) else { return };
    let refused = assembler.assemble(&kernel("bogus.u32 %r1, %r0;"), Target::SM_90A).unwrap_err().to_string();
    assert!(refused.starts_with("ptxas refuses the PTX for sm_90a:\nline 10; error"), "{refused}");
    let refused = assembler.assemble(&kernel(""), Target::SM_100A).unwrap_err().to_string();
    assert!(refused.starts_with("ptxas refuses the PTX for sm_100a:\n") && refused.contains("sm_90a"), "{refused}");
}

#[test]
fn serialised_matrix_instructions_are_a_warning() {
    let Some(assembler) = or_skip(Assembler::find()) else { return };
    let product = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0,%f1,%f2,%f3}, %rd2, %rd2, 1, 1, 1, 0, 0;";
    // The sums are changed in a loop while the next product owns them.
    let touched = format!(
        "mov.b64 %rd2, 0; mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; mov.u32 %r1, 0;\n\
         wgmma.fence.sync.aligned;\nloop:\n{product}\nwgmma.commit_group.sync.aligned;\n\
         add.f32 %f0, %f0, 0f3F800000;\nadd.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, %r0;\n@%p0 bra loop;\n\
         wgmma.wait_group.sync.aligned 0;\nst.global.f32 [%rd1], %f0;"
    );
    let warnings = assembler.assemble(&kernel(&touched), Target::SM_90A).unwrap().report("k").warnings;
    assert!(warnings.iter().any(|w| matches!(w, Warning::WgmmaSerialized { .. })), "{warnings:?}");
    let ignored = kernel("setmaxnreg.dec.sync.aligned.u32 40;");
    let warnings = assembler.assemble(&ignored, Target::SM_90A).unwrap().report("k").warnings;
    assert!(matches!(&warnings[..], [Warning::SetmaxnregIgnored { .. }]), "{warnings:?}");
}

#[test]
fn machine_code_knows_its_lines() {
    let (Some(assembler), Some(disassembler)) = (or_skip(Assembler::find()), or_skip(Disassembler::find())) else {
        return;
    };
    let ptx = kernel(
        "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd0];\nadd.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;\n.loc 1 8 5\nst.global.u8 [%rd1], %r1;",
    );
    let cubin = assembler.assemble(&ptx, Target::SM_90A).unwrap();
    let [code] = &disassembler.disassemble(&cubin).unwrap()[..] else { panic!("one kernel") };
    assert_eq!((code.kernel.as_str(), code.count("EXIT"), code.uses_local_memory()), ("k", 1, false));
    assert_eq!((code.global_widths(Access::Load), code.global_widths(Access::Store)), (vec![128], vec![8]));
    let lines = PtxLines::of(&warpsmith_ptx::parse(&ptx).unwrap());
    let at = |access| {
        let i = code.global(access).next().unwrap();
        (i.ptx_line, i.ptx_line.and_then(|n| lines.at(n)).map(ToString::to_string))
    };
    assert_eq!(at(Access::Load), (Some(10), Some("src/k.rs:7:5".into())));
    assert_eq!(at(Access::Store), (Some(13), Some("src/k.rs:8:5".into())));
    // An array that is indexed at run time lies in local memory.
    let array = kernel(
        ".local .b8 array[400];\nmov.u64 %rd2, array; add.u64 %rd3, %rd2, %rd1; st.local.u32 [%rd3], %r0; ld.local.u32 %r1, [array+8];\n\
         st.global.u32 [%rd1], %r1;",
    );
    let cubin = assembler.assemble(&array, Target::SM_90A).unwrap();
    assert_eq!((cubin.report("k").local, cubin.report("k").uses_local_memory()), (Some(400), Some(true)));
    assert!(disassembler.disassemble(&cubin).unwrap()[0].uses_local_memory());
}
