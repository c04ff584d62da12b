//! The instructions of the suite: what each is called, what it reads, what it gives, and kernels that run many of them.
//!
//! A [`Case`] is one instruction with seeded operands for [`SETS`] threads. A [`Batch`] is a kernel of some of them. The
//! operands come from the instruction's text alone, so that only results are stored as answers, and a new case leaves
//! the answers of the others as they are.

#![allow(dead_code, unreachable_pub, reason = "shared by the emulator's test and the one that asks a card")]

pub mod answers;
mod matrix;
mod memory;
mod registers;
mod values;
mod warp;
mod wgmma;

pub use values::Values;

use std::collections::HashSet;
use std::fmt::Write;
use warpsmith_ptx::Type;
use warpsmith_types::PtxVersion;

/// Operand sets of a case, a thread each.
pub const SETS: usize = 256;
/// Threads of a block: a warpgroup.
pub const BLOCK: usize = 128;
/// Bytes of global scratch memory for a thread.
pub const SCRATCH: usize = 16;
/// Instructions in a kernel.
const PER_BATCH: usize = 48;

/// How near the emulator and the card must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    /// Every bit.
    Exact,
    /// As floats of that type (packed ones by halves), |x − y| ≤ absolute + relative · |y|.
    Near { ty: Type, absolute: f64, relative: f64 },
}

/// A register that is loaded before the instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// The register's type.
    pub register: Type,
    /// What it may hold.
    pub values: Values,
}

/// One instruction, its operands and its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The file of answers.
    pub group: &'static str,
    /// The instruction as it is written; what the operands are seeded by.
    pub name: String,
    /// The `.version` that has it.
    pub version: PtxVersion,
    /// Registers `%a0`, `%a1`, …
    pub inputs: Vec<Input>,
    /// Types of registers `%d0`, `%d1`, …
    pub results: Vec<Type>,
    /// Declarations and instructions.
    pub body: String,
    /// How near results must be.
    pub check: Check,
}

impl Case {
    /// Bytes of the answer of one case: predicates as bits, the others at their width.
    pub fn answer_bytes(&self) -> usize {
        self.results.iter().map(|ty| SETS * ty.bits() as usize / 8).sum()
    }

    /// Operands of a result's element, in words for people.
    pub fn operands_of(&self, set: usize) -> String {
        let all = self.operands();
        all.iter().map(|column| format!("{:#x}", column[set])).collect::<Vec<_>>().join(", ")
    }

    /// Every operand's values, one for each set.
    pub fn operands(&self) -> Vec<Vec<u128>> {
        let mut random = values::Random::seeded(&self.name);
        let mut columns: Vec<Vec<u128>> = vec![];
        for input in &self.inputs {
            let column = (0..SETS).map(|set| input.values.pick(&mut random, set, &columns)).collect();
            columns.push(column);
        }
        columns
    }
}

/// Every case, sorted by group; of instructions that two rows have, the first.
pub fn all() -> Vec<Case> {
    let mut cases = registers::cases();
    cases.extend(warp::cases());
    cases.extend(memory::cases());
    cases.extend(matrix::cases());
    cases.extend(wgmma::cases());
    let mut seen = HashSet::new();
    cases.retain(|case| seen.insert(case.name.clone()));
    cases.sort_by_key(|case| case.group);
    cases
}

/// Cases that run in one kernel.
pub struct Batch<'a> {
    /// The cases.
    pub cases: &'a [Case],
}

/// How many bytes a register takes in a buffer.
fn slot(ty: Type) -> usize {
    (ty.bits() as usize / 8).max(4)
}

/// Kernels for all cases, none with cases of two groups.
pub fn batches(cases: &[Case]) -> Vec<Batch<'_>> {
    let groups = cases.chunk_by(|a, b| a.group == b.group && a.version == b.version);
    groups.flat_map(|group| group.chunks(PER_BATCH)).map(|cases| Batch { cases }).collect()
}

