//! Modules, functions, variables.

use crate::instruction::{Immediate, Instruction};
use crate::syntax::{StateSpace, Type};
use warpsmith_types::{PtxVersion, Target};

/// A PTX module: what one file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// `.version`.
    pub version: PtxVersion,
    /// `.target`.
    pub target: Target,
    /// `.file` entries.
    pub files: Vec<File>,
    /// Variables of module scope.
    pub variables: Vec<Variable>,
    /// Kernels and device functions.
    pub functions: Vec<Function>,
}

impl Module {
    /// An empty module for a target.
    pub fn new(version: PtxVersion, target: Target) -> Module {
        Module { version, target, files: vec![], variables: vec![], functions: vec![] }
    }

    /// The kernel of that name.
    pub fn entry(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.kind == FunctionKind::Entry && f.name == name)
    }
}

/// `.file 1 "path"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct File {
    /// What `.loc` calls it.
    pub index: u32,
    /// Its path.
    pub path: String,
}

/// Who can see a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// Only this module.
    Internal,
    /// `.visible`.
    Visible,
    /// `.extern`: defined elsewhere, or dynamic shared memory.
    Extern,
    /// `.weak`.
    Weak,
    /// `.common`.
    Common,
}

/// `.global .align 4 .b8 name[16] = {…}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it lives.
    pub space: StateSpace,
    /// Who can see it.
    pub linkage: Linkage,
    /// Alignment in bytes.
    pub align: u32,
    /// Its element type.
    pub ty: Type,
    /// Elements; `None` for `name[]`, sized at launch.
    pub count: Option<u64>,
    /// Initial elements, one by one; empty for none.
    pub init: Vec<Immediate>,
}

impl Variable {
    /// Size in bytes; 0 when the launch decides.
    pub fn bytes(&self) -> u64 {
        self.count.unwrap_or(0).saturating_mul(u64::from(self.ty.bytes()))
    }
}

/// A parameter of a kernel or function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Alignment in bytes of the parameter itself.
    pub align: u32,
    /// Elements; 1 for a scalar.
    pub count: u64,
    /// Whether it was written as an array: `.param .b8 p[64]`.
    pub array: bool,
    /// For a pointer: the space and alignment it is promised to have (`.ptr .global .align 16`).
    pub pointer: Option<(StateSpace, u32)>,
}

/// A virtual register.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Register {
    /// Its name, with the percent sign if it has one.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A named thing with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// `Function::parameters[i]`, then `Function::results`.
    Parameter(u32),
    /// `Function::variables[i]`.
    Local(u32),
    /// `Module::variables[i]`.
    Global(u32),
    /// `Module::functions[i]`.
    Function(u32),
}

/// A label of a function: an index into [`Function::labels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// A label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// Its name.
    pub name: String,
}

/// `.loc`: the source of the instructions that follow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// A file of the module.
    pub file: u32,
    /// From 1.
    pub line: u32,
    /// From 1, or 0.
    pub column: u32,
    /// For code of a helper: the call.
    pub inlined_at: Option<InlinedAt>,
}

/// `function_name …, inlined_at file line column`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InlinedAt {
    /// The helper's name.
    pub function: String,
    /// A file of the module.
    pub file: u32,
    /// From 1.
    pub line: u32,
    /// From 1, or 0.
    pub column: u32,
}

/// What a function's body is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// An instruction.
    Instruction(Instruction),
    /// A place to jump to.
    Label(LabelId),
    /// Where the following instructions come from.
    Source(SourceLine),
    /// `.pragma "…"`.
    Pragma(String),
}

/// Whether it can be launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `.entry`: a kernel.
    Entry,
    /// `.func`: called from device code.
    Device,
}

/// Performance directives of a kernel (PTX ISA §11.4); `None` where absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Directives {
    /// `.reqntid x, y, z`: the block size.
    pub reqntid: Option<[u32; 3]>,
    /// `.maxntid x, y, z`: the largest block size.
    pub maxntid: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub minnctapersm: Option<u32>,
    /// `.maxnreg`.
    pub maxnreg: Option<u32>,
    /// `.reqnctapercluster x, y, z`: the cluster size.
    pub reqnctapercluster: Option<[u32; 3]>,
    /// `.explicitcluster`.
    pub explicitcluster: bool,
}

/// A kernel or a device function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// Its name.
    pub name: String,
    /// Who can see it.
    pub linkage: Linkage,
    /// Results of a device function.
    pub results: Vec<Parameter>,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// Performance directives.
    pub directives: Directives,
    /// Registers, in order of declaration.
    pub registers: Vec<Register>,
    /// Variables declared in the body (`.shared`, `.local`).
    pub variables: Vec<Variable>,
    /// Labels.
    pub labels: Vec<Label>,
    /// The body.
    pub body: Vec<Statement>,
}

impl Function {
    /// An empty visible kernel.
    pub fn entry(name: impl Into<String>) -> Function {
        Function {
            kind: FunctionKind::Entry,
            name: name.into(),
            linkage: Linkage::Visible,
            results: vec![],
            parameters: vec![],
            directives: Directives::default(),
            registers: vec![],
            variables: vec![],
            labels: vec![],
            body: vec![],
        }
    }

    /// The instructions, in order.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.body.iter().filter_map(|s| match s {
            Statement::Instruction(i) => Some(i),
            _ => None,
        })
    }
}
