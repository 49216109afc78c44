//! `tove images predict`: classes of images, from files and folders.
//!
//! A file that is not an image does not stop the others: it is listed at the end with the reason. The call fails if
//! no file could be read, or with `--strict` if any could not.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use tove::tensor::Tensor;
use tove::vision::{ImageModel, image_files};

use crate::arguments::ImagesPredict;
use crate::failure::Failure;
use crate::output::{Output, table};

/// Pictures that are answered together.
const BATCH: usize = 256;

/// An image's probabilities, or why it has none.
type Answer = (PathBuf, Result<Vec<f64>, String>);

pub fn run(predict: &ImagesPredict, output: &Output) -> Result<(), Failure> {
    let model = ImageModel::load(&predict.model)?;
    let mut files = Vec::new();
    for path in &predict.files {
        if path.is_dir() { files.extend(image_files(path)?) } else { files.push(path.clone()) }
    }
    let mut answers: Vec<Answer> = Vec::with_capacity(files.len());
    for batch in files.chunks(BATCH) {
        answers.extend(answer(&model, batch)?);
    }
    let refused: Vec<&String> = answers.iter().filter_map(|(_, answer)| answer.as_ref().err()).collect();
    if refused.len() == answers.len() {
        let more =
            if refused.len() > 1 { format!("; none of {} files could be read", refused.len()) } else { String::new() };
        let first = refused.first().map_or("there are no images to read", |problem| problem.as_str());
        return Err(Failure::work(format!("{first}{more}")));
    }
    output.result(|| text(&model, &answers), || document(&model, &answers))?;
    refused.iter().for_each(|problem| output.remark(format!("not read: {problem}")));
    if predict.strict && !refused.is_empty() {
        return Err(Failure::work(format!("{} of {} files could not be read", refused.len(), answers.len())));
    }
    Ok(())
}

/// The answers to some files.
fn answer(model: &ImageModel, files: &[PathBuf]) -> Result<Vec<Answer>, Failure> {
    let images: Vec<Result<Tensor, String>> =
        files.iter().map(|file| model.read(file).map_err(|error| Failure::from(error).to_string())).collect();
    let sound: Vec<&Tensor> = images.iter().flatten().collect();
    let mut all = Vec::new();
    if !sound.is_empty() {
        all = model.predict_proba(&Tensor::stack(&sound, 0))?.to_f64_vec();
    }
    let mut rows = all.chunks(model.classes().len().max(1)).map(<[f64]>::to_vec);
    let answers =
        files.iter().zip(images).map(|(file, image)| (file.clone(), image.map(|_| rows.next().unwrap_or_default())));
    Ok(answers.collect())
}

fn best(row: &[f64]) -> usize {
    (0..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best })
}

fn text(model: &ImageModel, answers: &[Answer]) -> String {
    let mut cells = vec![["file", "class", "probability"].map(str::to_owned).to_vec()];
    for (file, answer) in answers {
        let Ok(row) = answer else { continue };
        let class = best(row);
        cells.push(vec![file.display().to_string(), model.classes()[class].clone(), format!("{:.4}", row[class])]);
    }
    table(&cells)
}

fn document(model: &ImageModel, answers: &[Answer]) -> Value {
    let entry = |(file, answer): &Answer| {
        let file = file.display().to_string();
        let row = match answer {
            Ok(row) => row,
            Err(problem) => return json!({"file": file, "problem": problem}),
        };
        let all: Map<String, Value> = model.classes().iter().cloned().zip(row.iter().map(|&p| json!(p))).collect();
        let class = best(row);
        json!({"file": file, "class": model.classes()[class], "probability": row[class], "probabilities": all})
    };
    answers.iter().map(entry).collect()
}
