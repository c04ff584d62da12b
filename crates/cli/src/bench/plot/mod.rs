//! A run as a picture.
//!
//! | file | what |
//! |---|---|
//! | `mod` | which numbers of a run are drawn |
//! | `figure` | panels with axes, lines, bars and a legend, as SVG |

mod figure;

use super::record::{Beside, Kind, Outcome, Record, Row};
use figure::{Figure, Marks, Panel, Reference, Series};

/// The picture of a run.
pub(super) fn svg(record: &Record) -> String {
    let (rows, gemms): (Vec<&Row>, Vec<&Row>) = record.rows.iter().partition(|row| row.floor.operations.is_none());
    let panels = [rows_panel(record, &rows), gemms_panel(record, &gemms)];
    let device = &record.device;
    let driver = device.driver.as_ref().map_or(String::new(), |d| format!(", driver {d}"));
    let how = match device.kind {
        Kind::Cuda => "medians, level-two cache cold",
        Kind::Emulated => "counts, no times",
    };
    let title = match &record.rows[..] {
        [] => "nothing measured".into(),
        _ => format!("Warpsmith on {}", device.name),
    };
    let subtitle =
        format!("{how}; warpsmith {}{driver}, {}", record.warpsmith, &record.date[..record.date.len().min(10)]);
    Figure { title, subtitle, panels: panels.into_iter().flatten().collect() }.to_svg()
}

/// What is drawn of a case.
fn value(row: &Row) -> f64 {
    match &row.result {
        Outcome::Card(timed) => match row.floor.operations {
            Some(operations) => operations as f64 / timed.time.median * 1e-6,
            None => row.floor.bytes as f64 / timed.time.median * 1e-3,
        },
        Outcome::Emulator(counted) => counted.asked as f64 / row.floor.bytes.max(1) as f64,
    }
}

/// The operator, dtype and plan of a line or a colour of bars.
fn label(row: &Row) -> String {
    let plan = row.plan.as_ref().map_or(String::new(), |p| format!(", {p}"));
    format!("{} {}{plan}", row.operator, row.dtype)
}

/// Cases of one label together, in the order of their first.
fn groups<'a>(rows: &[&'a Row]) -> Vec<(String, Vec<&'a Row>)> {
    let mut all: Vec<(String, Vec<&Row>)> = vec![];
    for row in rows {
        let label = label(row);
        match all.iter_mut().find(|(other, _)| *other == label) {
            Some((_, group)) => group.push(row),
            None => all.push((label, vec![row])),
        }
    }
    all
}

fn rows_panel(record: &Record, rows: &[&Row]) -> Option<Panel> {
    let dim = |row: &Row| row.shape.last().copied().unwrap_or(0) as f64;
    let line = |label: String, rows: &[&Row], value: &dyn Fn(&Row) -> Option<f64>| {
        let mut points: Vec<(f64, f64)> = rows.iter().filter_map(|row| Some((dim(row), value(row)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup_by(|a, b| a.0 == b.0);
        Series { label, points, is_reference: false }
    };
    let groups = groups(rows);
    let mut series: Vec<Series> =
        groups.iter().map(|(label, rows)| line(label.clone(), rows, &|row| Some(value(row)))).collect();
    let of_copy = |row: &Row| match &row.result {
        Outcome::Card(timed) => match timed.beside {
            Beside::Copy { microseconds } => Some(row.floor.bytes as f64 / microseconds * 1e-3),
            Beside::MatrixInstructions { .. } => None,
        },
        Outcome::Emulator(_) => None,
    };
    let (_, first) = groups.first()?;
    let (unit, title, reference) = match record.device.kind {
        Kind::Cuda => {
            series.push(Series { is_reference: true, ..line("copy of as many bytes".into(), first, &of_copy) });
            let label = "datasheet".to_string();
            ("GB/s", "Rows: bandwidth", Reference { label, at: record.device.gigabytes_per_second })
        }
        Kind::Emulated => {
            ("bytes asked for, of the floor", "Rows: traffic", Reference { label: "floor".into(), at: 1.0 })
        }
    };
    Some(Panel {
        title: title.into(),
        x_label: "elements in a row".into(),
        y_label: unit.into(),
        marks: Marks::Lines(series),
        reference: Some(reference),
    })
}

fn gemms_panel(record: &Record, rows: &[&Row]) -> Option<Panel> {
    let shape = |row: &Row| row.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("×");
    let mut shapes: Vec<String> = vec![];
    for row in rows {
        let shape = shape(row);
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    let series = groups(rows).into_iter().map(|(label, rows)| {
        let place = |row: &Row| shapes.iter().position(|s| *s == shape(row)).unwrap_or(0) as f64;
        let points = rows.iter().map(|row| (place(row), value(row))).collect();
        Series { label, points, is_reference: false }
    });
    let series: Vec<Series> = series.collect();
    let peak = rows.iter().find_map(|row| match &row.result {
        Outcome::Card(timed) => match timed.beside {
            Beside::MatrixInstructions { teraflops } => Some(teraflops),
            Beside::Copy { .. } => None,
        },
        Outcome::Emulator(_) => None,
    });
    let (unit, title, reference) = match record.device.kind {
        Kind::Cuda => {
            let label = "matrix instructions alone".to_string();
            ("TFLOP/s", "Matrix products", peak.map(|at| Reference { label, at }))
        }
        Kind::Emulated => {
            let reference = Reference { label: "floor".into(), at: 1.0 };
            ("bytes asked for, of the floor", "Matrix products: traffic", Some(reference))
        }
    };
    (!rows.is_empty()).then(|| Panel {
        title: title.into(),
        x_label: "m × n × k".into(),
        y_label: unit.into(),
        marks: Marks::Bars { groups: shapes, series },
        reference,
    })
}
