//! The pictures, a file per kind.

pub mod bars;
pub mod contour;
pub mod curves;
pub mod decision;
pub mod dependence;
pub mod heat;
pub mod histogram;
pub mod images;
pub mod line;
mod plane;
pub mod reliability;
pub mod scatter;
pub mod scores;
pub mod temperature;
