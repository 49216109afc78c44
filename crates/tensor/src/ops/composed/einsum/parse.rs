//! Reading an equation such as `bij,bjk->bik`.

use crate::{Error, Result, Tensor};

/// Name of an axis: a letter, or an axis of the ellipsis by its distance from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    Ellipsis(std::cmp::Reverse<usize>),
    Letter(char),
}

/// The labels of every operand's axes and of the result's.
#[derive(Debug)]
pub(super) struct Equation {
    pub(super) inputs: Vec<Vec<Label>>,
    pub(super) output: Vec<Label>,
    sizes: Vec<(Label, usize)>,
}

impl Equation {
    /// The size that goes with a label.
    pub(super) fn size(&self, label: Label) -> usize {
        self.sizes.iter().find(|pair| pair.0 == label).map_or(1, |pair| pair.1)
    }
}

#[cold]
fn fault(equation: &str, problem: impl std::fmt::Display) -> Error {
    Error::parameter("einsum", "equation", format!("{equation:?}: {problem}"))
}

/// A list of letters with at most one ellipsis, as (before, after it if there is one).
type Term = (Vec<char>, Option<Vec<char>>);

fn term(equation: &str, text: &str) -> Result<Term> {
    let letters = |text: &str| -> Result<Vec<char>> {
        match text.chars().find(|c| !c.is_ascii_alphabetic()) {
            Some('.') => Err(fault(equation, "an ellipsis is three dots, once in a term")),
            Some(other) => Err(fault(equation, format!("{other:?} is no index; use the letters a-z and A-Z"))),
            None => Ok(text.chars().collect()),
        }
    };
    match text.split_once("...") {
        Some((before, after)) => Ok((letters(before)?, Some(letters(after)?))),
        None => Ok((letters(text)?, None)),
    }
}

/// Reads the equation and fits it to the operands.
pub(super) fn parse(equation: &str, operands: &[&Tensor]) -> Result<Equation> {
    let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match text.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (text.as_str(), None),
    };
    let terms: Vec<Term> = left.split(',').map(|part| term(equation, part)).collect::<Result<_>>()?;
    if terms.len() != operands.len() {
        let problem = format!("it has {} terms for {} operands", terms.len(), operands.len());
        return Err(fault(equation, problem));
    }
    let mut result = Equation { inputs: Vec::new(), output: Vec::new(), sizes: Vec::new() };
    for (position, (term, operand)) in terms.iter().zip(operands).enumerate() {
        let labels = labels(equation, position, term, operand)?;
        for (&label, &size) in labels.iter().zip(operand.dims()) {
            result.record(equation, position, label, size, operand)?;
        }
        result.inputs.push(labels);
    }
    result.output = match right {
        Some(right) => result.explicit(equation, term(equation, right)?)?,
        None => result.implicit(),
    };
    Ok(result)
}

/// The labels of one operand's axes.
fn labels(equation: &str, position: usize, (before, after): &Term, operand: &Tensor) -> Result<Vec<Label>> {
    let named = before.len() + after.as_ref().map_or(0, Vec::len);
    let fits = if after.is_some() { named <= operand.rank() } else { named == operand.rank() };
    if !fits {
        let problem = format!(
            "term {position} names {named} axes, but operand {position} of shape {} has {}",
            operand.shape(),
            operand.rank()
        );
        return Err(fault(equation, problem));
    }
    let further = (1..=operand.rank() - named).rev().map(|axis| Label::Ellipsis(std::cmp::Reverse(axis)));
    let letter = |&letter: &char| Label::Letter(letter);
    Ok(before.iter().map(letter).chain(further).chain(after.iter().flatten().map(letter)).collect())
}

impl Equation {
    /// Notes the size of a label; axes of an ellipsis broadcast, letters must agree.
    fn record(&mut self, equation: &str, position: usize, label: Label, size: usize, operand: &Tensor) -> Result<()> {
        let Some(known) = self.sizes.iter_mut().find(|pair| pair.0 == label) else {
            self.sizes.push((label, size));
            return Ok(());
        };
        match label {
            _ if known.1 == size => Ok(()),
            Label::Ellipsis(_) if size == 1 => Ok(()),
            Label::Ellipsis(_) if known.1 == 1 => {
                known.1 = size;
                Ok(())
            }
            _ => {
                let name = match label {
                    Label::Letter(letter) => format!("index {letter:?}"),
                    Label::Ellipsis(_) => "an axis of the ellipsis".to_string(),
                };
                let problem = format!(
                    "{name} has size {} before and size {size} in operand {position} of shape {}",
                    known.1,
                    operand.shape()
                );
                Err(fault(equation, problem))
            }
        }
    }

    /// All axes that ellipses stand for, outermost first.
    fn ellipsis(&self) -> Vec<Label> {
        let mut labels: Vec<Label> =
            self.sizes.iter().map(|pair| pair.0).filter(|label| matches!(label, Label::Ellipsis(_))).collect();
        labels.sort_unstable();
        labels
    }

    /// The ellipsis, then the letters that occur once, in alphabetical order.
    fn implicit(&self) -> Vec<Label> {
        let occurs = |label: Label| self.inputs.iter().flatten().filter(|&&other| other == label).count();
        let mut once: Vec<Label> = self
            .sizes
            .iter()
            .map(|pair| pair.0)
            .filter(|&label| matches!(label, Label::Letter(_)) && occurs(label) == 1)
            .collect();
        once.sort_unstable();
        self.ellipsis().into_iter().chain(once).collect()
    }

    fn explicit(&self, equation: &str, (before, after): Term) -> Result<Vec<Label>> {
        let mut output: Vec<Label> = before.into_iter().map(Label::Letter).collect();
        if let Some(after) = after {
            output.extend(self.ellipsis());
            output.extend(after.into_iter().map(Label::Letter));
        }
        for (index, label) in output.iter().enumerate() {
            let Label::Letter(letter) = label else { continue };
            if output[..index].contains(label) {
                return Err(fault(equation, format!("index {letter:?} is twice in the result")));
            }
            if !self.sizes.iter().any(|pair| pair.0 == *label) {
                return Err(fault(equation, format!("index {letter:?} of the result is in no operand")));
            }
        }
        Ok(output)
    }
}
