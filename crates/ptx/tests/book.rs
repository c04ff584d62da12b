//! The book's list of instructions is the table. `WARPSMITH_BLESS=1` writes it anew.

use std::fmt::Write;
use std::path::Path;
use warpsmith_ptx::table::{Convergence, Effect, Row, rows};

const HEAD: &str = "# Instructions

Every form of PTX that Warpsmith prints, parses, checks and emulates, from the one table that all of these read
(`crates/ptx/src/table/rows`).

`{.a}` may be left out, `(.a|.b)` is a choice, `<name>` a set of modifiers. In the operands `T`, `U`, `V` are the first, second
and third type of the instruction, `W` is `T` at double width, `vT` a vector by `.v2`, `.v4`, `.v8`; `[a]` is memory, `c?` may be
left out, `#n` is a literal. The effect says what besides computing it does, and `mask` or `aligned` who must come together.

| instruction | operands | what it does | effect | `.version` | target |
|---|---|---|---|---|---|
";

fn line(row: &Row) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let effect = match row.effect {
        Effect::None => "",
        Effect::Reads => "reads",
        Effect::Writes => "writes",
        Effect::Atomic => "atomic",
        Effect::Asynchronous => "asynchronous",
        Effect::Barrier => "orders",
        Effect::Control => "control",
    };
    let convergence = match row.convergence {
        Convergence::Any => "",
        Convergence::Mask => " mask",
        Convergence::Aligned => " aligned",
    };
    let mut targets = row.target.to_string();
    row.also.iter().for_each(|n| write!(targets, ", sm_{n}a").unwrap());
    let operands = if row.operands.is_empty() { String::new() } else { format!("`{}`", cell(row.operands)) };
    format!(
        "| `{}` | {operands} | {} | {} | {} | {targets} |\n",
        cell(row.syntax),
        cell(row.doc),
        format!("{effect}{convergence}").trim(),
        row.version
    )
}

#[test]
fn the_list_is_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src/instructions.md");
    let text = rows().fold(String::from(HEAD), |text, row| text + &line(row));
    if std::env::var_os("WARPSMITH_BLESS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = text.lines().zip(written.lines()).find(|(a, b)| a != b);
    assert!(written == text, "{} is not the table (WARPSMITH_BLESS=1 writes it): {differs:?}", file.display());
}
