//! The crate people depend on.
