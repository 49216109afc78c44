//! B10 (the engine's half), B12, B13, B17, B19 and B22: traces, reverse programs and graphs.

use std::collections::BTreeMap;

use tove_tensor::autodiff::Source;
use tove_tensor::symbolic::Expr;
use tove_tensor::testing::values;
use tove_tensor::{
    DType, Scheme, Tensor, Trace, grad, hvp, jacfwd, jvp, meter, numerical_jacobian, value_and_grad, vjp,
};

use crate::common::{Case, load};
use crate::support::{TOL32, TOL64, close, input, output, tensor};

#[test]
fn b10_shared_values_are_computed_once() {
    // The derivative of a sin x + b x sin x as an expression: sin once, cos once.
    let expression: Expr = "a*sin(x) + b*x*sin(x)".parse().unwrap();
    let (value, calls) = expression.diff("x").evaluate_counted(&[("a", 2.0), ("b", 3.0), ("x", 1.0)]).unwrap();
    assert_eq!(calls.into_iter().collect::<Vec<_>>(), [("cos", 1), ("sin", 1)]);
    assert!((value - 5.225_924_484).abs() < 5e-10);
    // In the engine: what the forward pass computed is cached for the backward pass, not evaluated again.
    let (a, b) = (2.0, 3.0);
    let f = |x: &Tensor| {
        let sine = x.sin();
        &sine * a + x * &sine * b
    };
    let (slope, cost) = meter::measure(|| grad(f)(&Tensor::scalar(1.0)));
    assert!((slope.item::<f64>() - 5.225_924_484).abs() < 1e-9);
    assert_eq!(cost.calls("sin"), 1);
    let net = |x: &Tensor| (x.exp().tanh() * x.sigmoid()).sqrt().sum();
    let forward = meter::measure(|| net(&(values(4, 1).abs()))).1;
    let both = meter::measure(|| grad(net)(&(values(4, 1).abs()))).1;
    for op in ["exp", "tanh", "sigmoid", "sqrt"] {
        assert_eq!((forward.calls(op), both.calls(op)), (1, 1), "{op}");
    }
}

/// h_i = tanh(w_i h_{i-1} + b_i), y = Σ h_l: from the second step on the input is the preceding h.
fn program(x: &[Tensor]) -> Tensor {
    let layers = x[1..].chunks(2);
    layers.fold(x[0].clone(), |h, p| (h.matmul(&p[0].t()) + &p[1]).tanh()).sum()
}

fn program_inputs() -> Vec<Tensor> {
    let sizes = [3, 5, 4, 2];
    let mut inputs = vec![values([2, 3], 1)];
    for (i, pair) in sizes.windows(2).enumerate() {
        inputs.push(values([pair[1], pair[0]], 2 + i as u64) * 0.4);
        inputs.push(values(pair[1], 12 + i as u64) * 0.1);
    }
    inputs
}

#[test]
fn b12_evaluation_trace_prints_and_replays() {
    let inputs = program_inputs();
    let trace = Trace::of(program, &inputs);
    let text = trace.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), inputs.len() + trace.steps().len() + 1);
    assert_eq!(trace.steps().iter().filter(|step| step.op() == "tanh").count(), 3);
    // Each product takes the preceding layer's tanh, not x; x is used once.
    let mut previous = Source::Input(0);
    for (j, step) in trace.steps().iter().enumerate() {
        match step.op() {
            "matmul" => assert_eq!(trace.number(&step.inputs()[0]), trace.number(&previous), "{text}"),
            "tanh" => previous = Source::Step(j),
            _ => {}
        }
        let own = inputs.len() + j;
        let printed = lines[own];
        assert!(printed.starts_with(&format!("%{own} = {}(", step.op())), "{printed}");
        for number in step.inputs().iter().filter_map(|source| trace.number(source)) {
            assert!(number < own && printed.contains(&format!("%{number}")), "{printed}");
        }
        assert!(printed.ends_with(&format!("    {} f64", step.value().shape())), "{printed}");
    }
    assert_eq!(text.matches("(%0").count(), 1, "{text}");
    assert_eq!(lines.last(), Some(&format!("return %{}", trace.variables() - 1).as_str()));
    let bits = |x: &Tensor| x.to_vec::<f64>().into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(&trace.replay(&inputs).unwrap()), bits(&program(&inputs)));
    let mut others = inputs.clone();
    others[0] = values([2, 3], 99);
    assert_eq!(bits(&trace.replay(&others).unwrap()), bits(&program(&others)));
    assert!(trace.replay(&others[1..]).is_err());
    others[0] = values([3, 3], 99);
    assert!(trace.replay(&others).unwrap_err().to_string().contains("(3, 3) and (2, 3)"));
}

