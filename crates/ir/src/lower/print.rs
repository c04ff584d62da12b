//! `print`: the driver's `vprintf`, which takes a format and a block of values as C's variadic calls lay them out.

use super::Lowering;
use super::builder::IntoOperand;
use crate::kernel::{Inst, Value};
use crate::types::Type;
use warpsmith_ptx::{
    Address, Base, Function, FunctionKind, Immediate, Instruction, Linkage, Modifier, Opcode as O, Operand, Parameter,
    RegisterId, StateSpace, Symbol, Type as T, Variable, Word as W,
};

/// The driver's function.
pub(crate) const VPRINTF: &str = "vprintf";

/// What a kernel that prints declares.
#[derive(Default)]
pub(super) struct Prints {
    /// Formats, each once, with their symbols.
    formats: Vec<(String, Symbol)>,
    /// The values' place in local memory, the parameters of a call and its result: variables of the function.
    places: Option<[Symbol; 4]>,
}

impl Lowering<'_> {
    pub(super) fn print(&mut self, inst: &Inst, format: &str) {
        let format = self.format(format);
        let [depot, first, second, result] = self.places();
        let mut end = 0;
        for &v in &inst.args {
            let (register, ty) = self.promoted(v);
            let at = u64::next_multiple_of(end, ty.bytes().into());
            end = at + u64::from(ty.bytes());
            let place = place(Base::Symbol(depot), at as i64);
            self.out.emit(O::St, [Modifier::from(W::Local), ty.into()], [place, register.into_operand()]);
        }
        self.reserve(depot, end);
        for (parameter, space, symbol) in [(first, W::Global, format), (second, W::Local, depot)] {
            let address = self.out.register(Type::U64).into_operand();
            self.out.emit(O::Mov, [T::B64], [address.clone(), Operand::Symbol(symbol, 0)]);
            let generic = self.out.register(Type::U64).into_operand();
            self.out.emit(O::Cvta, [Modifier::from(space), T::U64.into()], [generic.clone(), address]);
            let to = place(Base::Symbol(parameter), 0);
            self.out.emit(O::St, [Modifier::from(W::Param), T::B64.into()], [to, generic]);
        }
        let symbol = |s| Operand::Symbol(s, 0);
        let passed = Operand::Vector([symbol(first), symbol(second)].into());
        let function = symbol(Symbol::Function(0));
        self.out.push(Instruction::new(O::Call, [], [Operand::Vector([symbol(result)].into()), function, passed]));
    }

    pub(super) fn trap(&mut self) {
        self.out.push(Instruction::new(O::Trap, [], []));
    }

    /// A value as C passes it: integers of 32 bits or more, floats as f64.
    fn promoted(&mut self, v: Value) -> (RegisterId, T) {
        let ty = self.out.type_of(v);
        let to = match ty {
            Type::Bool => {
                let (condition, d) = (self.out.in_register(v).into_operand(), self.out.register(Type::U32));
                let [one, zero] = [1, 0].map(|n| Immediate::Integer(n).into_operand());
                self.out.emit(O::Selp, [T::B32], [d.into_operand(), one, zero, condition]);
                return (d, T::B32);
            }
            Type::BF16 => {
                let wide = self.widen_bf16(v);
                let d = self.out.register(Type::F64);
                self.cvt(d, Type::F64, wide, Type::F32);
                return (d, T::F64);
            }
            Type::F16 | Type::F32 => Type::F64,
            Type::I8 | Type::I16 => Type::I32,
            Type::U8 | Type::U16 => Type::U32,
            ty => return (self.out.in_register(v), super::types::register(ty)),
        };
        let (x, d) = (self.out.in_register(v), self.out.register(to));
        self.cvt(d, to, x, ty);
        (d, super::types::register(to))
    }

    /// The variable of the module that holds a format.
    fn format(&mut self, format: &str) -> Symbol {
        if let Some((_, symbol)) = self.out.prints.formats.iter().find(|(f, _)| f == format) {
            return *symbol;
        }
        let init: Vec<Immediate> = format.bytes().chain([0]).map(|b| Immediate::Integer(b.into())).collect();
        let name = self.out.names.unique("format");
        let variable = Variable { init, ..bytes(name, StateSpace::Global, 1, format.len() as u64 + 1) };
        let symbol = Symbol::Global(self.out.globals.len() as u32);
        self.out.globals.push(variable);
        self.out.prints.formats.push((format.into(), symbol));
        symbol
    }

    fn places(&mut self) -> [Symbol; 4] {
        if let Some(places) = self.out.prints.places {
            return places;
        }
        let mut declare = |name: &str, space, ty: T, count| {
            let name = self.out.names.unique(name);
            self.out.function.variables.push(Variable { ty, ..bytes(name, space, ty.bytes().max(4), count) });
            Symbol::Local(self.out.function.variables.len() as u32 - 1)
        };
        let places = [
            // The values' block: it grows with the longest `print`.
            declare("printed", StateSpace::Local, T::B64, 1),
            declare("print_format", StateSpace::Param, T::B64, 1),
            declare("print_values", StateSpace::Param, T::B64, 1),
            declare("print_result", StateSpace::Param, T::B32, 1),
        ];
        self.out.prints.places = Some(places);
        places
    }

    fn reserve(&mut self, depot: Symbol, size: u64) {
        if let Symbol::Local(i) = depot
            && let Some(variable) = self.out.function.variables.get_mut(i as usize)
        {
            variable.count = variable.count.max(Some(size.div_ceil(8)));
        }
    }
}

impl Prints {
    /// The driver's function, where the kernel calls it.
    pub(super) fn function(&self) -> Option<Function> {
        let parameter = |name: &str, ty: T| Parameter {
            name: name.into(),
            ty,
            align: ty.bytes(),
            count: 1,
            array: false,
            pointer: None,
        };
        self.places.is_some().then(|| Function {
            kind: FunctionKind::Device,
            linkage: Linkage::Extern,
            results: vec![parameter("result", T::B32)],
            parameters: vec![parameter("format", T::B64), parameter("values", T::B64)],
            ..Function::entry(VPRINTF)
        })
    }
}

fn place(base: Base, offset: i64) -> Operand {
    Operand::Address(Address { base, offset, coordinates: vec![] })
}

fn bytes(name: String, space: StateSpace, align: u32, count: u64) -> Variable {
    Variable { name, space, linkage: Linkage::Internal, align, ty: T::B8, count: Some(count), init: vec![] }
}
