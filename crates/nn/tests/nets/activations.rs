//! H12 to H19: non-linearities.

use tove_nn::{Error, Init, Layer, Linear, ModuleExt, Nonlinearity, PRelu, Pass, Rng, Sequential};
use tove_optim::Sgd;
use tove_tensor::{DType, Key, Tensor, grad, gradcheck, no_grad};

use crate::support::{TOL64, agrees, case, close, near, tensor};

fn apply(phi: Nonlinearity, s: &Tensor) -> Tensor {
    phi.apply(s).unwrap()
}

fn slope(phi: Nonlinearity, s: &Tensor) -> Tensor {
    grad(|s: &Tensor| apply(phi, s).sum())(s)
}

#[track_caller]
fn gradient_checks(phi: Nonlinearity) {
    gradcheck(|x| apply(phi, &x[0]), &[Tensor::from([-3.1, -1.2, -0.4, 0.3, 0.9, 2.2])]).unwrap();
}

#[track_caller]
fn equals_torch(phi: Nonlinearity, name: &str) {
    agrees(&mut phi.clone(), case(&format!("activation {name}")), &Pass::eval());
}

#[test]
fn h12_sigmoid_and_tanh() {
    let (sigma, tanh) = (Nonlinearity::Sigmoid, Nonlinearity::Tanh);
    let s = Tensor::linspace(-20.0, 20.0, 4001);
    let value = apply(sigma, &s);
    close(&value, &(1.0 / ((-&s).exp() + 1.0)), TOL64);
    close(&slope(sigma, &s), &(&value * &(1.0 - &value)), TOL64);
    let steepest = slope(sigma, &s).max().item::<f64>();
    assert!(steepest <= 0.25 && steepest > 0.25 - 1e-12);
    close(&apply(tanh, &s), &(apply(sigma, &(&s * 2.0)) * 2.0 - 1.0), TOL64);
    close(&slope(tanh, &s), &(1.0 - apply(tanh, &s).square()), TOL64);
    for (phi, name) in [(sigma, "sigmoid"), (tanh, "tanh")] {
        gradient_checks(phi);
        equals_torch(phi, name);
    }
    // Zero-centred or not, tanh saturates on both sides.
    assert!(slope(tanh, &Tensor::from([-20.0, 20.0])).max().item::<f64>() < 1e-8);
}

