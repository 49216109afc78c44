//! Smaller steps when a value stops improving.

use crate::settings::{Hyperparameters, SettingError};

/// Settings of [`ReduceOnPlateau`]. Defaults are PyTorch's.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "ReduceOnPlateau")]
pub struct ReduceOnPlateauSettings {
    /// What a reduction multiplies the step size by.
    #[hyper(default = 0.1, range = "(0, 1)")]
    pub factor: f64,
    /// Observations without improvement that are forgiven.
    #[hyper(default = 10)]
    pub patience: usize,
    /// An improvement is a value below (1 − threshold) times the best; above (1 + threshold) times, if larger is better.
    #[hyper(default = 1e-4, range = "[0, 1)")]
    pub threshold: f64,
    /// Observations after a reduction that do not count.
    #[hyper(default = 0)]
    pub cooldown: usize,
    /// The smallest factor in all.
    #[hyper(default = 0.0, range = "[0, 1]")]
    pub floor: f64,
    /// Whether larger values are better, as for a score.
    #[hyper(default = false)]
    pub larger_is_better: bool,
}

/// Multiplies the step size by a factor whenever an observed value, such as the loss on held-out data, has not improved
/// for more than `patience` observations.
///
/// ```
/// use tove_optim::{ReduceOnPlateau, ReduceOnPlateauSettings};
/// let mut plateau = ReduceOnPlateau::build(ReduceOnPlateauSettings::default().patience(1).factor(0.5))?;
/// let factors: Vec<f64> = [3.0, 2.0, 2.0, 2.0, 1.0].iter().map(|&loss| plateau.observe(loss)).collect();
/// assert_eq!(factors, [1.0, 1.0, 1.0, 0.5, 0.5]);
/// # Ok::<(), tove_optim::settings::SettingError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReduceOnPlateau {
    settings: ReduceOnPlateauSettings,
    best: Option<f64>,
    stale: usize,
    cooling: usize,
    factor: f64,
}

impl ReduceOnPlateau {
    /// Nothing observed so far; the settings are checked.
    pub fn build(settings: ReduceOnPlateauSettings) -> Result<ReduceOnPlateau, SettingError> {
        settings.validate()?;
        Ok(ReduceOnPlateau { settings, best: None, stale: 0, cooling: 0, factor: 1.0 })
    }

    /// Takes a value in and returns the factor of the base step size from now on. NaN counts as no improvement.
    pub fn observe(&mut self, value: f64) -> f64 {
        if self.improves(value) {
            (self.best, self.stale) = (Some(value), 0);
        } else {
            self.stale += 1;
        }
        if self.cooling > 0 {
            self.cooling -= 1;
            self.stale = 0;
        }
        if self.stale > self.settings.patience {
            self.factor = (self.factor * self.settings.factor).max(self.settings.floor);
            (self.cooling, self.stale) = (self.settings.cooldown, 0);
        }
        self.factor
    }

    /// Forgets everything observed.
    pub fn restart(&mut self) {
        (self.best, self.stale, self.cooling, self.factor) = (None, 0, 0, 1.0);
    }

    /// Whether larger values are better.
    pub fn larger_is_better(&self) -> bool {
        self.settings.larger_is_better
    }

    /// The present factor.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    fn improves(&self, value: f64) -> bool {
        let threshold = self.settings.threshold;
        match self.best {
            None => !value.is_nan(),
            Some(best) if self.settings.larger_is_better => value > best * (1.0 + threshold),
            Some(best) => value < best * (1.0 - threshold),
        }
    }
}