impl Batch<'_> {
    /// The kernel `suite(in, out, scratch)`, for [`BLOCK`] threads in each of [`SETS`] / [`BLOCK`] blocks.
    pub fn ptx(&self) -> String {
        let version = self.cases.iter().map(|c| c.version).max().unwrap_or(PtxVersion::new(8, 0));
        let mut text = format!(
            ".version {version}\n.target sm_90a\n.address_size 64\n\
             .visible .entry suite(.param .u64 in, .param .u64 out, .param .u64 scratch)\n{{\n\
             .shared .align 1024 .b8 tile[{}];\n\
             .reg .b32 %thread, %block, %index, %tile, %mine;\n\
             .reg .b64 %in, %out, %scratch, %in4, %in8, %in16, %out4, %out8, %out16;\n\
             ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nld.param.u64 %scratch, [scratch];\n\
             mov.u32 %thread, %tid.x;\nmov.u32 %block, %ctaid.x;\nmad.lo.u32 %index, %block, {BLOCK}, %thread;\n\
             mov.u32 %tile, tile;\nmad.lo.u32 %mine, %thread, 16, %tile;\n\
             mad.wide.u32 %scratch, %index, {SCRATCH}, %scratch;\n",
            wgmma::TILE
        );
        for pointer in ["in", "out"] {
            for stride in [4, 8, 16] {
                writeln!(text, "mad.wide.u32 %{pointer}{stride}, %index, {stride}, %{pointer};").unwrap();
            }
        }
        let (mut from, mut to) = (0, 0);
        for case in self.cases {
            text += "{\n";
            for (i, input) in case.inputs.iter().enumerate() {
                let (ty, stride) = (input.register, slot(input.register));
                writeln!(text, ".reg .{ty} %a{i};").unwrap();
                match ty {
                    Type::Pred => writeln!(
                        text,
                        ".reg .b32 %w{i};\nld.global.u32 %w{i}, [%in4+{from}];\nsetp.ne.u32 %a{i}, %w{i}, 0;"
                    ),
                    Type::B128 => writeln!(
                        text,
                        ".reg .b64 %w{i}, %v{i};\nld.global.v2.b64 {{%w{i}, %v{i}}}, [%in16+{from}];\n\
                         mov.b128 %a{i}, {{%w{i}, %v{i}}};"
                    ),
                    _ => writeln!(text, "ld.global.b{} %a{i}, [%in{stride}+{from}];", ty.bits()),
                }
                .unwrap();
                from += stride * SETS;
            }
            for (i, ty) in case.results.iter().enumerate() {
                writeln!(text, ".reg .{ty} %d{i};").unwrap();
            }
            text += &case.body;
            text.push('\n');
            for (i, ty) in case.results.iter().enumerate() {
                let stride = slot(*ty);
                match ty {
                    Type::Pred => writeln!(
                        text,
                        ".reg .b32 %r{i};\nselp.u32 %r{i}, 1, 0, %d{i};\nst.global.u32 [%out4+{to}], %r{i};"
                    ),
                    Type::B128 => writeln!(
                        text,
                        ".reg .b64 %r{i}, %s{i};\nmov.b128 {{%r{i}, %s{i}}}, %d{i};\n\
                         st.global.v2.b64 [%out16+{to}], {{%r{i}, %s{i}}};"
                    ),
                    _ => writeln!(text, "st.global.b{} [%out{stride}+{to}], %d{i};", ty.bits()),
                }
                .unwrap();
                to += stride * SETS;
            }
            text += "}\n";
        }
        text + "ret;\n}\n"
    }

    /// The bytes of `in`.
    pub fn input(&self) -> Vec<u8> {
        let mut bytes = vec![];
        for case in self.cases {
            for (input, column) in case.inputs.iter().zip(case.operands()) {
                for value in column {
                    bytes.extend_from_slice(&value.to_le_bytes()[..slot(input.register)]);
                }
            }
        }
        // A buffer has something in it.
        bytes.resize(bytes.len().max(16), 0);
        bytes
    }

    /// How many bytes `out` has; all of them start as 0.
    pub fn output_bytes(&self) -> usize {
        self.cases.iter().flat_map(|c| &c.results).map(|ty| slot(*ty) * SETS).sum()
    }

    /// The answer of each case, from the bytes of `out`.
    pub fn answers(&self, out: &[u8]) -> Vec<Vec<u8>> {
        let mut rest = out;
        let mut all = vec![];
        for case in self.cases {
            let mut answer = Vec::with_capacity(case.answer_bytes());
            for ty in &case.results {
                let stride = slot(*ty);
                let (column, after) = rest.split_at(stride * SETS);
                rest = after;
                match ty {
                    Type::Pred => answer.extend(column.chunks(4 * 8).map(|eight| {
                        eight.chunks(4).enumerate().fold(0u8, |bits, (i, word)| bits | (word[0] & 1) << i)
                    })),
                    _ => answer.extend(column.chunks(stride).flat_map(|value| &value[..ty.bits() as usize / 8])),
                }
            }
            all.push(answer);
        }
        all
    }
}
