//! The layer under all pictures.

pub(crate) mod axes;
pub(crate) mod frame;
pub(crate) mod number;
pub(crate) mod png;
pub(crate) mod scale;
pub(crate) mod scene;
pub(crate) mod text;
pub(crate) mod theme;
