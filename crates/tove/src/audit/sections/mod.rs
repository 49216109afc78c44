//! The checks of an audit: one file each, one line each in [`ALL`].

mod calibration;
mod coverage;
mod decisions;
pub(super) mod drift;
mod fairness;
#[cfg(feature = "images")]
mod images;
mod proxies;
mod robustness;

pub use calibration::usual_method;

use super::{Audit, AuditSection, AuditSubject};
use crate::tabular::Result;

/// A check; none where it does not apply.
pub(super) type Check = fn(&Audit, &AuditSubject) -> Result<Option<AuditSection>>;

/// All checks, in the order of the report.
pub(super) const ALL: &[(&str, Check)] = &[
    ("calibration", calibration::section),
    ("coverage", coverage::section),
    ("decisions", decisions::section),
    ("robustness", robustness::section),
    #[cfg(feature = "images")]
    ("robustness", images::section),
    ("fairness", fairness::section),
    ("proxies", proxies::section),
    ("drift", drift::section),
];
