//! Every computation of registers that the table has, with every combination of its modifiers.

use super::{Case, Check, Input, Values};
use warpsmith_ptx::table::{Convergence, Effect, Form, OperandForm, Presence, Role, Shape, ValueForm, forms};
use warpsmith_ptx::{Instruction, Modifier, Opcode, Type, Word};
use warpsmith_types::{PtxVersion, Target};

/// The chip that gives the answers.
pub const TARGET: Target = Target { number: 90, specific: true };

/// The oldest version that has the target and its plain instructions.
const VERSION: PtxVersion = PtxVersion::new(8, 0);

pub fn cases() -> Vec<Case> {
    let mut all = vec![];
    for form in forms() {
        if form.row.effect != Effect::None || form.row.convergence != Convergence::Any || elsewhere(form.opcode) {
            continue;
        }
        for modifiers in combinations(form) {
            let probe = Instruction::new(form.opcode, modifiers, []);
            // `fma.oob` is refused by the emulator.
            if !form.is_on(TARGET, &probe) || probe.has(Word::Oob) {
                continue;
            }
            for table in tables(&probe) {
                let mut case = Writer::new(form, &probe, *table).write();
                case.group = group(&probe);
                case.check = check(&probe);
                all.push(case);
            }
        }
    }
    all
}

/// What is about addresses, policies and states without a format.
fn elsewhere(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(opcode, Cvta | Isspacep | Mapa | Getctarank | Createpolicy | Mbarrier)
}

/// Every combination of modifiers that the form takes.
pub fn combinations(form: &Form) -> Vec<Vec<Modifier>> {
    let mut all: Vec<Vec<Modifier>> = vec![vec![]];
    for slot in &form.slots {
        let with = |m: Modifier| all.iter().map(move |some| some.iter().copied().chain([m]).collect());
        let mut more: Vec<Vec<Modifier>> = if slot.optional { all.clone() } else { vec![] };
        for choice in &slot.choices {
            more.extend(with(*choice));
        }
        all = more;
    }
    all.retain(|m| form.takes_modifiers(m));
    all
}

/// The literals to try.
fn tables(i: &Instruction) -> &'static [u8] {
    if i.opcode == Opcode::Lop3 { &[0x96, 0xe8, 0x1b, 0x40, 0xff, 0x00] } else { &[0] }
}

fn group(i: &Instruction) -> &'static str {
    use Opcode::*;
    match i.opcode {
        Cvt => "convert",
        Set => "set",
        Setp | Selp | Slct => "compare",
        _ if i.opcode.name().starts_with('v') => "video",
        _ => match i.types().next() {
            Some(Type::F16 | Type::F16x2 | Type::BF16 | Type::BF16x2) => "half",
            Some(Type::F32) => "float",
            Some(Type::F64) => "double",
            _ => "integer",
        },
    }
}

/// The type of a register for values of a type.
pub fn stored(ty: Type, value: &ValueForm) -> Type {
    match ty {
        Type::Pred | Type::F32 | Type::F64 => ty,
        _ if ty.bits() == 8 && value.wider => Type::B32,
        _ => match ty.bits() {
            8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            _ => Type::B128,
        },
    }
}

/// Writes a case for an instruction.
pub struct Writer<'a> {
    form: &'a Form,
    instruction: &'a Instruction,
    table: u8,
    inputs: Vec<Input>,
    results: Vec<Type>,
}

