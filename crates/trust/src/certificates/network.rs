//! A net as a list of steps whose bounds are known, made from layers of tove_nn.

use tove_nn::{AvgPool2d, BatchNorm, Cnn, Conv2d, Layer, Linear, Mlp, Nonlinearity, Pass};
use tove_tensor::{DType, PoolOptions, Tensor};

use super::affine::Affine;
use super::convolution::{convolution, mean_pool, windows};
use super::relaxation::Bend;
use crate::{Result, TrustError};

pub(super) const WHAT: &str = "Network";

/// One step of a net.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Affine(Affine),
    Bend(Bend),
    /// Per output the inputs of which it is the largest.
    Largest(Vec<Vec<u32>>),
}

/// A net for certificates: affine maps, activations and max pooling, in evaluation mode, on flattened inputs. Affine maps
/// that follow each other become one, so scaling in front of a net costs nothing and bounds hold through it.
///
/// ```
/// use tove_nn::{Mlp, Rng};
/// use tove_trust::certificates::{InputRegion, Network, Relaxation};
/// use tove_trust::robustness::AttackNorm;
/// let net = Network::scaled(&[0.1, 2.0], &[0.0, -1.0])?.mlp(&Mlp::new(&[2, 8, 3], &mut Rng::new(1)))?;
/// let region = InputRegion::around(&[5.0, 0.25], &[0.5, 0.01], AttackNorm::LInf)?;
/// let bounds = net.bounds(&region, Relaxation::Crown)?;
/// let z = net.evaluate(&[5.2, 0.245])?;
/// assert!((0..3).all(|i| bounds.lower[i] <= z[i] && z[i] <= bounds.upper[i]));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    pub(super) steps: Vec<Step>,
    inputs: usize,
    /// Channels, height and width of the present value, where it is an image.
    image: Option<[usize; 3]>,
    outputs: usize,
    epsilon: f64,
}

impl Network {
    /// The identity on so many features.
    ///
    /// # Errors
    /// If there are none.
    pub fn new(inputs: usize) -> Result<Network> {
        if inputs == 0 {
            return Err(TrustError::argument(WHAT, "0 features; give at least 1"));
        }
        Ok(Network { steps: Vec::new(), inputs, image: None, outputs: inputs, epsilon: f64::EPSILON })
    }

    /// The identity on images of these channels, height and width; inputs are flattened in this order.
    ///
    /// # Errors
    /// If one of them is 0.
    pub fn images(shape: [usize; 3]) -> Result<Network> {
        Ok(Network { image: Some(shape), ..Network::new(shape.iter().product())? })
    }

    /// x ↦ scale ∘ x + shift: preprocessing as the first layer.
    ///
    /// # Errors
    /// No features, different lengths, numbers that are not finite.
    pub fn scaled(scale: &[f64], shift: &[f64]) -> Result<Network> {
        Network::new(scale.len())?.scale(scale, shift)
    }

    /// The same net with x ↦ scale ∘ x + shift behind it; an image stays one.
    ///
    /// # Errors
    /// Lengths other than the number of outputs, numbers that are not finite.
    pub fn scale(self, scale: &[f64], shift: &[f64]) -> Result<Network> {
        let finite = scale.iter().chain(shift).all(|x| x.is_finite());
        if scale.len() != shift.len() || !finite {
            let problem = format!("{} scales and {} shifts, which must be finite", scale.len(), shift.len());
            return Err(TrustError::data(WHAT, problem, "give both for each feature"));
        }
        self.step(Affine::diagonal(scale, shift))
    }

    /// Number of features.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The relative precision at which the net is computed: that of its widest rounding.
    pub(super) fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The same net with this affine map behind it.
    pub(super) fn step(mut self, affine: Affine) -> Result<Network> {
        if affine.inputs() != self.outputs {
            let problem = format!("a layer for {} inputs after one with {} outputs", affine.inputs(), self.outputs);
            return Err(TrustError::data(WHAT, problem, "give layers whose sizes fit"));
        }
        self.outputs = affine.outputs();
        match self.steps.last_mut() {
            Some(Step::Affine(before)) if is_diagonal(before) || is_diagonal(&affine) => *before = affine.after(before),
            _ => self.steps.push(Step::Affine(affine)),
        }
        Ok(self)
    }

    fn precision(mut self, dtype: DType) -> Network {
        if dtype == DType::F32 {
            self.epsilon = f64::from(f32::EPSILON);
        }
        self
    }

