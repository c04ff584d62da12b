//! Addresses of variables and parameters.

use super::Result;
use crate::DecodeError;
use crate::memory::SHARED_BASE;
use crate::program::{GlobalVariable, Piece};
use rustc_hash::FxHashMap;
use std::ops::Range;
use warpsmith_ptx::{Base, Function, Immediate, Module, Operand, Parameter, StateSpace, Symbol, Type, Variable};

/// Where a named thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    Shared(u32),
    Local(u32),
    Param(u32),
    /// An index into the program's module variables.
    Global(u32),
}

/// The memory that a kernel asks for, with the functions that it calls.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// By function and symbol; what is of the module is the first function's.
    homes: FxHashMap<(usize, Symbol), Home>,
    /// Each function's part of local memory.
    pub frames: Vec<Range<u32>>,
    pub parameters: Vec<Piece>,
    pub parameter_bytes: u32,
    pub shared: Vec<Piece>,
    pub dynamic_base: u32,
    pub local_bytes: u32,
    pub globals: Vec<GlobalVariable>,
}

/// More than any GPU's shared memory; keeps sums of sizes far from overflow.
const LIMIT: u64 = 1 << 28;
/// Local memory of a thread, as on the hardware.
const LOCAL_LIMIT: u64 = 512 << 10;

impl Layout {
    /// The functions' memory, the kernel's last.
    pub(crate) fn of(module: &Module, functions: &[&Function]) -> Result<Layout> {
        let mut layout = Layout { frames: vec![0..0; functions.len()], ..Layout::default() };
        let kernel = functions.len().saturating_sub(1);
        if let Some(function) = functions.last() {
            layout.place_parameters(kernel, function)?;
        }

        // Module variables count only where this kernel uses them: each kernel has its own shared memory.
        let mut used = vec![false; module.variables.len()];
        for operand in functions.iter().flat_map(|f| f.instructions()).flat_map(|i| &i.operands) {
            mark(operand, &mut used);
        }
        let module_variables = module.variables.iter().zip(0..).filter(|(_, n)| used[*n as usize]);
        let mut variables: Vec<((usize, Symbol), &Variable)> =
            module_variables.map(|(v, n)| ((0, Symbol::Global(n)), v)).collect();
        for (place, function) in functions.iter().enumerate() {
            let own = function.variables.iter().zip(0..);
            variables.extend(own.map(|(v, n)| ((place, Symbol::Local(n)), v)));
        }

        let mut shared = SHARED_BASE;
        let mut dynamic_align = 16;
        let mut frame = 0;
        for (symbol, v) in &variables {
            if let (place, Symbol::Local(_)) = *symbol
                && place >= frame
            {
                // The parameters of functions are the first of their part of local memory.
                for place in frame..place + 1 {
                    layout.open_frame(place, kernel, functions)?;
                }
                frame = place + 1;
            }
            let fail = |reason: &str| DecodeError::Variable { name: v.name.clone(), reason: reason.into() };
            let align = v.align.max(v.ty.bytes()).max(1);
            if !align.is_power_of_two() || align > 1 << 16 {
                return Err(fail("its alignment is no power of two"));
            }
            let bytes = v.count.unwrap_or(0).checked_mul(v.ty.bytes().into()).filter(|b| *b < LIMIT);
            let bytes = bytes.ok_or_else(|| fail("it is too large"))? as u32;
            match v.space {
                StateSpace::Shared | StateSpace::SharedCta if v.count.is_none() => {
                    dynamic_align = dynamic_align.max(align);
                }
                StateSpace::Shared | StateSpace::SharedCta => {
                    let offset = shared.next_multiple_of(align);
                    shared = offset + bytes;
                    layout.homes.insert(*symbol, Home::Shared(offset));
                    layout.shared.push(Piece { name: v.name.clone(), offset, bytes });
                }
                // What calls pass lies in the thread's own memory, too.
                StateSpace::Local | StateSpace::Param => {
                    let offset = layout.local_bytes.next_multiple_of(align);
                    layout.local_bytes = offset + bytes;
                    layout.homes.insert(*symbol, Home::Local(offset));
                    layout.frames[symbol.0].end = layout.local_bytes;
                }
                StateSpace::Global | StateSpace::Const => {
                    layout.homes.insert(*symbol, Home::Global(layout.globals.len() as u32));
                    let init = contents(v, bytes as usize).ok_or_else(|| fail("its initial value does not fit it"))?;
                    layout.globals.push(GlobalVariable { name: v.name.clone(), init });
                }
                _ => return Err(fail("variables of its state space are not supported")),
            }
            if u64::from(shared) > LIMIT || u64::from(layout.local_bytes) > LOCAL_LIMIT {
                return Err(fail("too much memory in all"));
            }
        }
        for place in frame..functions.len() {
            layout.open_frame(place, kernel, functions)?;
        }
        // A thread's local memory is a stripe of its warp's; the stripe keeps every alignment.
        layout.local_bytes = layout.local_bytes.next_multiple_of(32);
        layout.dynamic_base = shared.next_multiple_of(dynamic_align);
        for (symbol, v) in &variables {
            if v.count.is_none() && matches!(v.space, StateSpace::Shared | StateSpace::SharedCta) {
                layout.homes.insert(*symbol, Home::Shared(layout.dynamic_base));
            }
        }
        Ok(layout)
    }

