//! A run for people: a table, what stands above it and below it.

use super::compare::{Earlier, Judgement};
use super::record::{Beside, Counted, Kind, Outcome, Record, Row, Timed};
use crate::style::{Ink, paint};
use crate::table::{Cell, Table};

/// The whole report.
pub(super) fn report(record: &Record, earlier: Option<&Earlier>) -> String {
    let mut out = vec![head(record)];
    let (rows, gemms): (Vec<&Row>, Vec<&Row>) = record.rows.iter().partition(|row| row.floor.operations.is_none());
    for rows in [rows, gemms] {
        if rows.is_empty() {
            continue;
        }
        out.push(String::new());
        out.extend(match record.device.kind {
            Kind::Cuda => times(&rows, earlier),
            Kind::Emulated => counts(&rows, earlier),
        });
    }
    if let Some(earlier) = earlier {
        out.push(String::new());
        for (i, note) in earlier.notes(record).into_iter().enumerate() {
            out.push(if i == 0 { note } else { paint(Ink::Warn, &note) });
        }
    }
    out.join("\n")
}

fn head(record: &Record) -> String {
    let (device, settings) = (&record.device, &record.settings);
    let mut text = paint(Ink::Bold, &device.name);
    text += &format!(" ({})", device.target);
    if let Some(cuda) = &device.cuda {
        text += &format!(", {cuda}");
    }
    if let Some(driver) = &device.driver {
        text += &format!(", driver {driver}");
    }
    text + &match device.kind {
        Kind::Cuda => format!(
            "\nmedians of {} after {} to warm up, level-two cache {}; below {:.0} µs several launches to a graph, each on \
             memory of its own\nspread: from the tenth to the ninetieth of a hundred; floor: bytes at {:.0} GB/s and \
             operations at the peak, both of the datasheet",
            settings.repetitions,
            settings.warm_up,
            if settings.cold { "cold" } else { "warm" },
            settings.graphs_below_microseconds,
            device.gigabytes_per_second
        ),
        Kind::Emulated => {
            "\nno times: an emulator has no clock to measure with; these are counts, the same in each run. \
                           For times: --device cuda\nfloor: each input read once, the output written once"
                .into()
        }
    }
}

fn times(rows: &[&Row], earlier: Option<&Earlier>) -> Vec<String> {
    let gemms = rows.iter().any(|row| row.floor.operations.is_some());
    let speed = if gemms { "TFLOP/s" } else { "GB/s" };
    let against = match rows.iter().find_map(|row| timed(row)).map(|t| t.beside) {
        Some(Beside::MatrixInstructions { .. }) => "of matrix instructions alone",
        _ => "of a copy",
    };
    let mut table = Table::new(
        4,
        &columns(
            &["operator", "shape", "dtype", "plan", "µs", "spread", speed, against, "floor µs", "of floor"],
            earlier,
        ),
    );
    for row in rows {
        let Some(Timed { time, share, .. }) = timed(row) else { continue };
        let speed = match row.floor.operations {
            Some(operations) => operations as f64 / time.median * 1e-6,
            None => row.floor.bytes as f64 / time.median * 1e-3,
        };
        let floor = row.floor.microseconds();
        let mut cells = named(row);
        cells.extend([
            format!("{:.1}", time.median).into(),
            format!("{:.1} %", 100.0 * (time.ninetieth - time.tenth) / time.median).into(),
            format!("{speed:.0}").into(),
            percent(*share),
            format!("{floor:.1}").into(),
            percent(floor / time.median),
        ]);
        changed(&mut cells, row, earlier);
        table.push(cells);
    }
    let mut lines = table.lines();
    if let Some(Beside::MatrixInstructions { teraflops }) = rows.iter().find_map(|row| timed(row)).map(|t| t.beside) {
        lines.push(format!("matrix instructions alone, measured in this run: {teraflops:.0} TFLOP/s"));
    }
    lines
}

fn counts(rows: &[&Row], earlier: Option<&Earlier>) -> Vec<String> {
    let head = [
        "operator",
        "shape",
        "dtype",
        "plan",
        "instructions",
        "floor bytes",
        "moved",
        "of floor",
        "asked",
        "of floor",
        "shared passes",
    ];
    let mut table = Table::new(4, &columns(&head, earlier));
    for row in rows {
        let Outcome::Emulator(Counted { instructions, moved, asked, shared: [passes, least] }) = row.result else {
            continue;
        };
        let floor = row.floor.bytes;
        let of_floor = |bytes: u64| percent(bytes as f64 / floor.max(1) as f64);
        let mut cells = named(row);
        cells.extend([
            instructions.to_string().into(),
            floor.to_string().into(),
            moved.to_string().into(),
            of_floor(moved),
            asked.to_string().into(),
            of_floor(asked),
            if passes == least { passes.to_string().into() } else { format!("{passes}, {least} would do").into() },
        ]);
        changed(&mut cells, row, earlier);
        table.push(cells);
    }
    let mut lines = table.lines();
    lines.push("moved: different sectors of global memory; asked: by all accesses, what the caches see".into());
    lines
}

fn columns<'a>(head: &[&'a str], earlier: Option<&Earlier>) -> Vec<&'a str> {
    let mut head = head.to_vec();
    head.extend(earlier.map(|_| "then / now"));
    head
}

fn named(row: &Row) -> Vec<Cell> {
    let shape = row.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ");
    vec![
        row.operator.as_str().into(),
        shape.into(),
        row.dtype.as_str().into(),
        row.plan.clone().unwrap_or("own".into()).into(),
    ]
}

fn changed(cells: &mut Vec<Cell>, row: &Row, earlier: Option<&Earlier>) {
    let Some(earlier) = earlier else { return };
    cells.push(match earlier.change(row) {
        Some(change) => {
            let ink = match change.judgement() {
                Judgement::Better => Some(Ink::Good),
                Judgement::Worse => Some(Ink::Bad),
                Judgement::Same => None,
            };
            Cell::inked(format!("{:.3}", change.ratio), ink)
        }
        None => Cell::inked("new".into(), Some(Ink::Dim)),
    });
}

fn percent(share: f64) -> Cell {
    format!("{:.1} %", 100.0 * share).into()
}

fn timed(row: &Row) -> Option<&Timed> {
    match &row.result {
        Outcome::Card(timed) => Some(timed),
        Outcome::Emulator(_) => None,
    }
}