    /// The same net with y = W x + c behind it; W is (outputs, inputs).
    ///
    /// # Errors
    /// Sizes that do not fit, numbers that are not finite.
    pub fn affine(self, weights: &Tensor, bias: Option<&Tensor>) -> Result<Network> {
        let affine = Affine::dense(WHAT, weights, bias)?;
        let mut net = self.step(affine)?.precision(weights.dtype());
        net.image = None;
        Ok(net)
    }

    /// The same net with a fully-connected layer behind it. Images are flattened.
    ///
    /// # Errors
    /// As [`Network::affine`].
    pub fn linear(self, layer: &Linear) -> Result<Network> {
        self.affine(&layer.weight.detach(), layer.bias.as_ref().map(Tensor::detach).as_ref())
    }

    /// The same net with an activation behind it: ReLU, leaky ReLU, tanh, sigmoid or the identity.
    ///
    /// # Errors
    /// Another activation.
    pub fn activation(mut self, activation: Nonlinearity) -> Result<Network> {
        self.steps.extend(Bend::of(activation)?.map(Step::Bend));
        Ok(self)
    }

    /// The same net with a multi-layer perceptron behind it; dropout does nothing in evaluation.
    ///
    /// # Errors
    /// Sizes that do not fit, an activation without bounds, dropout that scales in evaluation.
    pub fn mlp(self, net: &Mlp) -> Result<Network> {
        let mut all = self;
        for (index, layer) in net.layers.iter().enumerate() {
            all = all.linear(layer)?;
            if let Some(activation) = net.activations.get(index) {
                all = all.activation(*activation)?;
            }
        }
        Ok(all)
    }

    fn shape(&self, layer: &str) -> Result<[usize; 3]> {
        self.image.ok_or_else(|| {
            let problem = format!("{layer} takes images, and the value before it is not one");
            TrustError::data(WHAT, problem, "start with `Network::images`")
        })
    }

    /// The same net with a convolution behind it.
    ///
    /// # Errors
    /// If the value before it is not an image that fits.
    pub fn conv2d(self, layer: &Conv2d) -> Result<Network> {
        let shape = self.shape("a convolution")?;
        let (affine, after) = convolution(shape, layer)?;
        let net = self.step(affine)?.precision(layer.weight.dtype());
        Ok(Network { image: Some(after), ..net })
    }

    /// The same net with a batch norm behind it, with its running statistics.
    ///
    /// # Errors
    /// If the channels do not fit.
    pub fn batch_norm(self, layer: &BatchNorm) -> Result<Network> {
        let shape = self.image.unwrap_or([self.outputs, 1, 1]);
        let per_channel = |tensor: &Tensor| crate::input::numbers(WHAT, "statistics of a batch norm", tensor, shape[0]);
        let (mean, var) = (per_channel(&layer.running_mean.get())?, per_channel(&layer.running_var.get())?);
        let (weight, bias) = (per_channel(&layer.weight)?, per_channel(&layer.bias)?);
        let scale: Vec<f64> = weight.iter().zip(&var).map(|(w, var)| w / (var + layer.eps).sqrt()).collect();
        let area = shape[1] * shape[2];
        let spread = |of: &dyn Fn(usize) -> f64| (0..shape[0] * area).map(|i| of(i / area)).collect::<Vec<f64>>();
        let affine = Affine::diagonal(&spread(&|c| scale[c]), &spread(&|c| bias[c] - mean[c] * scale[c]));
        let image = self.image;
        let net = self.step(affine)?.precision(layer.weight.dtype());
        Ok(Network { image, ..net })
    }

    /// The same net with average pooling behind it.
    ///
    /// # Errors
    /// If the value before it is not an image that fits.
    pub fn avg_pool2d(self, options: &PoolOptions) -> Result<Network> {
        let shape = self.shape("average pooling")?;
        let (affine, after) = mean_pool(shape, options)?;
        // The layer itself is asked once, so that the rule for the padding is its own.
        let x = Tensor::from_vec(
            (0..shape.iter().product::<usize>()).map(|i| (i % 17) as f64).collect(),
            [1, shape[0], shape[1], shape[2]],
        );
        let own = AvgPool2d::with(*options).forward(&x, &Pass::eval())?.to_f64_vec();
        let ours = affine.apply(&x.to_f64_vec());
        if own.len() != ours.len() || own.iter().zip(&ours).any(|(a, b)| (a - b).abs() > 1e-9 * (1.0 + a.abs())) {
            let problem = "this kind of average pooling is not supported";
            return Err(TrustError::unsupported(WHAT, problem, "use windows without padding"));
        }
        Ok(Network { image: Some(after), ..self.step(affine)? })
    }

