//! Which `wgmma` may find a register that was written since the last `wgmma.fence`, by dataflow over the decoded code.
//!
//! The hardware reads and writes a product's registers beside the warp; only after a fence do they hold what the warp
//! has put there. Products on one accumulator, one after the other, need none between.

use super::Register;
use super::flow::{Set, Step, leaders, successors};
use crate::program::{Action, Instruction, Product};

/// Notes for each product a register that some path to it writes without a fence after.
pub(crate) fn analyse(code: &[Instruction], steps: &[Step], lists: &[u32], registers: usize, products: &mut [Product]) {
    let step = |at: usize, dirty: &mut Set| match code[at].action {
        Action::ProductFence => *dirty = Set::new(registers, false),
        Action::Product(_) => {}
        _ => {
            for write in &steps[at].writes {
                if let Register::R32(n) = write {
                    dirty.insert((*n).into());
                }
            }
        }
    };
    let leaders = leaders(code, lists);
    let starts: Vec<usize> = (0..code.len()).filter(|at| leaders[*at]).collect();
    let end = |block: usize| starts.get(block + 1).copied().unwrap_or(code.len());
    let mut entry = vec![Set::new(registers, false); starts.len()];
    let mut work: Vec<usize> = (0..starts.len()).rev().collect();
    while let Some(block) = work.pop() {
        let mut dirty = entry[block].clone();
        (starts[block]..end(block)).for_each(|at| step(at, &mut dirty));
        for next in successors(code, lists, end(block) - 1) {
            let Ok(next) = starts.binary_search(&next) else { continue };
            if entry[next].join(&dirty) && !work.contains(&next) {
                work.push(next);
            }
        }
    }
    for (block, start) in starts.iter().enumerate() {
        let mut dirty = entry[block].clone();
        for (at, instruction) in code.iter().enumerate().take(end(block)).skip(*start) {
            if let Action::Product(index) = instruction.action
                && let Some(product) = products.get_mut(index as usize)
            {
                product.unfenced = product.registers(lists).copied().find(|r| dirty.has(*r));
            }
            step(at, &mut dirty);
        }
    }
}