impl<'a> Writer<'a> {
    pub fn new(form: &'a Form, instruction: &'a Instruction, table: u8) -> Writer<'a> {
        Writer { form, instruction, table, inputs: vec![], results: vec![] }
    }

    pub fn write(mut self) -> Case {
        let there = |o: &&OperandForm| o.presence == Presence::Always;
        let operands: Vec<String> = self.form.operands.iter().filter(there).map(|o| self.operand(o)).collect();
        let name = format!("{} {}", self.instruction.name(), operands.join(", "));
        let body = self.with_carries(format!("{name};"));
        Case {
            group: "",
            name,
            version: self.form.floor(self.instruction).0.max(VERSION),
            inputs: self.inputs,
            results: self.results,
            body,
            check: Check::Exact,
        }
    }

    fn operand(&mut self, form: &OperandForm) -> String {
        match &form.shape {
            Shape::Value(value) => self.value(form, value),
            Shape::Pair { first, second, .. } => {
                format!("{}|{}", self.value(form, first), self.value(form, second))
            }
            _ => unreachable!("computations have values alone: {}", self.form.row.syntax),
        }
    }

    fn value(&mut self, form: &OperandForm, value: &ValueForm) -> String {
        if value.literal {
            return self.table.to_string();
        }
        let ty = value.type_in(self.instruction).expect("a type");
        match value.count_in(self.instruction) {
            Some(n) => {
                let parts: Vec<String> = (0..n).map(|_| self.register(form, value, ty)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            None => self.register(form, value, ty),
        }
    }

    fn register(&mut self, form: &OperandForm, value: &ValueForm, ty: Type) -> String {
        let register = stored(ty, value);
        if form.role == Role::Result {
            self.results.push(register);
            return format!("%d{}", self.results.len() - 1);
        }
        // Where a register is wider than the type, the rest of it is not 0.
        let of = if register.bits() > ty.bits() { register } else { ty };
        self.inputs.push(Input { register, values: self.values(form.name, of) });
        format!("%a{}", self.inputs.len() - 1)
    }

    fn values(&self, name: &str, ty: Type) -> Values {
        use Opcode::*;
        match (self.instruction.opcode, name) {
            (Shl | Shr | Szext, "b") | (Shf, "c") | (Bfe, "b" | "c") | (Bfi, "c" | "e") | (Bmsk, _) => Values::Amount,
            (Fns, "base") => Values::Below(32),
            (Fns, "offset") => Values::Within(20),
            (Sin | Cos, _) => Values::Angle,
            _ => Values::Of(ty),
        }
    }

    /// What sets the carry before, and tells it after.
    fn with_carries(&mut self, instruction: String) -> String {
        use Opcode::*;
        let (opcode, mut body) = (self.instruction.opcode, String::new());
        let name = if matches!(opcode, Sub | Subc) { "sub" } else { "add" };
        if matches!(opcode, Addc | Subc | Madc) {
            let n = self.inputs.len();
            self.inputs.extend([Input { register: Type::B32, values: Values::Of(Type::U32) }; 2]);
            body += &format!(".reg .b32 %lost;\n{name}.cc.u32 %lost, %a{n}, %a{};\n", n + 1);
        }
        body += &instruction;
        if self.instruction.has(Word::Cc) {
            body += &format!("\n{name}c.u32 %d{}, 0, 0;", self.results.len());
            self.results.push(Type::B32);
        }
        body
    }
}

/// The manual's bounds of the approximate functions, and half a unit of the result, which the emulator rounds to.
fn check(i: &Instruction) -> Check {
    use Opcode::*;
    if !i.has(Word::Approx) && !i.has(Word::Full) {
        return Check::Exact;
    }
    let ty = i.types().next().unwrap_or(Type::F32);
    let (absolute, relative) = match (i.opcode, ty) {
        (Div, _) => (2f64.powi(-149), 2.5 * 2f64.powi(-23)),
        (Rsqrt, Type::F64) if !i.has(Word::Ftz) => (0.0, 2f64.powi(-51)),
        (Rcp, Type::F64) | (Rsqrt, Type::F64) => (0.0, 2f64.powi(-20)),
        (Rcp, _) => (2f64.powi(-149), 1.5 * 2f64.powi(-23)),
        (Sqrt | Rsqrt, _) => (0.0, 2f64.powf(-22.4)),
        (Sin | Cos, _) => (2f64.powf(-14.7), 0.0),
        (Lg2, _) => (2f64.powi(-22), 2f64.powi(-22)),
        (Ex2, Type::F32) => (2f64.powi(-149), 1.5 * 2f64.powi(-22)),
        (Ex2, Type::F16 | Type::F16x2) => (2f64.powi(-24), 2f64.powf(-9.5)),
        (Ex2, _) => (0.0, 2f64.powf(-6.5)),
        (Tanh, Type::F32) => (0.0, 2f64.powf(-10.9)),
        (Tanh, Type::F16 | Type::F16x2) => (2f64.powf(-10.5), 2f64.powi(-11)),
        _ => (2f64.powi(-8), 2f64.powi(-8)),
    };
    Check::Near { ty, absolute, relative }
}
