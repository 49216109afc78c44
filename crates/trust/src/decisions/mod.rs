//! Decisions under unequal costs.
