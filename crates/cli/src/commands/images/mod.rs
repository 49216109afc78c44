//! `tove images`: neural networks that classify images.

mod fit;
mod page;
mod predict;
mod transfer;

use crate::arguments::{Images, ImagesAction};
use crate::failure::Failure;
use crate::output::Output;

pub fn run(images: &Images, output: &Output) -> Result<(), Failure> {
    match &images.action {
        ImagesAction::Fit(fit) => fit::run(fit, output),
        ImagesAction::Predict(predict) => predict::run(predict, output),
        ImagesAction::Transfer(transfer) => transfer::run(transfer, output),
    }
}