#[test]
fn h13_relu_equals_pytorch_exactly() {
    let case = case("activation relu");
    let x = tensor(case.input("x")).requires_grad();
    let y = Nonlinearity::Relu.forward(&x, &Pass::eval()).unwrap();
    assert_eq!(y.to_vec::<f32>(), case.output("y").to_f32());
    (&y * &tensor(case.input("upstream"))).sum().backward();
    assert_eq!(x.grad().unwrap().to_vec::<f32>(), case.grad("x").to_f32());
    // Only the positive side is free of saturation.
    let s = Tensor::from([-1000.0, -1.0, -1e-300, 1e-300, 1.0, 1000.0]);
    assert_eq!(slope(Nonlinearity::Relu, &s).to_vec::<f64>(), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
}

#[test]
fn h15_leaky_and_parametric_relu_equal_pytorch() {
    equals_torch(Nonlinearity::LeakyRelu(0.01), "leaky relu");
    agrees(&mut PRelu::new(1), case("activation prelu"), &Pass::eval()); // at 0, too
    agrees(&mut PRelu::new(3), case("prelu of neurons"), &Pass::eval());
    agrees(&mut PRelu::new(3), case("prelu of channels"), &Pass::eval());
    // By a: min(s, 0), summed over what shares it.
    let (layer, s) = (PRelu::new(1), Tensor::from([[-2.0f32, 3.0], [-0.5, 0.0]]));
    layer.forward(&s, &Pass::eval()).unwrap().sum().backward();
    assert_eq!(layer.weight.grad().unwrap().to_vec::<f32>(), [-2.5]);
    let wrong = PRelu::new(3).forward(&s, &Pass::eval()).unwrap_err().to_string();
    assert!(wrong.contains("3 slopes"), "{wrong}");
}

#[test]
fn h15_only_the_parametric_slope_changes_in_training() {
    let train = |middle: Box<dyn Layer>| {
        let mut rng = Rng::new(5);
        let mut net = Sequential::new().add(Linear::new(3, 8, &mut rng)).add(middle).add(Linear::new(8, 1, &mut rng));
        let (x, mut sgd) = (Key::new(1).normal([32, 3], DType::F32), Sgd::new(0.1));
        let y = x.abs().sum_axes(&[1], true);
        for _ in 0..20 {
            (net.forward(&x, &Pass::train(Key::new(0))).unwrap() - &y).square().mean().backward();
            sgd.step(&mut net.parameters_mut()).unwrap();
        }
        net.state().into_iter().find(|(name, _)| name == "1.weight").map(|(_, slopes)| slopes.to_vec::<f32>())
    };
    assert_eq!(train(Box::new(Nonlinearity::LeakyRelu(0.01))), None); // nothing to learn
    let slopes = train(Box::new(PRelu::new(8))).unwrap();
    assert!(slopes.iter().all(|&a| a != 0.25), "{slopes:?}");
}

#[test]
fn h16_softplus_and_elu() {
    let (softplus, elu) = (Nonlinearity::Softplus, Nonlinearity::Elu(1.0));
    near(apply(softplus, &Tensor::from([0.0])).item(), std::f64::consts::LN_2, 1e-15);
    let far = Tensor::from([-1000.0, 1000.0]);
    assert_eq!(apply(softplus, &far).to_vec::<f64>(), [0.0, 1000.0]);
    assert_eq!(slope(softplus, &far).to_vec::<f64>(), [0.0, 1.0]);
    let s = Tensor::linspace(-30.0, 30.0, 601);
    assert!(apply(softplus, &s).min().item::<f64>() > 0.0);
    close(&slope(softplus, &s), &s.sigmoid(), TOL64);
    near(apply(elu, &Tensor::from([-1.0])).item(), -0.632_121, 5e-7);
    for phi in [softplus, elu] {
        let around = slope(phi, &Tensor::from([-1e-9, 0.0, 1e-9])).to_vec::<f64>();
        assert!((around[0] - around[2]).abs() < 1e-8 && (around[1] - around[2]).abs() < 1e-8, "{around:?}");
        gradient_checks(phi);
    }
    equals_torch(softplus, "softplus");
    equals_torch(elu, "elu");
}

#[test]
fn gelu_and_silu_equal_pytorch() {
    equals_torch(Nonlinearity::Gelu, "gelu");
    equals_torch(Nonlinearity::GeluTanh, "gelu tanh");
    equals_torch(Nonlinearity::Silu, "silu");
    [Nonlinearity::Gelu, Nonlinearity::GeluTanh, Nonlinearity::Silu].into_iter().for_each(gradient_checks);
}

#[test]
fn h17_the_step_is_the_limit_of_slopes_but_cannot_be_trained() {
    let s = Tensor::from([-0.1, 0.1]);
    let step = apply(Nonlinearity::Step, &s);
    assert_eq!(step.to_vec::<f64>(), [0.0, 1.0]);
    let error = |a: f64| (apply(Nonlinearity::SlopeSigmoid(a), &s) - &step).abs().max().item::<f64>();
    assert!(error(1000.0) < 1e-9 && error(100.0) < error(10.0) && error(10.0) < error(1.0));
    // At 0 the indicator gives 1, the limit of the slopes is 1/2.
    let zero = Tensor::from([0.0]);
    assert_eq!(apply(Nonlinearity::Step, &zero).item::<f64>(), 1.0);
    assert_eq!(apply(Nonlinearity::SlopeSigmoid(1e9), &zero).item::<f64>(), 0.5);
    // A neuron s = wᵀx − b with a step: evaluated, not trained.
    let (weight, bias) = (Tensor::from([[1.0, 2.0]]).requires_grad(), Tensor::from([-1.0]).requires_grad());
    let neuron = Sequential::new().add(Linear { weight, bias: Some(bias) }).add(Nonlinearity::Step);
    let x = Tensor::from([[1.0, 0.0], [0.5, 0.2], [0.0, 0.6]]);
    let refused = neuron.forward(&x, &Pass::train(Key::new(0))).unwrap_err();
    assert!(matches!(refused, Error::Setting { what: "Step", .. }), "{refused}");
    let fired = no_grad(|| neuron.forward(&x, &Pass::eval())).unwrap();
    assert_eq!(fired.to_vec::<f64>(), [1.0, 0.0, 1.0]);
}

#[test]
fn h18_the_root_guards_its_domain() {
    let wrong = Nonlinearity::SquareRoot.apply(&Tensor::from([1.0, -0.25])).unwrap_err().to_string();
    assert!(wrong.contains("-0.25") && wrong.contains("ReLU before it"), "{wrong}");
    assert_eq!(apply(Nonlinearity::SquareRoot, &Tensor::from([0.0, 4.0])).to_vec::<f64>(), [0.0, 2.0]);
}

#[test]
fn h19_saturated_units_pass_almost_no_gradient() {
    let s = Tensor::from([-20.0, 20.0]);
    for phi in [Nonlinearity::Sigmoid, Nonlinearity::Tanh] {
        assert!(slope(phi, &s).abs().max().item::<f64>() < 1e-8);
    }
}

/// Share of the more frequent sign among the gradients of one unit's weights, for one sample; a mean over units and
/// samples. Weights whose input is 0 have no sign.
fn uniformity(phi: Nonlinearity) -> f64 {
    let mut rng = Rng::new(11);
    let linear =
        |inputs, outputs, rng: &mut Rng| Linear::new(inputs, outputs, rng).init(Init::XavierNormal(1.0), rng).unwrap();
    let (first, second) = (linear(16, 200, &mut rng), linear(200, 10, &mut rng));
    let mut shares = Vec::new();
    for sample in 0..20 {
        let x = Key::new(sample).normal([1, 16], DType::F32);
        let hidden = phi.forward(&first.forward(&x, &Pass::eval()).unwrap(), &Pass::eval()).unwrap();
        second.weight.set_grad(None);
        second.forward(&hidden, &Pass::eval()).unwrap().tanh().sum().backward();
        for unit in second.weight.grad().unwrap().to_vec::<f32>().chunks(200) {
            let count = |sign: f32| unit.iter().filter(|&&g| g * sign > 0.0).count() as f64;
            shares.push(count(1.0).max(count(-1.0)) / (count(1.0) + count(-1.0)));
        }
    }
    shares.iter().sum::<f64>() / shares.len() as f64
}

#[test]
fn h19_positive_inputs_force_one_sign_on_a_units_gradients() {
    assert_eq!(uniformity(Nonlinearity::Sigmoid), 1.0);
    assert_eq!(uniformity(Nonlinearity::Relu), 1.0);
    // 200 fair coins: the more frequent side has a share of 0.5 + 0.4 / √200 = 0.528 on average.
    near(uniformity(Nonlinearity::Tanh), 0.528, 0.02);
}
