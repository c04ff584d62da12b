//! What the tests share: a system with typed buffers, and launches from PTX text.

#![allow(dead_code, unreachable_pub)]

pub mod gemm;

use warpsmith_emulator::{DevicePointer, Finding, Launch, Manifest, Options, Outcome, Program, System};
use warpsmith_types::Chip;

/// A random sequence that is the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 32) as u32
    }

    pub fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }

    /// In [-1, 1).
    pub fn float(&mut self) -> f32 {
        self.next() as i32 as f32 / (1u64 << 31) as f32
    }
}

pub fn system() -> System {
    System::new(Chip::H200)
}

pub fn program(ptx: &str, entry: &str) -> Program {
    let module = warpsmith_ptx::parse(ptx).unwrap_or_else(|e| panic!("{e}\n{ptx}"));
    Program::decode(&module, entry).unwrap_or_else(|e| panic!("{e}\n{ptx}"))
}

/// A kernel `k` with the usual registers, from its parameters, declarations and body.
pub fn kernel(parameters: &str, declarations: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n{declarations}\n.visible .entry k({parameters})\n{{\n\
         .reg .pred %p<16>;\n.reg .b16 %h<32>;\n.reg .b32 %r<64>;\n.reg .f32 %f<64>;\n.reg .b64 %rd<64>;\n\
         .reg .f64 %fd<16>;\n{body}\nret;\n}}\n"
    )
}

pub trait Buffers {
    fn upload<const N: usize, T>(&mut self, name: &str, values: &[T], bytes: impl Fn(&T) -> [u8; N]) -> DevicePointer;
    fn u32s(&mut self, name: &str, values: &[u32]) -> DevicePointer;
    fn f32s(&mut self, name: &str, values: &[f32]) -> DevicePointer;
    fn read_u32s(&self, at: DevicePointer, count: usize) -> Vec<u32>;
    fn read_f32s(&self, at: DevicePointer, count: usize) -> Vec<f32>;
}

impl Buffers for System {
    fn upload<const N: usize, T>(&mut self, name: &str, values: &[T], bytes: impl Fn(&T) -> [u8; N]) -> DevicePointer {
        let pointer = self.allocate(values.len() * N, name).unwrap();
        self.write(pointer, &values.iter().flat_map(bytes).collect::<Vec<u8>>()).unwrap();
        pointer
    }
    fn u32s(&mut self, name: &str, values: &[u32]) -> DevicePointer {
        self.upload(name, values, |x| x.to_le_bytes())
    }
    fn f32s(&mut self, name: &str, values: &[f32]) -> DevicePointer {
        self.upload(name, values, |x| x.to_le_bytes())
    }
    fn read_u32s(&self, at: DevicePointer, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.read(at, &mut bytes).unwrap();
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }
    fn read_f32s(&self, at: DevicePointer, count: usize) -> Vec<f32> {
        self.read_u32s(at, count).into_iter().map(f32::from_bits).collect()
    }
}

/// A kernel's parameter.
pub enum Arg {
    P(DevicePointer),
    U(u32),
    I(i32),
    F(f32),
}

pub fn launch(grid: [u32; 3], block: [u32; 3], args: &[Arg]) -> Launch {
    let mut launch = Launch { grid, block, ..Launch::new(1, 1) };
    for arg in args {
        match arg {
            Arg::P(p) => launch.push(&p.0.to_le_bytes()),
            Arg::U(x) => launch.push(&x.to_le_bytes()),
            Arg::I(x) => launch.push(&x.to_le_bytes()),
            Arg::F(x) => launch.push(&x.to_le_bytes()),
        };
    }
    launch
}

pub fn run(system: &mut System, program: &Program, launch: &Launch) -> Outcome {
    run_with(system, program, launch, None, &Options::default())
}

pub fn run_with(
    system: &mut System,
    program: &Program,
    launch: &Launch,
    manifest: Option<&Manifest>,
    options: &Options,
) -> Outcome {
    system.launch(program, launch, manifest, options).unwrap()
}

pub fn assert_clean(outcome: &Outcome) {
    let text: Vec<String> = outcome.findings.iter().map(|f| f.diagnostic().render()).collect();
    assert!(outcome.is_clean() && !outcome.stopped, "{}", text.join("\n"));
}

/// The one finding of a faulty kernel.
pub fn only(outcome: &Outcome) -> &Finding {
    let text: Vec<String> = outcome.findings.iter().map(|f| f.diagnostic().render()).collect();
    assert_eq!(outcome.findings.len(), 1, "{}", text.join("\n"));
    &outcome.findings[0]
}
