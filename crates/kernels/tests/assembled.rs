//! What `ptxas` makes of the kernels: no spills, no local memory, registers within a budget, wide accesses, none of its
//! remarks about serialised matrix instructions. Skipped, and said so, where there is no `ptxas` or no `nvdisasm`.

#![allow(clippy::print_stdout, reason = "a skip is printed")]

use warpsmith_dsl::{Arguments, DType, DeviceId, Kernel, Params, Target, TensorArg, compile};
use warpsmith_kernels::{gemm, rms_norm, softmax};
use warpsmith_runtime::report::{
    Access, Assembler, CompileReport, Cubin, Disassembler, MachineCode, Spills, ToolError,
};
use warpsmith_types::Chip;

/// The tool, or a printed skip.
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

fn tensor(address: u64, dtype: DType, shape: &[usize]) -> TensorArg {
    TensorArg::new(address, DeviceId(0), dtype, shape)
}

/// A kernel's machine code file and the assembler's report.
struct Assembled {
    name: String,
    cubin: Cubin,
    report: CompileReport,
}

impl Assembled {
    fn new<K: Kernel>(assembler: &Assembler, kernel: &K, host: &<K::Args as Params>::Host<'_>, target: Target) -> Self {
        let arguments = Arguments::of::<K::Args>(host);
        let compiled = compile(kernel, &arguments, &kernel.launch(host), target).unwrap();
        let cubin = assembler.assemble(&compiled.module.to_string(), target).unwrap();
        let report = cubin.report(&compiled.entry);
        Assembled { name: format!("{} for {target}", compiled.entry), cubin, report }
    }

    /// No spills, no local memory, no warnings, and registers within a budget.
    fn check(&self, budget: u32) {
        let Assembled { name, report, .. } = self;
        assert_eq!((report.spills, report.local), (Some(Spills::default()), Some(0)), "{name}: {report:?}");
        assert_eq!(report.warnings, [], "{name}");
        let registers = report.registers.unwrap();
        assert!((1..=budget).contains(&registers), "{name}: {registers} registers, budget {budget}");
    }

    /// The machine code of its one kernel.
    fn code(&self, disassembler: &Disassembler) -> MachineCode {
        let mut all = disassembler.disassemble(&self.cubin).unwrap();
        assert_eq!(all.len(), 1, "{}", self.name);
        let code = all.remove(0);
        assert!(code.count("EXIT") > 0 && !code.uses_local_memory(), "{}", self.name);
        code
    }
}

/// Softmax and RMSNorm over rows of a dtype, with the registers that a thread of their blocks has.
fn rows(assembler: &Assembler, dtype: DType, dim: usize, target: Target) -> [(Assembled, u32); 2] {
    let (x, mut y) = (tensor(1 << 40, dtype, &[64, dim]), tensor(1 << 41, dtype, &[64, dim]));
    let w = tensor(1 << 42, dtype, &[dim]);
    // A block of 1024 threads has 64 registers a thread.
    let budget = |threads: usize| if threads > 512 { 64 } else { 128 };
    let kernel = softmax::plan(&x, &y).unwrap();
    let host = softmax::SoftmaxArgs { x: &x, y: &mut y };
    let first = (Assembled::new(assembler, &kernel, &host, target), budget(kernel.rows.threads()));
    let kernel = rms_norm::plan(&x, Some(&w), &y, 1e-6).unwrap();
    let host = rms_norm::RmsNormArgs { x: &x, weight: Some(&w), y: &mut y, eps: 1e-6 };
    let second = (Assembled::new(assembler, &kernel, &host, target), budget(kernel.rows.threads()));
    [first, second]
}

#[test]
fn row_kernels_fit_their_registers_on_every_target() {
    let Some(assembler) = or_skip(Assembler::find()) else { return };
    for target in [Target::SM_80, Target::SM_90A, Target::SM_100A, Target::SM_120A] {
        for dtype in [DType::BF16, DType::F16, DType::F32] {
            for dim in [1, 100, 4096, 4100, 32_768, 49_152] {
                for (kernel, budget) in rows(&assembler, dtype, dim, target) {
                    kernel.check(budget);
                }
            }
        }
    }
}

#[test]
fn aligned_rows_move_in_accesses_of_128_bits_only() {
    let (Some(assembler), Some(disassembler)) = (or_skip(Assembler::find()), or_skip(Disassembler::find())) else {
        return;
    };
    for target in [Target::SM_80, Target::SM_89, Target::SM_90A, Target::SM_100A, Target::SM_103A, Target::SM_120A] {
        for (kernel, _) in rows(&assembler, DType::BF16, 4096, target) {
            let code = kernel.code(&disassembler);
            for access in [Access::Load, Access::Store] {
                assert_eq!(code.global_widths(access), [128], "{}: {access:?}", kernel.name);
            }
        }
    }
    // Rows of 4100 elements begin at multiples of 8 bytes: the test can fail.
    for (kernel, _) in rows(&assembler, DType::BF16, 4100, Target::SM_90A) {
        assert_eq!(kernel.code(&disassembler).global_widths(Access::Store), [64], "{}", kernel.name);
    }
}

#[test]
fn the_hopper_gemm_keeps_its_accumulators_in_flight() {
    let Some(assembler) = or_skip(Assembler::find()) else { return };
    let t = |address, shape: &[usize]| tensor(address, DType::BF16, shape);
    let (a, b, mut c) = (t(1 << 40, &[4096, 4096]), t(1 << 41, &[4096, 4096]), t(1 << 42, &[4096, 4096]));
    let kernel = gemm::plan(&a, &b, &c, &Chip::H200).unwrap();
    let host = gemm::GemmArgs { a: &a, b: &b, c: &mut c };
    let gemm = Assembled::new(&assembler, &kernel, &host, Target::SM_90A);
    // Its warnings would say so, if the assembler had serialised the matrix instructions.
    gemm.check(168);
    let Some(disassembler) = or_skip(Disassembler::find()) else { return };
    let code = gemm.code(&disassembler);
    // Four steps of 16 in each stage of 64 columns, in a loop that is not unrolled; the two kinds of TMA copy; stmatrix.
    for (opcode, least) in
        [("HGMMA.64x256x16", 4), ("USETMAXREG", 2), ("UTMALDG.2D", 2), ("UTMASTG.2D", 1), ("STSM", 1)]
    {
        let found = code.count(opcode);
        assert!(found >= least, "{found} of {opcode}");
    }
    assert_eq!(code.global(Access::Load).count() + code.global(Access::Store).count(), 0);
}
