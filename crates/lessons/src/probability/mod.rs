//! Probability and estimation: distributions, likelihoods, posteriors.
//!
//! | module | contents |
//! |---|---|
//! | [`joint`] | tables of discrete joint probabilities: marginals, conditionals, products |
//! | [`distribution`] | normal, multivariate normal, Laplace, categorical and Bernoulli distributions |
//! | [`likelihood`] | the likelihood of a data set and its logarithm; the most likely of several models |
//! | [`linear_gaussian`] | y = Xw + ε with normal ε: estimates, Fisher information, bounds |
//! | [`prior`] | priors over weights, as densities and as penalties; MAP estimates |
//! | [`posterior`] | Bayes' theorem over a finite set of models, model averaging, conjugate families |
//!
//! Parameters are tensors that broadcast against the data, and log-densities consist of tensor operations, so they are
//! differentiable with respect to both.

pub mod distribution;
pub mod joint;
pub mod likelihood;
pub mod linear_gaussian;
pub mod posterior;
pub mod prior;

pub use distribution::{Bernoulli, Categorical, Distribution, Laplace, MultivariateNormal, Normal};
pub use joint::JointTable;
pub use likelihood::{DataLikelihood, data_likelihood, most_likely};
pub use linear_gaussian::LinearGaussian;
pub use posterior::{BetaBernoulli, ConjugateLinear, FinitePosterior, average_of_draws};
pub use prior::{MapEstimate, Prior, map_estimate};