/// Masks and positions computed from the inputs are part of the program, derivatives inside it are spelled out, and
/// traces nest.
#[test]
fn traces_see_through_masks_derivatives_and_traces() {
    let x = [values(5, 1)];
    let other = [-values(5, 1)];
    let masked = |x: &[Tensor]| x[0].gt_scalar(0.0).select(&x[0].square(), &(&x[0] * 3.0)).sum();
    let trace = Trace::of(masked, &x);
    assert_eq!(trace.replay(&other).unwrap().item::<f64>(), masked(&other).item::<f64>());
    assert_eq!(
        trace.adjoints().unwrap()[0].to_vec::<f64>(),
        grad(|x: &Tensor| masked(std::slice::from_ref(x)))(&x[0]).to_vec::<f64>()
    );

    let curvature = |x: &[Tensor]| hvp(|x: &Tensor| x.sin().sum(), &x[0], &x[0]).sum();
    let trace = Trace::of(curvature, &x);
    assert!(trace.steps().iter().any(|step| step.op() == "cos"), "{trace}");
    close(&trace.replay(&other).unwrap(), &curvature(&other), 1e-14);
    close(&trace.adjoints().unwrap()[0], &grad(|x: &Tensor| curvature(std::slice::from_ref(x)))(&x[0]), 1e-14);

    let nested = Trace::of(|x| Trace::of(|x| x[0].exp(), x).value().sum(), &x);
    assert_eq!(nested.steps().iter().map(|step| step.op()).collect::<Vec<_>>(), ["exp", "sum"]);
    let slope =
        grad(|x: &Tensor| Trace::of(|x| x[0].sin().sum(), std::slice::from_ref(x)).adjoints().unwrap()[0].sum())(&x[0]);
    close(&slope, &-x[0].sin(), 1e-15);
}

fn parameters(case: &Case) -> Vec<Tensor> {
    (1..=4).flat_map(|i| [input(case, &format!("w{i}")), input(case, &format!("b{i}"))]).collect()
}

fn layer(h: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
    h.matmul(&w.t()) + b
}

/// Mean cross-entropy of a tanh net 5-7-6-4-3.
fn net(x: &Tensor, chosen: &Tensor, p: &[Tensor]) -> Tensor {
    let h = p[..6].chunks(2).fold(x.clone(), |h, p| layer(&h, &p[0], &p[1]).tanh());
    let scores = layer(&h, &p[6], &p[7]);
    let shifted = &scores - scores.max_axes(&[1], true).detach();
    let log_probabilities = &shifted - shifted.exp().sum_axes(&[1], true).ln();
    -(log_probabilities * chosen).sum() / x.dims()[0] as f64
}

#[test]
fn b13_one_gradient_per_parameter_in_every_mode() {
    let fixture = load("jax_derivatives");
    let case = fixture.case("b13 net");
    let (x, labels, parameters) = (input(case, "x"), case.input("labels").to_i64(), parameters(case));
    let mut chosen = vec![0.0; labels.len() * 3];
    labels.iter().enumerate().for_each(|(row, &label)| chosen[3 * row + label as usize] = 1.0);
    let chosen = Tensor::from_vec(chosen, [labels.len(), 3]);
    let (loss, reverse) = value_and_grad(|p: &Vec<Tensor>| net(&x, &chosen, p))(&parameters);
    close(&loss, &output(case, "y"), TOL64);
    assert_eq!(reverse.len(), parameters.len());
    for (i, (gradient, parameter)) in reverse.iter().zip(&parameters).enumerate() {
        assert_eq!(gradient.shape(), parameter.shape());
        let name = format!("{}{}", ["w", "b"][i % 2], 1 + i / 2);
        close(gradient, &tensor(case.grad(&name)), TOL64);
        let of_this = |p: &Tensor| {
            let mut all = parameters.clone();
            all[i] = p.clone();
            net(&x, &chosen, &all)
        };
        let forward = jacfwd(of_this, parameter);
        let numerical = numerical_jacobian(of_this, parameter, Scheme::Central, 1e-5).jacobian;
        close(&forward, gradient, TOL64);
        close(&numerical, gradient, 1e-6);
        close(&numerical, &forward, 1e-6);
    }
}

/// The loop of reverse mode by hand: store the program, start from 1ᵀ, walk back layer by layer.
fn reverse_loop(x: &Tensor, parameters: &[Tensor]) -> (Tensor, Vec<Tensor>, Vec<Tensor>) {
    let mut h = x.clone();
    let mut program = Vec::new();
    for p in parameters.chunks(2) {
        let (value, pull) =
            vjp(|(h, w, b): &(Tensor, Tensor, Tensor)| layer(h, w, b).tanh(), &(h, p[0].clone(), p[1].clone()));
        program.push(pull);
        h = value;
    }
    let mut adjoint = h.ones_like(); // of h_l
    let (mut adjoints, mut gradients) = (vec![adjoint.clone()], Vec::new());
    for pull in program.iter().rev() {
        let (before, dw, db) = pull(&adjoint);
        adjoint = before; // now of h_{i-1}
        adjoints.push(adjoint.clone());
        gradients.splice(0..0, [dw, db]);
    }
    adjoints.reverse();
    (h.sum(), adjoints, gradients)
}

