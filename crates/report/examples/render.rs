//! Renders an evidence record: `cargo run --example render -- evidence.json > report.html`.

use std::{env, error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("name the evidence JSON as the first argument")?;
    let evidence: unlikely_report::Evidence = serde_json::from_str(&fs::read_to_string(path)?)?;
    print!("{}", unlikely_report::html(&evidence));
    Ok(())
}
