//! Robustness of models of images: accuracy under an attack on the pixels, and what can be proven.

use serde_json::json;
use tove_nn::{Layer, Pass};
use tove_plot::{ImageGrid, LineChart};
use tove_tensor::{DType, Key, Tensor, TryOps};
use tove_trust::TrustError;
use tove_trust::certificates::{CertifiedPoint, CurveOptions, InputRegion, Network, Relaxation, certified_curve};
use tove_trust::robustness::{AttackNorm, InputRules, Pgd, RobustnessCurve, robustness_curve};

use crate::audit::{Audit, AuditSection, AuditSubject, AuditVerdict};
use crate::tabular::Result;
use crate::vision::{ImageModel, Net};

const NAME: &str = "robustness";
/// Images that are attacked, at most, and images for which a proof is tried.
const ATTACKED: usize = 300;
const PROVEN: usize = 50;
/// Steps of the attack.
const STEPS: usize = 20;
/// Images that are shown.
const SHOWN: usize = 8;
/// Sizes of the changes of a pixel in [0, 1].
const EPS: [f64; 3] = [0.01, 0.03, 0.1];
/// A loss of accuracy at the smallest size that is worth a warning.
const LOSS: f64 = 0.1;

pub(super) fn section(audit: &Audit, subject: &AuditSubject) -> Result<Option<AuditSection>> {
    let Some((model, x)) = &subject.images else { return Ok(None) };
    let eps = audit.sizes(&EPS);
    let n = subject.rows();
    let order = Key::new(audit.seed).fold(12).permutation(n);
    let part = |count: usize| -> Result<(Tensor, Tensor)> {
        let rows = order.try_narrow(0, 0, count.min(n))?;
        Ok((x.index_select(0, &rows).to_dtype(DType::F32), subject.truth.index_select(0, &rows)))
    };
    let (images, labels) = part(ATTACKED)?;
    let scores =
        |x: &Tensor| -> tove_trust::Result<Tensor> { Ok(model.net().forward(&framed(model, x)?, &Pass::eval())?) };
    let pgd = Pgd::new(AttackNorm::LInf).steps(STEPS).rules(InputRules::range(0.0, 1.0)).seed(audit.seed);
    let attack = |x: &Tensor, y: &Tensor, eps: f64| pgd.run(&scores, x, y, eps);
    let curve = robustness_curve(&scores, &images, &labels, &eps, attack)?;
    let (few, their_labels) = part(PROVEN)?;
    let proven = proven(model, &few, &their_labels, &eps)?;
    let shown = examples(model, &curve, (&images, &labels), &eps, |x, y, eps| Ok(pgd.run(&scores, x, y, eps)?.inputs))?;
    Ok(Some(report(&curve, proven.as_deref(), shown)))
}

fn framed(model: &ImageModel, x: &Tensor) -> tove_trust::Result<Tensor> {
    let fix = "give images of the size that the model takes";
    model.framed(x).map_err(|error| TrustError::data("audit", error.to_string(), fix))
}

/// The share of images that provably keep their class; none for nets other than fully-connected and convolutional ones.
fn proven(model: &ImageModel, x: &Tensor, labels: &Tensor, eps: &[f64]) -> Result<Option<Vec<CertifiedPoint>>> {
    let [channels, height, width] = model.config().input;
    let relaxation = match model.net() {
        Net::Mlp(_) => Relaxation::Crown,
        // Linear relaxation of every value of a convolutional net takes minutes.
        Net::Cnn(_) => Relaxation::Mixed,
        Net::Vit(_) => return Ok(None),
    };
    let network = Network::images([channels, height, width])?;
    let network = match model.net() {
        Net::Mlp(net) => network.mlp(net)?,
        Net::Cnn(net) => network.cnn(net)?,
        Net::Vit(_) => return Ok(None),
    };
    let bordered = framed(model, x)?;
    let rows = bordered.try_reshape([bordered.dims()[0], channels * height * width])?;
    // The border stays as it is.
    let inside =
        framed(model, &Tensor::ones([1, channels, model.input()[1], model.input()[2]], DType::F32))?.to_f64_vec();
    let (least, most) = (vec![0.0; inside.len()], vec![1.0; inside.len()]);
    let region = |row: &[f64], eps: f64| {
        let budgets: Vec<f64> = inside.iter().map(|pixel| pixel * eps).collect();
        InputRegion::around(row, &budgets, AttackNorm::LInf)?.within(&least, &most)
    };
    let options = CurveOptions { relaxation, ..CurveOptions::default() };
    Ok(Some(certified_curve(&network, &rows, labels, eps, region, &options)?))
}

