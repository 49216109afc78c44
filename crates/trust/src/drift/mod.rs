//! Drift: are new rows drawn from the distribution of the training rows?
