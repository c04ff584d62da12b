//! What each line of a kernel did, what of it costs more than it needs to, and what one warp did step by step.

use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use warpsmith_emulator::{Advice, LineProfile, Profile, Step, StepRegister, Traffic};
use warpsmith_ptx::{Function, Type};
use warpsmith_types::Location;

/// Lines of files, read when they are first asked for; a file that can not be read has none.
pub(super) struct Sources {
    ptx: PathBuf,
    files: HashMap<PathBuf, Vec<String>>,
}

impl Sources {
    /// With the text of the PTX file.
    pub(super) fn new(ptx: &Path, text: &str) -> Sources {
        let lines = text.lines().map(str::to_string).collect();
        Sources { ptx: ptx.into(), files: HashMap::from([(ptx.into(), lines)]) }
    }

    fn line(&mut self, file: &Path, line: u32) -> String {
        let read = || std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_string).collect();
        let lines: &Vec<String> = self.files.entry(file.into()).or_insert_with(read);
        let text = (line as usize).checked_sub(1).and_then(|n| lines.get(n));
        text.map(|t| t.split_whitespace().collect::<Vec<_>>().join(" ")).unwrap_or_default()
    }

    /// Where a line is, and what stands there.
    fn place(&mut self, at: Option<&Location>, ptx_line: u32) -> (String, String) {
        let (file, line) = match at {
            Some(at) => (PathBuf::from(&*at.file), at.line),
            None => (self.ptx.clone(), ptx_line),
        };
        let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        (format!("{name}:{line}"), self.line(&file, line))
    }
}

/// A profile as a table, the costliest lines first.
#[derive(Serialize)]
pub(super) struct ProfileReport {
    #[serde(flatten)]
    profile: Profile,
    #[serde(skip)]
    rows: Vec<(String, String, LineProfile)>,
}

impl ProfileReport {
    pub(super) fn new(profile: Profile, sources: &mut Sources) -> ProfileReport {
        let mut lines = profile.lines.clone();
        lines.sort_by_key(|l| std::cmp::Reverse(l.instructions));
        let row = |l: LineProfile| {
            let (place, text) = sources.place(l.at.as_ref(), l.ptx_line);
            (place, text, l)
        };
        ProfileReport { rows: lines.into_iter().map(row).collect(), profile }
    }
}

impl fmt::Display for ProfileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.profile.instructions().max(1);
        let width = self.rows.iter().map(|(place, ..)| place.len()).max().unwrap_or(0).max(4);
        write!(f, "{:<width$}  {:>12} {:>6} {:>6}", "line", "instructions", "%", "lanes")?;
        write!(f, " {:>12} {:>8} {:>12} {:>8} {:>9}", "global bytes", "sectors", "shared bytes", "passes", "local")?;
        for (place, text, line) in &self.rows {
            let n = line.instructions;
            let (share, lanes) = (100.0 * n as f64 / all as f64, line.lanes as f64 / n.max(1) as f64);
            write!(f, "\n{place:<width$}  {n:>12} {share:>6.1} {lanes:>6.1}")?;
            let some = |n: u64| if n == 0 { String::new() } else { n.to_string() };
            let LineProfile { global, shared, local_bytes, .. } = line;
            write!(f, " {:>12} {:>8}", some(global.bytes), some(global.transactions))?;
            write!(f, " {:>12} {:>8} {:>9}", some(shared.bytes), some(shared.transactions), some(*local_bytes))?;
            if !text.is_empty() {
                write!(f, "  {}", shortened(text))?;
            }
        }
        let Traffic { read, read_once, written, written_once } = self.profile.traffic;
        write!(
            f,
            "\nglobal memory: {read} bytes read, {read_once} of them different; {written} written, {written_once} \
             different (in sectors of 32)"
        )
    }
}

/// So much of a line as a terminal shows.
fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

/// Advice with its lines.
#[derive(Serialize)]
pub(super) struct AdviceReport {
    #[serde(flatten)]
    advice: Advice,
    message: String,
    #[serde(skip)]
    place: Option<(String, String)>,
}

impl AdviceReport {
    pub(super) fn new(advice: Advice, sources: &mut Sources) -> AdviceReport {
        let known = advice.at.is_some() || advice.ptx_line > 0;
        let place = known.then(|| sources.place(advice.at.as_ref(), advice.ptx_line));
        AdviceReport { message: advice.to_string(), advice, place }
    }
}

impl fmt::Display for AdviceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some((place, text)) if text.is_empty() => write!(f, "{place}: {}", self.message),
            Some((place, text)) => write!(f, "{place}: {}\n    {}", self.message, shortened(text)),
            None => f.write_str(&self.message),
        }
    }
}

/// The steps of a warp.
#[derive(Serialize)]
pub(super) struct TraceReport {
    steps: Vec<Step>,
    #[serde(skip)]
    shown: Vec<String>,
}

