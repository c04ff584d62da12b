//! What a kernel says before its body.

use super::{MAX_SHARED, Verifier};
use crate::kernel::{LocationId, MAX_SHARED_ALIGN, Param};
use crate::lower::print::VPRINTF;
use crate::types::Type;
use warpsmith_types::Diagnostic;

const NOWHERE: LocationId = LocationId::NONE;

impl Verifier<'_> {
    pub(super) fn declarations(&mut self) {
        let kernel = self.kernel;
        if !is_identifier(&kernel.name) {
            self.error(format!("the kernel's name `{}` is no PTX identifier", kernel.name), NOWHERE);
        }
        if kernel.name == VPRINTF {
            self.error(format!("a kernel can not be called `{VPRINTF}`: that is the driver's"), NOWHERE);
        }
        self.directives();
        kernel.params.iter().for_each(|p| self.param(p));
        self.shared();
    }

    fn directives(&mut self) {
        let product = |[x, y, z]: [u32; 3]| u64::from(x).saturating_mul(u64::from(y)).saturating_mul(u64::from(z));
        if let Some(block @ [x, y, z]) = self.kernel.block
            && !((1..=1024).contains(&product(block)) && z <= 64)
        {
            self.error(format!("a block of {x} x {y} x {z} threads can not be launched"), NOWHERE)
                .help
                .replace("a block has 1 to 1024 threads, at most 64 of them along z".into());
        }
        if let Some(cluster @ [x, y, z]) = self.kernel.cluster
            && !(1..=16).contains(&product(cluster))
        {
            self.error(format!("a cluster of {x} x {y} x {z} blocks can not be launched"), NOWHERE)
                .help
                .replace("a cluster has 1 to 8 blocks everywhere, and up to 16 where the launch allows it".into());
        }
        if let Some(n) = self.kernel.max_registers.filter(|n| !(16..=255).contains(n)) {
            self.error(format!("no thread can be held to {n} registers"), NOWHERE)
                .help
                .replace("a thread has 16 to 255 registers".into());
        }
        match self.kernel.min_blocks {
            Some(0) => {
                self.error("0 blocks are no minimum", NOWHERE);
            }
            // `ptxas` ignores it otherwise.
            Some(_) if self.kernel.block.is_none() => {
                self.error("how many blocks fit can not be said without the size of a block", NOWHERE)
                    .help
                    .replace("give the kernel its block size".into());
            }
            _ => {}
        }
    }

    fn param(&mut self, p: &Param) {
        let name = &p.name;
        if p.ty == Type::Bool {
            self.error(format!("parameter `{name}` is a bool; pass a number"), NOWHERE);
        }
        if p.tensor_map && (p.ty != Type::U64 || p.pointer.is_some()) {
            self.error(format!("parameter `{name}` is a tensor map, whose type is u64, and no pointer"), NOWHERE);
        }
        match &p.pointer {
            Some(_) if p.ty != Type::U64 => {
                self.error(format!("parameter `{name}` is a pointer, but its type is {}", p.ty), NOWHERE);
            }
            Some(pointer) if !pointer.align.is_power_of_two() => {
                let align = pointer.align;
                self.error(format!("parameter `{name}`: alignment {align} is no power of two"), NOWHERE);
            }
            _ => {}
        }
    }

    fn shared(&mut self) {
        let kernel = self.kernel;
        let before = self.diagnostics.len();
        for s in &kernel.shared {
            let (name, align) = (&s.name, s.align);
            if !align.is_power_of_two() {
                self.error(format!("shared `{name}`: alignment {align} is no power of two"), NOWHERE);
            } else if align > MAX_SHARED_ALIGN {
                self.error(format!("shared `{name}`: alignment {align} is more than {MAX_SHARED_ALIGN}"), NOWHERE);
            }
            if s.bytes == 0 {
                self.error(format!("shared `{name}` has no bytes"), NOWHERE);
            }
        }
        let bytes = kernel.shared_bytes();
        if bytes > MAX_SHARED && self.diagnostics.len() == before {
            let over = bytes - MAX_SHARED;
            let mut diagnostic = Diagnostic::error(format!(
                "{bytes} bytes of shared memory; no block may have more than {MAX_SHARED}, which is {over} less"
            ));
            for s in &kernel.shared {
                diagnostic = diagnostic.note(format!("`{}` has {} bytes", s.name, s.bytes), None);
            }
            self.diagnostics.push(diagnostic);
        }
    }
}

/// `[A-Za-z][A-Za-z0-9_$]*`, or one more such character after `_`, `$` or `%`.
fn is_identifier(name: &str) -> bool {
    let follow = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut rest = name.chars();
    match rest.next() {
        Some(c) if c.is_ascii_alphabetic() => rest.all(follow),
        Some('_' | '$') => rest.clone().next().is_some() && rest.all(follow),
        _ => false,
    }
}
