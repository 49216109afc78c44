//! Fairness: how predictions and errors differ between groups, and how to make them differ less.