    /// Where a symbol of a function is.
    pub(crate) fn home(&self, function: usize, symbol: Symbol) -> Option<Home> {
        let function = if matches!(symbol, Symbol::Global(_)) { 0 } else { function };
        self.homes.get(&(function, symbol)).copied()
    }

    /// Starts a function's part of local memory with its parameters and results.
    fn open_frame(&mut self, place: usize, kernel: usize, functions: &[&Function]) -> Result<()> {
        let start = self.local_bytes.next_multiple_of(16);
        if place != kernel {
            self.local_bytes = start;
            let function = functions[place];
            for (p, n) in function.parameters.iter().chain(&function.results).zip(0..) {
                let (align, bytes) = extent(p)?;
                let offset = self.local_bytes.next_multiple_of(align);
                self.local_bytes = offset + bytes;
                self.homes.insert((place, Symbol::Parameter(n)), Home::Local(offset));
            }
        }
        self.frames[place] = start..self.local_bytes.max(start);
        Ok(())
    }

    /// Each parameter at its natural alignment, in order.
    fn place_parameters(&mut self, kernel: usize, function: &Function) -> Result<()> {
        for (p, n) in function.parameters.iter().zip(0..) {
            let (align, bytes) = extent(p)?;
            if u64::from(self.parameter_bytes) > LIMIT {
                return Err(DecodeError::Variable { name: p.name.clone(), reason: "it can not be placed".into() });
            }
            let offset = self.parameter_bytes.next_multiple_of(align);
            self.parameter_bytes = offset + bytes;
            self.homes.insert((kernel, Symbol::Parameter(n)), Home::Param(offset));
            self.parameters.push(Piece { name: p.name.clone(), offset, bytes });
        }
        Ok(())
    }
}

/// Alignment and size of a parameter.
fn extent(p: &Parameter) -> Result<(u32, u32)> {
    let fail = |reason: &str| DecodeError::Variable { name: p.name.clone(), reason: reason.into() };
    let natural = p.ty.bytes().max(1);
    let align = p.align.max(natural);
    let bytes = p.count.max(1).checked_mul(natural.into()).filter(|b| *b < LIMIT);
    let bytes = bytes.ok_or_else(|| fail("it is too large"))? as u32;
    if !align.is_power_of_two() || align > 1 << 16 {
        return Err(fail("it can not be placed"));
    }
    Ok((align, bytes))
}

/// Marks the module variables that an operand names.
fn mark(operand: &Operand, used: &mut [bool]) {
    let mut symbol = |s: &Symbol| {
        if let Symbol::Global(n) = s
            && let Some(flag) = used.get_mut(*n as usize)
        {
            *flag = true;
        }
    };
    match operand {
        Operand::Symbol(s, _) => symbol(s),
        Operand::Address(a) => {
            if let Base::Symbol(s) = &a.base {
                symbol(s);
            }
            a.coordinates.iter().for_each(|o| mark(o, used));
        }
        Operand::Vector(elements) => elements.iter().for_each(|o| mark(o, used)),
        Operand::Pair(a, b) => {
            mark(a, used);
            mark(b, used);
        }
        _ => {}
    }
}

/// The initial bytes of a module variable; what is not given is zero.
fn contents(v: &Variable, bytes: usize) -> Option<Vec<u8>> {
    let mut init = vec![0; bytes];
    let width = v.ty.bytes() as usize;
    if v.init.len() * width > bytes {
        return None;
    }
    for (element, slot) in v.init.iter().zip(init.chunks_exact_mut(width.max(1))) {
        let value = match (*element, v.ty) {
            (Immediate::F32(bits), Type::F64) => f64::from(f32::from_bits(bits)).to_bits(),
            (Immediate::F64(bits), Type::F32) => (f64::from_bits(bits) as f32).to_bits().into(),
            (Immediate::F32(bits), _) => bits.into(),
            (Immediate::F64(bits) | Immediate::Unsigned(bits), _) => bits,
            (Immediate::Integer(i), _) => i as u64,
        };
        let bytes = value.to_le_bytes();
        let n = width.min(8);
        slot[..n].copy_from_slice(&bytes[..n]);
    }
    Some(init)
}