impl TraceReport {
    pub(super) fn new(steps: Vec<Step>, kernel: &Function, sources: &mut Sources) -> TraceReport {
        let types: HashMap<&str, Type> = kernel.registers.iter().map(|r| (r.name.as_str(), r.ty)).collect();
        let mut shown = vec![];
        let mut source = None;
        for step in &steps {
            // The line of source stands once above what became of it.
            if step.at != source {
                if let Some(at) = &step.at {
                    let (place, text) = sources.place(Some(at), 0);
                    shown.push(format!("{place}  {text}").trim_end().to_string());
                }
                source.clone_from(&step.at);
            }
            let (_, text) = sources.place(None, step.ptx_line);
            let lanes = if step.active == step.lanes { lanes(step.lanes) } else { held_back(step) };
            shown.push(format!("  {:>5}  {text:<56} {lanes}", step.ptx_line));
            for (written, arrow) in [(false, "   "), (true, "-> ")] {
                let all = step.registers.iter().filter(|r| r.written == written);
                let all: Vec<String> = all
                    .map(|r| format!("{} = {}", r.name, values(r, types.get(r.name.as_str()).copied(), step)))
                    .collect();
                if !all.is_empty() {
                    shown.push(format!("         {arrow}{}", all.join("   ")));
                }
            }
        }
        TraceReport { steps, shown }
    }
}

fn held_back(step: &Step) -> String {
    match step.active {
        0 => format!("none of {}", lanes(step.lanes)),
        active => format!("{} of {}", lanes(active), lanes(step.lanes)),
    }
}

impl fmt::Display for TraceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown.join("\n"))
    }
}

/// `lanes 0-7,31`
fn lanes(mask: u32) -> String {
    if mask == u32::MAX {
        return "all lanes".into();
    }
    let mut runs: Vec<(u32, u32)> = vec![];
    for lane in (0..32).filter(|l| mask >> l & 1 == 1) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == lane => *last = lane,
            _ => runs.push((lane, lane)),
        }
    }
    let run = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    format!("lanes {}", runs.iter().map(run).collect::<Vec<_>>().join(","))
}

/// What a register has in the lanes of a step: one value where all have the same, the ends of an even row, or the first.
/// Of a predicate, the lanes where it holds.
fn values(register: &StepRegister, ty: Option<Type>, step: &Step) -> String {
    const MOST: usize = 6;
    let mask = if register.written { step.active } else { step.lanes };
    let all: Vec<u64> = (0..32).filter(|l| mask >> l & 1 == 1).map(|l| register.lanes[l]).collect();
    let show = |bits: u64| number(bits, register.bits, ty);
    let even = all.windows(2).all(|w| w[1].wrapping_sub(w[0]) == all[1].wrapping_sub(all[0]));
    match &all[..] {
        [] => "nobody's".into(),
        [first, rest @ ..] if rest.iter().all(|x| x == first) => show(*first),
        _ if register.bits == 1 => lanes((0..32).fold(0, |all, l| all | (register.lanes[l] as u32 & 1) << l) & mask),
        [first, second, .., last] if even && all.len() > MOST => {
            format!("{} {} … {}", show(*first), show(*second), show(*last))
        }
        all => {
            let more = if all.len() > MOST { " …" } else { "" };
            all.iter().take(MOST).map(|x| show(*x)).collect::<Vec<_>>().join(" ") + more
        }
    }
}

/// Bits as a number of a type. What nothing is known of is unsigned, and in hexadecimal where it is long.
fn number(bits: u64, width: u32, ty: Option<Type>) -> String {
    match ty {
        _ if width == 1 => if bits & 1 == 1 { "true" } else { "false" }.into(),
        Some(Type::F32) => format!("{:?}", f32::from_bits(bits as u32)),
        Some(Type::F64) => format!("{:?}", f64::from_bits(bits)),
        Some(Type::S32) => (bits as u32 as i32).to_string(),
        Some(Type::S64) => (bits as i64).to_string(),
        Some(Type::S16) => (bits as u16 as i16).to_string(),
        _ if bits > 0xff_ffff => format!("{bits:#x}"),
        _ => bits.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(active: u32) -> Step {
        Step { at: None, ptx_line: 1, lanes: u32::MAX, active, registers: vec![] }
    }

    fn register(of: impl Fn(usize) -> u64, bits: u32) -> StepRegister {
        StepRegister { name: "%r1".into(), written: true, bits, lanes: std::array::from_fn(of) }
    }

    #[test]
    fn lanes_are_written_as_runs() {
        assert_eq!(lanes(u32::MAX), "all lanes");
        assert_eq!(lanes(0x8000_00ff), "lanes 0-7,31");
        assert_eq!(held_back(&step(0)), "none of all lanes");
    }

    #[test]
    fn values_are_short() {
        let show = |of: fn(usize) -> u64, active, ty| values(&register(of, 32), Some(ty), &step(active));
        assert_eq!(show(|_| 5, u32::MAX, Type::B32), "5");
        assert_eq!(show(|l| 4 * l as u64, u32::MAX, Type::B32), "0 4 … 124");
        assert_eq!(show(|l| (l * l) as u64, u32::MAX, Type::B32), "0 1 4 9 16 25 …");
        assert_eq!(show(|l| (l * l) as u64, 7, Type::B32), "0 1 4");
        assert_eq!(show(|_| 0xffff_fffe, 1, Type::S32), "-2");
        assert_eq!(show(|_| 0xffff_fffe, 1, Type::B32), "0xfffffffe");
        assert_eq!(show(|_| f32::to_bits(1.5).into(), 1, Type::F32), "1.5");
        assert_eq!(values(&register(|l| l as u64 & 1, 1), None, &step(3)), "lanes 1");
    }
}
