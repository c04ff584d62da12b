//! `call`: of functions of the module, and of the two that the driver has, `vprintf` and `__assertfail`.

use super::layout::Home;
use super::operands::File;
use super::{Decoder, Result};
use crate::program::{Action, Argument, CallSite, Callee, Passed};
use warpsmith_ptx::{
    Function, FunctionKind, Instruction, Module, Opcode, Operand, Parameter, StateSpace, Symbol, Type,
};

/// What the driver defines.
fn built_in(name: &str) -> Option<Callee> {
    match name {
        "vprintf" => Some(Callee::Print),
        "__assertfail" => Some(Callee::Assert),
        _ => None,
    }
}

fn callees<'m>(module: &'m Module, function: &'m Function) -> impl Iterator<Item = u32> + 'm {
    let calls = function.instructions().filter(|i| i.opcode == Opcode::Call);
    calls.flat_map(|i| &i.operands).filter_map(|o| match o {
        Operand::Symbol(Symbol::Function(n), _) => module.functions.get(*n as usize).map(|_| *n),
        _ => None,
    })
}

/// The functions that a kernel may come to, each after those that it calls; the kernel is the last.
pub(super) fn reachable<'m>(module: &'m Module, kernel: &'m Function) -> Vec<(u32, &'m Function)> {
    let (mut seen, mut order) = (vec![false; module.functions.len()], vec![]);
    // A stack of functions with the calls that were not yet followed.
    let mut stack = vec![(u32::MAX, kernel, callees(module, kernel).collect::<Vec<_>>())];
    while let Some((number, function, calls)) = stack.last_mut() {
        let Some(next) = calls.pop() else {
            order.push((*number, *function));
            stack.pop();
            continue;
        };
        let callee = &module.functions[next as usize];
        let decoded = callee.kind == FunctionKind::Device && !callee.body.is_empty();
        if decoded && !std::mem::replace(&mut seen[next as usize], true) {
            stack.push((next, callee, callees(module, callee).collect()));
        }
    }
    order
}

impl Decoder<'_> {
    pub(super) fn call(&mut self, i: &Instruction) -> Result<()> {
        self.only(i, &[warpsmith_ptx::Word::Uni])?;
        let named = i.operands.iter().position(|o| matches!(o, Operand::Symbol(Symbol::Function(_), _)));
        let Some((at, number)) = named.and_then(|at| match i.operands[at] {
            Operand::Symbol(Symbol::Function(n), _) => Some((at, n)),
            _ => None,
        }) else {
            return Err(self.unsupported(i, "a call of what a register says"));
        };
        let Some(function) = self.module.functions.get(number as usize) else {
            return Err(self.malformed(i, "an unknown function"));
        };
        let place = self.functions.iter().position(|(n, _)| *n == number);
        let callee = match (place, built_in(&function.name)) {
            (Some(place), _) => {
                let recursive = self.reaches(number, number);
                let locals = function.variables.iter().any(|v| v.space == StateSpace::Local);
                if recursive && locals {
                    return Err(self.unsupported(i, "a function with local variables that may call itself"));
                }
                Callee::Function { place: place as u32, recursive }
            }
            (None, Some(callee)) => callee,
            (None, None) => return Err(self.unsupported(i, &format!("`{}` is not defined", function.name))),
        };
        let list = |operand: Option<&Operand>| match operand {
            Some(Operand::Vector(parts)) => parts.to_vec(),
            _ => vec![],
        };
        let (results, arguments) = match at {
            0 => (vec![], list(i.operands.get(1))),
            _ => (list(i.operands.first()), list(i.operands.get(at + 1))),
        };
        if (results.len(), arguments.len()) != (function.results.len(), function.parameters.len()) {
            return Err(self.malformed(i, format!("`{}` has other parameters", function.name)));
        }
        let mut site = CallSite { callee, arguments: vec![], results: vec![] };
        for ((operand, parameter), n) in arguments.iter().zip(&function.parameters).zip(0..) {
            let argument = self.passed(i, operand, parameter, self.parameter_place(place, n), false)?;
            site.arguments.push(argument);
        }
        let first = function.parameters.len() as u32;
        for ((operand, parameter), n) in results.iter().zip(&function.results).zip(first..) {
            let result = self.passed(i, operand, parameter, self.parameter_place(place, n), true)?;
            site.results.push(result);
        }
        let index = self.calls.len() as u32;
        self.calls.push(site);
        self.emit(Action::Call { target: place.map_or(u32::MAX, |p| p as u32), site: index });
        Ok(())
    }

    /// Whether one function may come to call another.
    fn reaches(&self, from: u32, to: u32) -> bool {
        let (mut seen, mut work) = (vec![false; self.module.functions.len()], vec![from]);
        while let Some(n) = work.pop() {
            let Some(function) = self.module.functions.get(n as usize) else { continue };
            for next in callees(self.module, function) {
                if next == to {
                    return true;
                }
                if !std::mem::replace(&mut seen[next as usize], true) {
                    work.push(next);
                }
            }
        }
        false
    }

    /// Where a parameter or result lies, in the function's part of local memory.
    fn parameter_place(&self, function: Option<usize>, n: u32) -> u32 {
        match function.and_then(|f| self.layout.home(f, Symbol::Parameter(n))) {
            Some(Home::Local(offset)) => offset,
            _ => 0,
        }
    }

    fn passed(&mut self, i: &Instruction, operand: &Operand, p: &Parameter, at: u32, result: bool) -> Result<Argument> {
        let bytes = p.count.max(1) as u32 * p.ty.bytes();
        if let Operand::Symbol(symbol, 0) = operand {
            return match self.layout.home(self.current, *symbol) {
                Some(Home::Local(offset)) => Ok(Argument { passed: Passed::Local(offset), at, bytes }),
                _ => Err(self.unsupported(i, "an argument that is no `.param` variable")),
            };
        }
        let ty = match bytes {
            1 | 2 | 4 => Type::B32,
            8 => Type::B64,
            _ => return Err(self.malformed(i, format!("a parameter of {bytes} bytes in a register"))),
        };
        let plane = if result { self.write(i, operand, ty)? } else { self.read(i, operand, ty)? };
        let passed = if File::of(ty) == Some(File::R64) { Passed::R64(plane) } else { Passed::R32(plane) };
        Ok(Argument { passed, at, bytes })
    }
}
