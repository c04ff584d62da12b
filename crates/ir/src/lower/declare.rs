//! What stands before the body: parameters, shared memory, directives.

use super::{LowerError, Lowering, types};
use crate::kernel::{Param, SharedVariable};
use warpsmith_ptx::{Linkage, Parameter, StateSpace, Symbol, Type, Variable};
use warpsmith_types::{Location, Target};

/// A tensor map's size and alignment in bytes, as the driver makes them.
const TENSOR_MAP: (u64, u32) = (128, 64);

impl Lowering<'_> {
    /// Declares all.
    pub(super) fn declare(&mut self) -> Result<(), LowerError> {
        let kernel = self.kernel;
        if kernel.cluster.is_some() && !self.target.has(Target::SM_90) {
            let (needs, target) = (Target::SM_90, self.target);
            return Err(LowerError::Unsupported { what: "a cluster".into(), needs, target, at: None::<Location> });
        }
        let names = &mut self.out.names;
        let function = &mut self.out.function;
        function.directives.reqntid = kernel.block;
        function.directives.reqnctapercluster = kernel.cluster;
        function.directives.maxnreg = kernel.max_registers;
        function.directives.minnctapersm = kernel.min_blocks;
        function.parameters.extend(kernel.params.iter().map(|p| parameter(p, names.unique(&p.name))));
        if kernel.dynamic_shared() > 0 {
            self.out.shared = kernel.shared_layout().0.iter().map(|&at| (Symbol::Global(0), i64::from(at))).collect();
            // One variable, so that the kernel and not the assembler lays it out.
            let align = kernel.shared.iter().map(|s| s.align).max().unwrap_or(1);
            self.out.globals.push(variable(names.unique("shared"), Linkage::Extern, align.max(16), None));
            return Ok(());
        }
        self.out.shared = (0..kernel.shared.len()).map(|i| (Symbol::Local(i as u32), 0)).collect();
        let static_variable =
            |s: &SharedVariable| variable(names.unique(&s.name), Linkage::Internal, s.align, Some(u64::from(s.bytes)));
        function.variables.extend(kernel.shared.iter().map(static_variable));
        Ok(())
    }
}

fn parameter(p: &Param, name: String) -> Parameter {
    if p.tensor_map {
        let (count, align) = TENSOR_MAP;
        return Parameter { name, ty: Type::B8, align, count, array: true, pointer: None };
    }
    Parameter {
        name,
        ty: types::parameter(p.ty),
        align: p.ty.bytes(),
        count: 1,
        array: false,
        pointer: p.pointer.as_ref().map(|p| (StateSpace::Global, p.align)),
    }
}

fn variable(name: String, linkage: Linkage, align: u32, count: Option<u64>) -> Variable {
    Variable { name, space: StateSpace::Shared, linkage, align, ty: Type::B8, count, init: vec![] }
}
