//! Attacks and what is promised of them: syllabus K8 to K17.
#![allow(clippy::unwrap_used)]

mod art;
mod black_box;
mod curve;
mod estimators;
mod foolbox;
mod gradients;
mod norms;
mod projected;
mod refusals;
mod stealing;
mod tables;
mod toys;
mod training;
