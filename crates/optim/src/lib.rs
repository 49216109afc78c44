//! Step rules.
