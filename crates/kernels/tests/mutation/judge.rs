//! Runs mutants until the sanitizer objects, and says of which it did not.

use crate::mutants::{Mutant, mutants};
use crate::subject::{Order, Ran, Subject};
use std::collections::BTreeMap;
use std::fmt::Write;
use warpsmith_emulator::Schedule;

/// A mutant that the sanitizer may pass over, and why by PTX's memory model.
pub struct Argued {
    /// Its kernel, the name of its instruction, and what became of it.
    pub mutant: String,
    pub why: &'static str,
}

/// Mutants that are argued, of a hundred.
const MOST_ARGUED: f64 = 5.0;
/// How much longer than the kernel itself in the same order a mutant may run.
const PATIENCE: u64 = 10;

/// Seeds of the schedules that a mutant must survive.
fn orders() -> Vec<Order> {
    let order = |schedule, seed, lanes_apart| Order { schedule, seed, lanes_apart };
    let mut all = vec![
        order(Schedule::Seeded, 0, false),
        order(Schedule::RoundRobin, 0, false),
        order(Schedule::Seeded, 1, true),
    ];
    all.extend((0..4).map(|seed| order(Schedule::SlowWarp, seed, false)));
    all.extend((0..2).map(|seed| order(Schedule::SlowBlock, seed, false)));
    all.extend((2..4).map(|seed| order(Schedule::Seeded, seed, false)));
    all
}

/// What the sanitizer said of a mutant first, be it that it does not end where the kernel does; `Err` says what came of
/// it instead.
fn verdict(subject: &Subject, mutant: &Mutant, plain: &[(Order, Ran)]) -> Result<String, String> {
    let mut wrong = None;
    for (order, plain) in plain {
        let budget = PATIENCE * plain.outcome.instructions.unwrap().max(1000);
        let ran = subject.run(order.options(Some(budget)), Some(&mutant.ptx));
        if let Some(first) = ran.outcome.findings.first() {
            return Ok(first.message.clone());
        }
        if ran.result != plain.result {
            wrong.get_or_insert_with(|| format!("wrong result ({order})"));
        }
    }
    Err(wrong.unwrap_or_else(|| "as if nothing were missing".into()))
}

/// Asserts that the sanitizer objects to every mutant of these kernels but those that are argued; prints the table.
pub fn all_are_found(subjects: &[Subject], argued: &[Argued]) {
    let (mut table, mut faults) = (String::new(), vec![]);
    let (mut count, mut excused) = (0, 0);
    let mut used = vec![false; argued.len()];
    for subject in subjects {
        let plain: Vec<_> = orders().into_iter().map(|o| (o, subject.run(o.options(None), None))).collect();
        for (order, ran) in &plain {
            assert!(ran.outcome.findings.is_empty(), "{} ({order}): {}", subject.name, ran.outcome.findings[0]);
        }
        let all = mutants(&plain[0].1.module, plain[0].1.place);
        let verdicts: Vec<_> = all.iter().map(|m| (m, verdict(subject, m, &plain))).collect();
        let mut by_kind: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for (mutant, verdict) in &verdicts {
            let line = format!("{} | {mutant}", subject.name);
            let name = mutant.instruction.split([' ', ';']).next().unwrap_or_default();
            let kind = format!("{name} {}", mutant.change);
            let row = by_kind.entry(kind).or_default();
            row.0 += 1;
            row.1 += usize::from(verdict.is_ok());
            let short = format!("{} | {name} | {}", subject.name, mutant.change);
            let known = argued.iter().position(|a| a.mutant == short);
            match (verdict, known) {
                (Ok(_), None) => {}
                (Ok(said), Some(n)) => {
                    used[n] = true;
                    faults.push(format!("{line}\n    is argued ({}), but found: {said}", argued[n].why));
                }
                (Err(_), Some(n)) => {
                    used[n] = true;
                    excused += 1;
                }
                (Err(instead), None) => faults.push(format!("{line}\n    {instead}")),
            }
        }
        count += all.len();
        let found = verdicts.iter().filter(|(_, v)| v.is_ok()).count();
        writeln!(table, "{}: {found} of {} found", subject.name, all.len()).unwrap();
        for (kind, (all, found)) in by_kind {
            writeln!(table, "    {found:3} of {all:3}  {kind}").unwrap();
        }
    }
    println!("{table}{count} mutants, {excused} argued");
    let stale = argued.iter().zip(&used).filter(|(_, used)| !**used);
    faults.extend(stale.map(|(a, _)| format!("no mutant is `{}` any more", a.mutant)));
    assert!(faults.is_empty(), "{} not found:\n{}", faults.len(), faults.join("\n"));
    let share = 100.0 * excused as f64 / count.max(1) as f64;
    assert!(share <= MOST_ARGUED, "{excused} of {count} mutants are argued, {share:.1} %");
}