/// Images that were right, with what the attack made of them.
fn examples(
    model: &ImageModel,
    curve: &RobustnessCurve,
    (images, labels): (&Tensor, &Tensor),
    eps: &[f64],
    attacked: impl Fn(&Tensor, &Tensor, f64) -> Result<Tensor>,
) -> Result<Option<ImageGrid>> {
    let broken = |size: f64| -> Vec<i64> {
        let rows = curve.broken_at.iter().enumerate().filter(|(_, at)| **at > 0.0 && **at <= size);
        rows.map(|(row, _)| row as i64).take(SHOWN).collect()
    };
    let Some((size, rows)) = eps.iter().map(|&size| (size, broken(size))).find(|(_, rows)| !rows.is_empty()) else {
        return Ok(None);
    };
    let rows = Tensor::from(rows);
    let (x, y) = (images.index_select(0, &rows), labels.index_select(0, &rows));
    let found = attacked(&x, &y, size)?;
    let [channels, height, width] = model.input();
    let grid = if channels == 1 { ImageGrid::grey(width, height) } else { ImageGrid::rgb(width, height) };
    let answers = model.predict_proba(&found).map(|p| p.argmax(-1).to_vec::<i64>()).unwrap_or_default();
    let values = found.to_f64_vec();
    let area = height * width;
    let pictures = values.chunks(channels * area).zip(&answers).zip(y.to_vec::<i64>());
    let name = |class: i64| model.classes().get(class as usize).map_or("", String::as_str).to_owned();
    let grid = pictures.fold(grid, |grid, ((pixels, answer), truth)| {
        let together: Vec<f64> =
            (0..area).flat_map(|place| (0..channels).map(move |channel| pixels[channel * area + place])).collect();
        grid.prediction(&together, name(*answer), name(truth))
    });
    Ok(Some(grid.columns(SHOWN).title(format!("Images changed by at most {size} per pixel"))))
}

fn report(curve: &RobustnessCurve, proven: Option<&[CertifiedPoint]>, shown: Option<ImageGrid>) -> AuditSection {
    let clean = curve.standard.value;
    let robust: Vec<f64> = curve.points.iter().map(|point| point.accuracy.value).collect();
    let eps: Vec<f64> = curve.points.iter().map(|point| point.eps).collect();
    let verdict = if clean - robust[0] > LOSS { AuditVerdict::Warning } else { AuditVerdict::Passed };
    let mut statement = format!(
        "Accuracy on {} attacked images is {clean:.3}; changes of every pixel by at most {} lower it to {:.3}",
        curve.standard.n, eps[0], robust[0]
    );
    match proven {
        Some(points) => statement.push_str(&format!(
            "; of {} images, {:.1} % provably keep their right class.",
            points[0].certified.n,
            100.0 * points[0].certified.value
        )),
        None => statement.push_str(", or less: an attack that fails proves nothing."),
    }
    let mut rows = vec![["eps", "accuracy under attack", "proven accuracy"].map(str::to_owned).to_vec()];
    for (place, size) in eps.iter().enumerate() {
        let safe = proven.map_or_else(|| "none".to_owned(), |points| format!("{:.3}", points[place].certified.value));
        rows.push(vec![size.to_string(), format!("{:.3}", robust[place]), safe]);
    }
    let from_zero = |first: f64, rest: &[f64]| [&[first], rest].concat();
    let x = from_zero(0.0, &eps);
    let mut chart = LineChart::new()
        .series("under attack", &x, &from_zero(clean, &robust))
        .y_limits(0.0, 1.0)
        .title("Accuracy by size of the change")
        .x_label("eps, of a pixel between 0 and 1")
        .y_label("accuracy");
    let certified = proven.map(|points| points.iter().map(|point| point.certified.value).collect::<Vec<f64>>());
    if let Some(safe) = &certified {
        chart = chart.series("proven", &eps, safe);
    }
    let section = AuditSection::new(NAME, verdict, statement)
        .table("Accuracy when pixels change by at most eps", rows)
        .chart(chart)
        .assuming(format!("Attack: {}. It gives an upper bound on robust accuracy; a stronger one may find more.", curve.attack))
        .figures(json!({
            "images": curve.standard.n, "accuracy": clean, "eps": eps, "accuracy_under_attack": robust,
            "proven_accuracy": certified, "proven_images": proven.map(|points| points[0].certified.n), "attack": curve.attack,
        }));
    match shown {
        Some(grid) => section.chart(grid),
        None => section,
    }
}
