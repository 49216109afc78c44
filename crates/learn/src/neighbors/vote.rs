//! How much each neighbor counts.

use tove_optim::settings::Choice;

/// Weights of the neighbors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum NeighborWeights {
    /// All count the same.
    #[default]
    Uniform,
    /// One over the distance; samples at distance 0 count alone where there are any.
    Distance,
}

impl NeighborWeights {
    /// The weights of neighbors with these distances, ascending; they sum to 1.
    pub(super) fn of(self, neighbors: &[(f64, u32)]) -> Vec<f64> {
        let weights: Vec<f64> = match (self, neighbors.first()) {
            (NeighborWeights::Uniform, _) | (_, None) => vec![1.0; neighbors.len()],
            // Relative to the nearest one, since one over a tiny distance overflows.
            (NeighborWeights::Distance, Some(&(nearest, _))) if nearest > 0.0 => {
                neighbors.iter().map(|(distance, _)| nearest / distance).collect()
            }
            (NeighborWeights::Distance, _) => {
                neighbors.iter().map(|(distance, _)| f64::from(u8::from(*distance == 0.0))).collect()
            }
        };
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / total).collect()
    }
}
