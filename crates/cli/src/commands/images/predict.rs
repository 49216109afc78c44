//! `tove images predict`.

use serde_json::{Map, Value, json};
use tove::tensor::Tensor;

use super::folder::single;
use super::model::ImageModel;
use crate::arguments::ImagesPredict;
use crate::failure::Failure;
use crate::output::{Output, table};

pub fn run(predict: &ImagesPredict, output: &Output) -> Result<(), Failure> {
    let model = ImageModel::load(&predict.model)?;
    let wanted = model.picture();
    let mut images = Vec::new();
    for file in &predict.files {
        images.push(single(file, wanted)?);
    }
    let x = model.framed(&Tensor::stack(&images.iter().collect::<Vec<_>>(), 0));
    let all = model.net.probabilities(&x)?.to_f64_vec();
    let rows: Vec<&[f64]> = all.chunks(model.classes.len()).collect();
    let best = |row: &[f64]| (0..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best });
    let names: Vec<String> = predict.files.iter().map(|file| file.display().to_string()).collect();
    let text = || {
        let mut cells = vec![["file", "class", "probability"].map(str::to_owned).to_vec()];
        for (name, row) in names.iter().zip(&rows) {
            let class = best(row);
            cells.push(vec![name.clone(), model.classes[class].clone(), format!("{:.4}", row[class])]);
        }
        table(&cells)
    };
    let document = || {
        let entry = |(name, row): (&String, &&[f64])| {
            let all: Map<String, Value> = model.classes.iter().cloned().zip(row.iter().map(|&p| json!(p))).collect();
            let class = best(row);
            json!({"file": name, "class": model.classes[class], "probability": row[class], "probabilities": all})
        };
        names.iter().zip(&rows).map(entry).collect()
    };
    output.result(text, document)
}
