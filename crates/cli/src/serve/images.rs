//! An image model behind HTTP: PNG or JPEG bytes, or JSON with images in base64, become class probabilities.

use serde_json::{Map, Value, json};
use tove::tensor::Tensor;
use tove::vision::ImageModel;

use super::predictor::Answer;
use super::refusal::Refusal;
use super::served::Workers;

/// What a body of images is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// One PNG or JPEG file.
    File,
    /// `{"image": BASE64}` or `{"images": [BASE64, ...]}`.
    Json,
}

impl Picture {
    /// By the content type; a body without one is taken for a file.
    pub fn of(content_type: &str) -> Result<Picture, Refusal> {
        let kind = content_type.to_ascii_lowercase();
        match kind.split(';').next().unwrap_or_default().trim() {
            "" | "image/png" | "image/jpeg" | "application/octet-stream" => Ok(Picture::File),
            kind if kind == "application/json" || kind.ends_with("+json") => Ok(Picture::Json),
            other => {
                let other: String = other.chars().take(80).collect();
                let advice = "send image/png, image/jpeg or application/json";
                Err(Refusal::new(415, format!("unsupported content type {other}; {advice}")))
            }
        }
    }
}

/// The model and how it is asked.
pub struct ImageServer {
    pub model: ImageModel,
    pub workers: Workers,
    max_images: usize,
}

impl ImageServer {
    pub fn new(model: ImageModel, max_images: usize) -> ImageServer {
        ImageServer { model, workers: Workers::new(), max_images }
    }

    /// What the model takes and gives.
    pub fn schema(&self) -> Value {
        let [channels, height, width] = self.model.input();
        json!({
            "input": {"channels": channels, "height": height, "width": width}, "classes": self.model.classes(),
            "facts": self.model.facts(),
        })
    }

    pub fn answer(&self, kind: Picture, body: &[u8]) -> Result<Answer, Refusal> {
        let images = match kind {
            Picture::File => vec![self.decode("the image", body)?],
            Picture::Json => self.images_of(body)?,
        };
        let mut predictions = Vec::with_capacity(images.len());
        // One by one: the last digits of a product may depend on how many images are in it.
        for image in &images {
            let probabilities = self.model.predict_proba(&image.unsqueeze(0));
            let probabilities = probabilities.map_err(|error| Refusal::fault(error.to_string()))?;
            predictions.push(self.prediction(&probabilities.to_f64_vec()));
        }
        Ok(Answer { rows: predictions.len(), document: json!({"predictions": predictions}).to_string() })
    }

    fn decode(&self, name: &str, bytes: &[u8]) -> Result<Tensor, Refusal> {
        if bytes.is_empty() {
            return Err(Refusal::bad(format!("{name} is empty; send a PNG or JPEG file")));
        }
        self.model.decode(name, bytes).map_err(|error| Refusal::bad(error.to_string()))
    }

    fn images_of(&self, body: &[u8]) -> Result<Vec<Tensor>, Refusal> {
        let form = r#"send {"image": BASE64} or {"images": [BASE64, ...]}"#;
        let document: Value =
            serde_json::from_slice(body).map_err(|error| Refusal::bad(format!("not valid JSON ({error}); {form}")))?;
        let members = document.as_object().filter(|members| members.len() == 1);
        let list = match members.and_then(|members| members.iter().next()) {
            Some((name, one)) if name == "image" => std::slice::from_ref(one),
            Some((name, Value::Array(list))) if name == "images" => list,
            _ => return Err(Refusal::bad(format!("the body has no images; {form}"))),
        };
        if list.is_empty() {
            return Err(Refusal::bad(format!("images: the list is empty; {form}")));
        }
        if list.len() > self.max_images {
            let most = self.max_images;
            return Err(Refusal::new(413, format!("more than {most} images; send fewer, or raise --max-rows")));
        }
        let image = |(place, one): (usize, &Value)| {
            let name = if members.is_some_and(|members| members.contains_key("image")) {
                "image".to_owned()
            } else {
                format!("images[{place}]")
            };
            let text = one.as_str().ok_or_else(|| Refusal::bad(format!("{name}: expected a string of base64")))?;
            let bytes = base64::decode(text)
                .map_err(|error| Refusal::bad(format!("{name}: not base64 ({error}); encode the bytes of the file")))?;
            self.decode(&name, &bytes)
        };
        list.iter().enumerate().map(image).collect()
    }

    /// The most probable class of an image, and the probabilities of all, by the names that predictions of tables have.
    fn prediction(&self, row: &[f64]) -> Value {
        let classes = self.model.classes();
        let best = (0..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best });
        let mut members = Map::new();
        members.insert("predicted class".to_owned(), json!(classes[best]));
        members.extend(classes.iter().zip(row).map(|(class, p)| (format!("P({class})"), json!(p))));
        members.into()
    }
}
