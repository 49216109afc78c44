//! The measures of gaps between groups, and the rates that each compares.

use super::gaps::Criterion;
use super::resample::Null;
use super::tally::RateKind;

/// A measure of how far a criterion is from being met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapMeasure {
    /// Largest minus smallest selection rate.
    DemographicParityDifference,
    /// Smallest divided by largest selection rate; 1 is fair. US employment guidelines regard less than 0.8 as evidence of adverse impact.
    DemographicParityRatio,
    /// Largest minus smallest mean score.
    MeanScoreDifference,
    /// The larger of the differences of true and false positive rates.
    EqualizedOddsDifference,
    /// The smaller of the ratios of true and false positive rates.
    EqualizedOddsRatio,
    /// Largest minus smallest true positive rate.
    EqualOpportunityDifference,
    /// Largest minus smallest false positive rate.
    FalsePositiveRateDifference,
    /// Largest minus smallest positive predictive value.
    PositivePredictiveDifference,
    /// Largest minus smallest negative predictive value.
    NegativePredictiveDifference,
    /// The largest difference, over the score bins, of the share of label 1 between groups.
    BinnedRateDifference,
    /// The largest expected calibration error of a group. It is positive for calibrated scores too, by chance; the test accounts for that.
    GroupCalibrationError,
    /// Largest minus smallest accuracy, not part of a criterion.
    AccuracyDifference,
}

use GapMeasure::{
    AccuracyDifference, BinnedRateDifference, DemographicParityDifference, DemographicParityRatio,
    EqualOpportunityDifference, EqualizedOddsDifference, EqualizedOddsRatio, FalsePositiveRateDifference,
    GroupCalibrationError, MeanScoreDifference, NegativePredictiveDifference, PositivePredictiveDifference,
};

const ALL: [GapMeasure; 12] = [
    DemographicParityDifference,
    DemographicParityRatio,
    MeanScoreDifference,
    EqualizedOddsDifference,
    EqualizedOddsRatio,
    EqualOpportunityDifference,
    FalsePositiveRateDifference,
    PositivePredictiveDifference,
    NegativePredictiveDifference,
    BinnedRateDifference,
    GroupCalibrationError,
    AccuracyDifference,
];

impl GapMeasure {
    /// All measures.
    pub fn all() -> &'static [GapMeasure] {
        &ALL
    }

    /// Name in words.
    pub fn name(self) -> &'static str {
        match self {
            DemographicParityDifference => "demographic parity difference",
            DemographicParityRatio => "demographic parity ratio",
            MeanScoreDifference => "mean score difference",
            EqualizedOddsDifference => "equalized odds difference",
            EqualizedOddsRatio => "equalized odds ratio",
            EqualOpportunityDifference => "equal opportunity difference",
            FalsePositiveRateDifference => "false positive rate difference",
            PositivePredictiveDifference => "positive predictive value difference",
            NegativePredictiveDifference => "negative predictive value difference",
            BinnedRateDifference => "rate difference at equal scores",
            GroupCalibrationError => "largest calibration error of a group",
            AccuracyDifference => "accuracy difference",
        }
    }

    /// The criterion that it measures; `None` for the accuracy.
    pub fn criterion(self) -> Option<Criterion> {
        match self {
            DemographicParityDifference | DemographicParityRatio | MeanScoreDifference => Some(Criterion::Independence),
            EqualizedOddsDifference | EqualizedOddsRatio | EqualOpportunityDifference | FalsePositiveRateDifference => {
                Some(Criterion::Separation)
            }
            AccuracyDifference => None,
            _ => Some(Criterion::Sufficiency),
        }
    }

    /// Whether it is a ratio, which is 1 if groups are equal, rather than a difference, which is 0.
    pub fn is_ratio(self) -> bool {
        matches!(self, DemographicParityRatio | EqualizedOddsRatio)
    }

    pub(super) fn needs_scores(self) -> bool {
        matches!(self, MeanScoreDifference | BinnedRateDifference | GroupCalibrationError)
    }

    pub(super) fn null(self) -> Null {
        match self {
            BinnedRateDifference => Null::SameScore,
            GroupCalibrationError => Null::Calibrated,
            PositivePredictiveDifference | NegativePredictiveDifference => Null::SameDecision,
            _ if self.criterion() == Some(Criterion::Separation) => Null::SameLabel,
            _ => Null::Anything,
        }
    }

    pub(super) fn kinds(self, bins: usize) -> Vec<RateKind> {
        match self {
            DemographicParityDifference | DemographicParityRatio => vec![RateKind::Selection],
            MeanScoreDifference => vec![RateKind::MeanScore],
            EqualizedOddsDifference | EqualizedOddsRatio => vec![RateKind::TruePositive, RateKind::FalsePositive],
            EqualOpportunityDifference => vec![RateKind::TruePositive],
            FalsePositiveRateDifference => vec![RateKind::FalsePositive],
            PositivePredictiveDifference => vec![RateKind::PositivePredictive],
            NegativePredictiveDifference => vec![RateKind::NegativePredictive],
            BinnedRateDifference => (0..bins).map(RateKind::InBin).collect(),
            GroupCalibrationError => vec![RateKind::CalibrationError],
            AccuracyDifference => vec![RateKind::Accuracy],
        }
    }

    /// The measure for the rates `low` ≤ `high` of two groups.
    pub(super) fn of(self, low: f64, high: f64) -> f64 {
        match self {
            GroupCalibrationError => high,
            _ if self.is_ratio() => {
                if high == 0.0 {
                    1.0
                } else {
                    low / high
                }
            }
            _ => high - low,
        }
    }
}
