use crate::case::{Case, Outcome};
pub(crate) fn run(_case: &Case) -> Outcome { Outcome::Failed("no".into()) }
