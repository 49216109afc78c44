//! One file per command.

pub mod audit;
pub mod calibrate;
pub mod cluster;
pub mod completions;
pub mod compress;
pub mod conformal;
pub mod convert;
pub mod demo;
pub mod diff;
pub mod evaluate;
pub mod explain;
pub mod fair;
pub mod fit;
pub mod images;
pub mod inspect;
pub mod models;
pub mod predict;
pub mod rebuild;
pub mod recommend;
pub mod reduce;
pub mod runs;
pub mod split;
pub mod text;
pub mod training;
pub mod words;
