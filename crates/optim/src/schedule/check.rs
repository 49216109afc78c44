//! Which schedules make sense.

use super::Schedule;
use crate::settings::{Range, SettingError, Value};

/// From 0 to 1, both included.
const SHARE: Range = Range { low: 0.0, high: 1.0, low_closed: true, high_closed: true };
/// From 0 to 1, without 0.
const POSITIVE_SHARE: Range = Range { low_closed: false, ..SHARE };
/// Above 0, finite.
const POSITIVE: Range = Range { low: 0.0, high: f64::INFINITY, low_closed: false, high_closed: false };
/// 1, 2, 3 …
const COUNT: Range = Range { low: 1.0, high: f64::INFINITY, low_closed: true, high_closed: false };

fn outside(settings: &'static str, field: &'static str, value: Value, range: Range, whole: bool) -> SettingError {
    let (fix, range) = (range.sentence(whole).into(), range.to_string().into());
    SettingError::Range { settings, field, value, range, fix }
}

impl Schedule {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field outside its range, NaN included, with the range and what to do.
    ///
    /// ```
    /// use tove_optim::Schedule;
    /// let error = Schedule::Step { every: 0, factor: 0.1 }.validate().unwrap_err();
    /// assert_eq!(error.to_string(), "Schedule::Step: every is 0, but it must lie in [1, inf); give a whole number of at least 1");
    /// assert!(Schedule::cosine(100).after_warm_up(10).validate().is_ok());
    /// ```
    pub fn validate(&self) -> Result<(), SettingError> {
        let name = match self {
            Schedule::Constant => "Schedule::Constant",
            Schedule::Step { .. } => "Schedule::Step",
            Schedule::Exponential { .. } => "Schedule::Exponential",
            Schedule::Reciprocal { .. } => "Schedule::Reciprocal",
            Schedule::Cosine { .. } => "Schedule::Cosine",
            Schedule::WarmUp { .. } => "Schedule::WarmUp",
            Schedule::OneCycle { .. } => "Schedule::OneCycle",
        };
        let real = |field, value: f64, range: Range| match range.contains(value) {
            true => Ok(()),
            false => Err(outside(name, field, Value::Real(value), range, false)),
        };
        let count = |field, value: u64| match value {
            0 => Err(outside(name, field, Value::Whole(value), COUNT, true)),
            _ => Ok(()),
        };
        match *self {
            Schedule::Constant => Ok(()),
            Schedule::Step { every, factor } => {
                count("every", every)?;
                real("factor", factor, POSITIVE_SHARE)
            }
            Schedule::Exponential { factor } => real("factor", factor, POSITIVE),
            Schedule::Reciprocal { delay } => real("delay", delay, POSITIVE),
            Schedule::Cosine { steps, floor } => {
                count("steps", steps)?;
                real("floor", floor, SHARE)
            }
            Schedule::WarmUp { start, ref then, .. } => {
                real("start", start, SHARE)?;
                then.validate()
            }
            Schedule::OneCycle { steps, rise, start, end } => {
                count("steps", steps)?;
                real("rise", rise, SHARE)?;
                real("start", start, POSITIVE_SHARE)?;
                real("end", end, SHARE)?;
                if end <= start {
                    return Ok(());
                }
                let problem = format!("the cycle ends at {end}, above its start at {start}");
                let fix = "lower `end`: a cycle comes down further than it began, so that the weights settle";
                Err(SettingError::conflict(name, "end", problem, fix))
            }
        }
    }
}
