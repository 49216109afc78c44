//! Calibration: how well probabilities match frequencies, and how to make them match.
