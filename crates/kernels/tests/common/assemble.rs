//! What `ptxas` makes of a test's kernels. Skipped, and said so, where there is no `ptxas`.

use warpsmith_dsl::{Arguments, DType, DeviceId, Kernel, Params, Target, TensorArg, compile};
use warpsmith_runtime::report::{Assembler, CompileReport, Cubin, Disassembler, MachineCode, Spills, ToolError};

/// An argument that is never read: only what it says of itself counts.
pub fn tensor(address: u64, dtype: DType, shape: &[usize]) -> TensorArg {
    TensorArg::new(address, DeviceId(0), dtype, shape)
}

/// The tool, or a printed skip.
pub fn or_skip<T>(found: Result<T, ToolError>) -> Option<T> {
    match found {
        Ok(tool) => Some(tool),
        Err(e @ ToolError::Missing { .. }) => {
            println!("skipped: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// A kernel's PTX, its machine code's file and the assembler's report.
pub struct Assembled {
    pub name: String,
    pub ptx: String,
    pub cubin: Cubin,
    pub report: CompileReport,
}

impl Assembled {
    /// Compiles a kernel for arguments, and assembles it.
    pub fn new<K: Kernel>(
        assembler: &Assembler,
        kernel: &K,
        host: &<K::Args as Params>::Host<'_>,
        target: Target,
    ) -> Assembled {
        let arguments = Arguments::of::<K::Args>(host);
        let compiled = compile(kernel, &arguments, &kernel.launch(host), target).unwrap();
        let ptx = compiled.module.to_string();
        let cubin = assembler.assemble(&ptx, target).unwrap_or_else(|e| panic!("{}: {e}", compiled.entry));
        let report = cubin.report(&compiled.entry);
        Assembled { name: format!("{} for {target}", compiled.entry), ptx, cubin, report }
    }

    /// No spills, no local memory, no warnings, registers within a budget.
    pub fn check(&self, budget: u32) {
        check(&self.name, &self.report, budget);
    }

    /// Whether a copy into shared memory adds a uniform register to its address: with a cache policy, assemblers of CUDA 12.9 to
    /// 13.3 then encode another one than they mean.
    pub fn copies_by_uniform_registers(&self, disassembler: &Disassembler) -> bool {
        let code = self.code(disassembler);
        code.instructions.iter().any(|i| i.is("LDGSTS") && i.operands.contains("+UR"))
    }

    /// The machine code of its one kernel, which touches no local memory.
    pub fn code(&self, disassembler: &Disassembler) -> MachineCode {
        let mut all = disassembler.disassemble(&self.cubin).unwrap();
        assert_eq!(all.len(), 1, "{}", self.name);
        let code = all.remove(0);
        assert!(code.count("EXIT") > 0 && !code.uses_local_memory(), "{}", self.name);
        code
    }
}

/// The PTX, and what the assembler says of it.
pub fn assemble<K: Kernel>(
    kernel: &K,
    host: &<K::Args as Params>::Host<'_>,
    target: Target,
) -> Option<(String, CompileReport)> {
    let assembled = Assembled::new(&or_skip(Assembler::find())?, kernel, host, target);
    Some((assembled.ptx, assembled.report))
}

/// No spills, no local memory, no warnings, registers within a budget.
pub fn check(name: &str, report: &CompileReport, budget: u32) {
    assert_eq!((report.spills, report.local), (Some(Spills::default()), Some(0)), "{name}: {report:?}");
    assert_eq!(report.warnings, [], "{name}");
    let registers = report.registers.unwrap();
    assert!((1..=budget).contains(&registers), "{name}: {registers} registers, budget {budget}");
}
