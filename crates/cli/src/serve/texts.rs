//! A text model behind HTTP: a prompt becomes a continuation.

use serde_json::{Value, json};
use tove::language::{Generation, ModelError, TextModel};

use super::predictor::Answer;
use super::refusal::Refusal;
use super::served::Workers;

/// What a body with a prompt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// The prompt itself.
    Plain,
    /// `{"prompt": TEXT, "length": N, "temperature": T, "top_k": K, "top_p": P, "seed": N}`, of which all but the prompt may be
    /// missing.
    Json,
}

impl Prompt {
    /// By the content type; a body without one is taken for JSON.
    pub fn of(content_type: &str) -> Result<Prompt, Refusal> {
        let kind = content_type.to_ascii_lowercase();
        match kind.split(';').next().unwrap_or_default().trim() {
            "text/plain" => Ok(Prompt::Plain),
            kind if kind.is_empty() || kind == "application/json" || kind.ends_with("+json") => Ok(Prompt::Json),
            other => {
                let other: String = other.chars().take(80).collect();
                let advice = "send application/json or text/plain";
                Err(Refusal::new(415, format!("unsupported content type {other}; {advice}")))
            }
        }
    }
}

/// A request, with the defaults of what is missing.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    prompt: String,
    length: Option<usize>,
    temperature: Option<f64>,
    top_k: Option<usize>,
    top_p: Option<f64>,
    seed: Option<u64>,
}

/// The model and how it is asked.
pub struct TextServer {
    pub model: TextModel,
    pub workers: Workers,
    pub max_tokens: usize,
}

impl TextServer {
    pub fn new(model: TextModel, max_tokens: usize) -> TextServer {
        TextServer { model, workers: Workers::new(), max_tokens }
    }

    /// What the model takes.
    pub fn schema(&self) -> Value {
        let tokens = self.model.tokens();
        json!({
            "tokens": tokens.kind().name(), "vocabulary": tokens.len(), "context": self.model.net().config().context,
            "max_tokens": self.max_tokens, "facts": self.model.facts(),
        })
    }

    pub fn answer(&self, kind: Prompt, body: &[u8]) -> Result<Answer, Refusal> {
        let request = match kind {
            Prompt::Plain => {
                let prompt = String::from_utf8(body.to_vec());
                let prompt = prompt.map_err(|_| Refusal::bad("the prompt is not UTF-8; send UTF-8"))?;
                Request { prompt, length: None, temperature: None, top_k: None, top_p: None, seed: None }
            }
            Prompt::Json => serde_json::from_slice(body).map_err(|error| {
                Refusal::bad(format!(r#"not a valid request ({error}); send {{"prompt": TEXT, "length": N}}"#))
            })?,
        };
        let usual = Generation::default();
        let generation = Generation {
            length: request.length.unwrap_or(usual.length.min(self.max_tokens)),
            temperature: request.temperature.unwrap_or(usual.temperature),
            top_k: request.top_k,
            top_p: request.top_p,
            seed: request.seed.unwrap_or(usual.seed),
        };
        if generation.length > self.max_tokens {
            let (asked, most) = (generation.length, self.max_tokens);
            return Err(Refusal::new(413, format!("length {asked}: at most {most} tokens; raise --max-tokens")));
        }
        let refused = |error: ModelError| match error {
            ModelError::Setting { .. } | ModelError::Unsuited { .. } => Refusal::bad(error.to_string()),
            other => Refusal::fault(other.to_string()),
        };
        let sampling = generation.sampling().map_err(refused)?;
        let text = self.model.generate(&request.prompt, generation.length, &sampling).map_err(refused)?;
        let continuation = text.strip_prefix(&request.prompt).unwrap_or(&text);
        let document = json!({
            "prompt": request.prompt, "continuation": continuation, "tokens": generation.length, "seed": generation.seed,
        });
        Ok(Answer { rows: 1, document: document.to_string() })
    }
}