    /// The same net with max pooling behind it. Bounds of it are those of its inputs (intervals), with the largest input as
    /// a line where it is always the same one.
    ///
    /// # Errors
    /// If the value before it is not an image that fits.
    pub fn max_pool2d(mut self, options: &PoolOptions) -> Result<Network> {
        let shape = self.shape("max pooling")?;
        let (windows, after) = windows(shape, options.kernel, options.stride, options.padding, [1, 1])?;
        let windows: Vec<Vec<u32>> =
            windows.into_iter().map(|window| window.into_iter().map(|(_, place)| place as u32).collect()).collect();
        self.outputs = windows.len();
        self.steps.push(Step::Largest(windows));
        Ok(Network { image: Some(after), ..self })
    }

    /// The same net with a small convolutional net behind it.
    ///
    /// # Errors
    /// If the value before it is not an image that fits.
    pub fn cnn(self, net: &Cnn) -> Result<Network> {
        let mut all = self;
        for (index, conv) in net.convs.iter().enumerate() {
            all = all.conv2d(conv)?;
            if let Some(norm) = net.norms.get(index) {
                all = all.batch_norm(norm)?;
            }
            all = all.activation(Nonlinearity::Relu)?.max_pool2d(&PoolOptions::new(2))?;
        }
        all.linear(&net.fc1)?.activation(Nonlinearity::Relu)?.linear(&net.fc2)
    }

    /// The outputs for one flattened input, in double precision.
    ///
    /// # Errors
    /// An input of another width, or with numbers that are not finite; outputs that overflow.
    pub fn evaluate(&self, x: &[f64]) -> Result<Vec<f64>> {
        self.check_row(x)?;
        let outputs = self.values(x).pop().unwrap_or_default();
        if outputs.iter().any(|z| !z.is_finite()) {
            return Err(TrustError::data(WHAT, "the outputs for the row overflow", "scale the features"));
        }
        Ok(outputs)
    }

    pub(super) fn check_row(&self, x: &[f64]) -> Result<()> {
        if x.len() != self.inputs || x.iter().any(|x| !x.is_finite()) {
            let problem = format!("a row of {} numbers for {} features, which must be finite", x.len(), self.inputs);
            return Err(TrustError::data(WHAT, problem, "give a number per feature"));
        }
        Ok(())
    }

    /// The input of every step, and the output.
    pub(super) fn values(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let mut values = vec![x.to_vec()];
        for (index, step) in self.steps.iter().enumerate() {
            let x = &values[index];
            values.push(match step {
                Step::Affine(affine) => affine.apply(x),
                Step::Bend(bend) => x.iter().map(|x| bend.value(*x)).collect(),
                Step::Largest(windows) => windows.iter().map(|window| x[largest(window, x)]).collect(),
            });
        }
        values
    }

    /// The class of outputs: the largest one, ties go to the first; of a single output whether it is positive.
    pub(super) fn class_of(outputs: &[f64]) -> usize {
        match outputs {
            [z] => usize::from(*z > 0.0),
            _ => outputs.iter().enumerate().fold(0, |best, (i, z)| if *z > outputs[best] { i } else { best }),
        }
    }

    /// The predicted class of an input: the largest output, ties go to the first; of a single output 1 if it is positive.
    ///
    /// # Errors
    /// As [`Network::evaluate`].
    pub fn predict(&self, x: &[f64]) -> Result<usize> {
        Ok(Network::class_of(&self.evaluate(x)?))
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.outputs.max(2)
    }

    pub(super) fn check_class(&self, class: usize) -> Result<()> {
        if class < self.classes() {
            return Ok(());
        }
        Err(TrustError::argument(WHAT, format!("class {class} of {}; count from 0", self.classes())))
    }

    /// The rows C of the margins C z that are positive where `class` is predicted.
    pub(super) fn margin_rows(&self, class: usize) -> Vec<Vec<f64>> {
        if self.outputs == 1 {
            return vec![vec![if class == 1 { 1.0 } else { -1.0 }]];
        }
        let row = |other: usize| {
            let mut row = vec![0.0; self.outputs];
            (row[class], row[other]) = (1.0, -1.0);
            row
        };
        (0..self.outputs).filter(|other| *other != class).map(row).collect()
    }
}

fn is_diagonal(affine: &Affine) -> bool {
    (0..affine.outputs()).all(|o| affine.row(o).all(|(i, _)| i == o))
}

/// The place of the largest input of a window.
pub(super) fn largest(window: &[u32], x: &[f64]) -> usize {
    let places = window.iter().map(|&place| place as usize);
    places.fold(window[0] as usize, |best, place| if x[place] > x[best] { place } else { best })
}
