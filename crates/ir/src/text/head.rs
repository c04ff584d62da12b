//! What stands before a kernel's body: its name, parameters, directives, declarations.

use super::lexer::Kind;
use super::parse::{Parsed, Parser};
use crate::kernel::{Param, Pointer, RegisterId, SharedVariable};

impl Parser {
    pub(super) fn kernel(&mut self) -> Parsed<()> {
        self.keyword("kernel")?;
        self.kernel.name = self.name()?;
        self.punctuation('(')?;
        while !self.eat(')') {
            let name = self.name()?;
            self.punctuation(':')?;
            let ty = self.ty()?;
            let pointer = match self.eat_word("pointer") {
                true => {
                    let tensor = self.name()?;
                    self.keyword("align")?;
                    Some(Pointer { tensor, align: self.number()? })
                }
                false => None,
            };
            let tensor_map = self.eat_word("tensor_map");
            self.kernel.params.push(Param { name, ty, pointer, tensor_map });
            if !self.is(')') {
                self.punctuation(',')?;
            }
        }
        if self.eat_word("block") {
            self.kernel.block = Some(self.extent()?);
        }
        if self.eat_word("cluster") {
            self.kernel.cluster = Some(self.extent()?);
        }
        if self.eat_word("max_registers") {
            self.kernel.max_registers = Some(self.number()?);
        }
        if self.eat_word("min_blocks") {
            self.kernel.min_blocks = Some(self.number()?);
        }
        self.punctuation('{')?;
        self.declarations()?;
        self.kernel.body = self.block(0)?;
        match self.peek() {
            Kind::End => Ok(()),
            _ => self.expected("the end"),
        }
    }

    /// `128, 1, 1`
    fn extent(&mut self) -> Parsed<[u32; 3]> {
        let x = self.number()?;
        self.punctuation(',')?;
        let y = self.number()?;
        self.punctuation(',')?;
        Ok([x, y, self.number()?])
    }

    fn declarations(&mut self) -> Parsed<()> {
        loop {
            if self.eat_word("shared") {
                let name = self.name()?;
                self.punctuation(':')?;
                let bytes = self.number()?;
                self.keyword("align")?;
                let align = self.number()?;
                self.kernel.shared.push(SharedVariable { name, bytes, align });
            } else if self.eat_word("register") {
                let expected = self.kernel.registers.len() as u32;
                if self.register()? != RegisterId(expected) {
                    return self.fail(format!("registers are declared in order; this should be ${expected}"));
                }
                self.punctuation(':')?;
                let ty = self.ty()?;
                self.kernel.registers.push(ty);
            } else if self.eat_word("unused") {
                self.typed()?;
                while self.eat(',') {
                    self.typed()?;
                }
            } else {
                return Ok(());
            }
        }
    }
}
