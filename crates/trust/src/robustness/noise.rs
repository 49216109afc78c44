//! Random noise of a given norm: what every attack has to beat.

use tove_tensor::{Key, Tensor};

use super::AttackNorm;
use super::model::QueryModel;
use super::result::AttackResult;
use super::rows::{Batch, classes};
use super::rules::InputRules;
use super::start::on_sphere;
use crate::Result;

const WHAT: &str = "RandomNoise";

/// Random perturbations on the boundary of the ball, moved into the ranges: uniform on the sphere for l1 and l2, random signs
/// for l∞.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::robustness::{AttackNorm, RandomNoise};
/// let model = |x: &Tensor| Ok(x.clone());
/// let (x, labels) = (Tensor::from([[0.9, 0.2], [0.2, 0.9]]), Tensor::from([0i64, 1]));
/// let noise = RandomNoise::new(AttackNorm::L2).run(&model, &x, &labels, 0.1)?;
/// assert_eq!(noise.success, [false, false]);
/// assert!(noise.distances.iter().all(|size| (size - 0.1).abs() < 1e-9));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RandomNoise {
    norm: AttackNorm,
    rules: InputRules,
    seed: u64,
}

impl RandomNoise {
    /// Noise in this norm, for any inputs.
    pub fn new(norm: AttackNorm) -> RandomNoise {
        RandomNoise { norm, rules: InputRules::default(), seed: 0 }
    }

    /// The inputs that are allowed. Categories keep their values.
    #[must_use]
    pub fn rules(self, rules: InputRules) -> RandomNoise {
        RandomNoise { rules, ..self }
    }

    /// Decides the random numbers; initially 0.
    #[must_use]
    pub fn seed(self, seed: u64) -> RandomNoise {
        RandomNoise { seed, ..self }
    }

    /// Adds noise of size `eps` to each row that is predicted right.
    ///
    /// # Errors
    /// A budget that is not positive or beyond the data range; inputs or labels that do not fit.
    pub fn run(&self, model: &dyn QueryModel, x: &Tensor, labels: &Tensor, eps: f64) -> Result<AttackResult> {
        let batch = Batch::read(WHAT, x)?;
        let space = self.rules.space(WHAT, &batch)?;
        space.budget(WHAT, self.norm, eps)?;
        space.admit(WHAT, &batch)?;
        let labels = classes(WHAT, labels, batch.len())?;
        let wrong = |x: &Tensor| -> Result<Vec<bool>> {
            Ok(model.query_labels(x)?.iter().zip(&labels).map(|(a, b)| a != b).collect())
        };
        let already_wrong = wrong(x)?;
        let mut points = batch.values().to_vec();
        let ball = (self.norm, eps);
        for (row, point) in points.chunks_exact_mut(batch.width()).enumerate().filter(|(row, _)| !already_wrong[*row]) {
            let x = batch.row(row);
            let noise = on_sphere(self.norm, x.len(), Key::new(self.seed).fold(row as u64));
            let mut delta: Vec<f64> =
                noise.iter().zip(&space.scale).map(|(noise, scale)| eps * noise * scale).collect();
            space.project(self.norm, eps, x, &mut delta);
            space.place(ball, x, x, &delta, point);
        }
        let distances = batch.rows().zip(points.chunks_exact(batch.width()));
        let distances = distances.map(|(x, point)| space.distance(self.norm, x, point)).collect();
        let inputs = batch.tensor_of(points)?;
        let success = wrong(&inputs)?;
        let (attack, queries) = (format!("random noise in the {} norm", self.norm.name()), 2 * batch.len() as u64);
        Ok(AttackResult {
            attack,
            norm: self.norm,
            eps,
            inputs,
            success,
            already_wrong,
            distances,
            queries,
            gradients: 0,
        })
    }
}