#[test]
fn b17_reverse_loop_yields_the_adjoint_before_each_step() {
    let fixture = load("jax_derivatives");
    let case = fixture.case("b17 adjoints");
    let (y, adjoints, gradients) = reverse_loop(&input(case, "x"), &parameters(case));
    close(&y, &output(case, "y"), TOL64);
    assert_eq!(adjoints.len(), 5);
    for (i, adjoint) in adjoints.iter().enumerate() {
        close(adjoint, &output(case, &format!("adjoint h{i}")), TOL64);
    }
    for (i, gradient) in gradients.iter().enumerate() {
        close(gradient, &tensor(case.grad(&format!("{}{}", ["w", "b"][i % 2], 1 + i / 2))), TOL64);
    }
    let fixture = load("torch_f32");
    let case = fixture.case("b17 chain");
    let x = input(case, "x");
    assert_eq!(x.dtype(), DType::F32);
    let (y, adjoints, gradients) = reverse_loop(&x, &parameters(case));
    close(&y, &output(case, "y"), TOL32);
    close(&adjoints[0], &tensor(case.grad("x")), TOL32);
    for (i, gradient) in gradients.iter().enumerate() {
        close(gradient, &tensor(case.grad(&format!("{}{}", ["w", "b"][i % 2], 1 + i / 2))), TOL32);
    }
}

#[test]
fn b19_dual_program_has_one_adjoint_per_variable() {
    let x = values([2, 3], 1);
    let w = values([3, 2], 2);
    // %0 = x, %1 = w, %2 = sin x, %3 = %2 w, %4 = tanh %3, %5 = %4 %3, %6 = sum
    let f = |p: &[Tensor]| {
        let product = p[0].sin().matmul(&p[1]);
        (product.tanh() * &product).sum()
    };
    let inputs = [x.clone(), w.clone()];
    let trace = Trace::of(f, &inputs);
    let adjoints = trace.adjoints().unwrap();
    assert_eq!(adjoints.len(), trace.variables());
    let dual = trace.dual();
    println!("{dual}");
    let rows: Vec<(&str, &str)> = dual.lines().skip(1).filter_map(|line| line.split_once(" | ")).collect();
    assert_eq!(rows.len(), trace.variables());
    for (number, (primal, reverse)) in rows.iter().enumerate() {
        assert!(primal.starts_with(&format!("%{number} = ")), "{dual}");
        assert!(reverse.starts_with(&format!("~%{number} = ")), "{dual}");
        assert_eq!(adjoints[number].shape(), trace.variable(number).unwrap().shape());
    }
    assert_eq!(rows[3].1, "~%3 = ~%4 d%4/d%3 + ~%5 d%5/d%3");
    assert_eq!(rows[6].1, "~%6 = 1");
    // The rest of the program as a function of each variable, differentiated by differences and by the engine.
    let value = |number: usize| trace.variable(number).unwrap().clone();
    type Rest<'a> = Box<dyn Fn(&Tensor) -> Tensor + 'a>;
    let rest: Vec<Rest<'_>> = vec![
        Box::new(|v| f(&[v.clone(), w.clone()])),
        Box::new(|v| f(&[x.clone(), v.clone()])),
        Box::new(|v| (v.matmul(&w).tanh() * v.matmul(&w)).sum()),
        Box::new(|v| (v.tanh() * v).sum()),
        Box::new(|v| (v * value(3)).sum()),
        Box::new(|v| v.sum()),
        Box::new(|v| v.clone()),
    ];
    assert_eq!(rest.len(), trace.variables());
    for (number, rest) in rest.iter().enumerate() {
        assert_eq!(rest(&value(number)).item::<f64>(), trace.value().item::<f64>(), "%{number}");
        close(&adjoints[number], &grad(rest)(&value(number)), TOL64);
        let numerical = numerical_jacobian(rest, &value(number), Scheme::Central, 1e-5).jacobian;
        close(&adjoints[number], &numerical, 1e-6);
    }
}

/// Numbers in nested brackets, flattened.
fn numbers(text: &str) -> Vec<f64> {
    let plain = text.replace(['[', ']', ' '], "");
    plain.split(',').map(|number| number.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))).collect()
}

