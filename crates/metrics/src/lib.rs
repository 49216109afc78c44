//! Scores of predictions, with their intervals and curves.
