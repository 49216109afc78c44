//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// tove trains, checks and ships models with one native engine.
#[derive(Parser)]
#[command(name = "tove", version, about, max_term_width = 110)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// Options that every command takes.
#[derive(Args)]
pub struct Common {
    /// Print the result as one JSON document
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub json: bool,
    /// Print no progress and no remarks
    #[arg(long, short, global = true, help_heading = "Everywhere")]
    pub quiet: bool,
    /// Number of threads; all cores otherwise. Results do not depend on it
    #[arg(long, global = true, value_name = "N", help_heading = "Everywhere")]
    pub threads: Option<usize>,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// List the models there are, or describe one with its hyperparameters
    Models(Models),
    /// Show what is inside a model file
    Inspect(Inspect),
    /// Differentiate an expression in four ways, side by side
    Diff(Diff),
    /// Print completions for a shell
    Completions(Completions),
}

#[derive(Args)]
#[command(after_help = "Examples:\n  tove models\n  tove models Ridge\n  tove models --json | jq '.[].name'")]
pub struct Models {
    /// The model to describe
    pub name: Option<String>,
}

#[derive(Args)]
pub struct Inspect {
    /// The model file
    pub model: PathBuf,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  tove diff 'x^2 - 1.5*x' --at x=0.5\n  tove diff 'a*sin(x) + b*x*sin(x)' --wrt x --at a=2 --at b=3 --at x=1\n  \
                        tove diff 'ln(1 + exp(w*x))' --wrt w --wrt x --at w=1 --at x=-2 --check"
)]
pub struct Diff {
    /// The expression: + - * / ^, sin, cos, tan, exp, ln, sqrt, sigmoid, tanh, abs ...
    pub expression: String,
    /// A variable to differentiate by; all without it
    #[arg(long, value_name = "VARIABLE")]
    pub wrt: Vec<String>,
    /// The value of a variable
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub at: Vec<(String, f64)>,
    /// Compare the automatic gradient with differences and say what differences cost
    #[arg(long)]
    pub check: bool,
    /// Print the recorded program and its reverse
    #[arg(long)]
    pub trace: bool,
}

#[derive(Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

fn assignment(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, such as x=0.5")?;
    let value = value.trim().parse().map_err(|_| format!("`{value}` is not a number"))?;
    Ok((name.trim().to_owned(), value))
}