/// The text between `start` and the next mark.
fn between<'a>(line: &'a str, start: &str, end: &str) -> &'a str {
    let rest = &line[line.find(start).unwrap_or_else(|| panic!("{start} in {line}")) + start.len()..];
    &rest[..rest.find(end).unwrap_or_else(|| panic!("{end} in {line}"))]
}

/// Derivatives by each node, from nothing but the exported text: upstream times local, summed over edges.
fn gradients_from_dot(dot: &str) -> BTreeMap<String, Vec<f64>> {
    let mut found: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in dot.lines().filter(|line| line.contains("local=")) {
        let from = line.trim().split(' ').next().unwrap().to_string();
        let local = numbers(between(line, "local=", " upstream="));
        let upstream = numbers(between(line, " upstream=", "\"];"));
        let columns = local.len() / upstream.len();
        let sum = found.entry(from).or_insert_with(|| vec![0.0; columns]);
        for (row, u) in upstream.iter().enumerate() {
            (0..columns).for_each(|column| sum[column] += u * local[row * columns + column]);
        }
    }
    found
}

#[test]
fn b22_graph_export_reproduces_the_gradient() {
    let scalars = |p: &[Tensor]| (&p[0] * &p[1] + p[0].exp()).tanh() / (&p[1] + 3.0);
    let tensors = |p: &[Tensor]| (p[0].matmul(&p[1]).tanh() * &p[2]).square().mean();
    type Function = dyn Fn(&[Tensor]) -> Tensor;
    // Constants and a mask: what would flow into them is shown too, and a mask has no derivative.
    let masked = |p: &[Tensor]| {
        let scaled = &p[0] * values(3, 9);
        scaled.gt_scalar(0.0).select(&scaled, &p[1]).sum()
    };
    let cases: [(&Function, Vec<Tensor>); 3] = [
        (&masked, vec![values(3, 4), values(3, 5)]),
        (&scalars, vec![Tensor::scalar(0.4), Tensor::scalar(-1.3)]),
        (&tensors, vec![values([2, 3], 1), values([3, 2], 2), values(2, 3)]),
    ];
    for (f, inputs) in cases {
        let trace = Trace::of(f, &inputs);
        let dot = trace.to_dot_with(usize::MAX).unwrap();
        assert!(dot.starts_with("digraph") && dot.trim_end().ends_with('}'));
        let found = gradients_from_dot(&dot);
        let exact = grad(|x: &Vec<Tensor>| f(x))(&inputs);
        for (i, gradient) in exact.iter().enumerate() {
            let exported = Tensor::from_vec(found[&format!("v{i}")].clone(), gradient.shape());
            close(&exported, gradient, TOL64);
        }
        // Every node shows its value and its gradient, every edge a local and an upstream derivative.
        for (number, adjoint) in trace.adjoints().unwrap().iter().enumerate() {
            let line = dot.lines().find(|line| line.contains(&format!("  v{number} ["))).unwrap();
            let value = numbers(between(line, "tooltip=\"value=", " gradient="));
            assert_eq!(value, trace.variable(number).unwrap().to_f64_vec());
            assert_eq!(numbers(between(line, " gradient=", "\"];")), adjoint.to_f64_vec());
        }
        let edges = dot.lines().filter(|line| line.contains(" -> ")).count();
        let labelled = dot.lines().filter(|line| line.contains("label=\"local ") && line.contains("upstream ")).count();
        let without = dot.lines().filter(|line| line.contains("label=\"no derivative\"")).count();
        let discrete = |source: &Source| match source {
            Source::Constant(value) => !value.dtype().is_float(),
            other => !trace.variable(trace.number(other).unwrap()).unwrap().dtype().is_float(),
        };
        let undifferentiable = trace.steps().iter().flat_map(|step| {
            let whole = !step.value().dtype().is_float();
            step.inputs().iter().filter(move |source| whole || discrete(source))
        });
        assert_eq!((edges, without), (labelled + without, undifferentiable.count()));
        assert_eq!(edges, trace.steps().iter().map(|step| step.inputs().len()).sum::<usize>());
    }
    let large = Trace::of(|x| x[0].sin().sum(), &[values([10, 10], 1)]).to_dot().unwrap();
    assert!(large.contains("Jacobian (100, 100)") && large.contains("(10, 10)"), "{large}");
}

/// Forward-mode counterpart: a trace is an ordinary function for the other transformations.
#[test]
fn replay_can_be_differentiated() {
    let inputs = program_inputs();
    let trace = Trace::of(program, &inputs);
    let (_, replayed) = jvp(|x: &Vec<Tensor>| trace.replay(x).unwrap(), &inputs, &inputs);
    let (_, direct) = jvp(|x: &Vec<Tensor>| program(x), &inputs, &inputs);
    close(&replayed, &direct, 1e-14);
}
