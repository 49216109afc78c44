//! Certificates: proven bounds on what any attack within a budget can do.
