//! Einstein summation: values against plain loops, errors, derivatives, cost of several operands.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use tove_tensor::{DType, Key, Tensor, grad, jvp, meter, vmap};

fn normal(seed: u64, shape: &[usize]) -> Tensor {
    Key::new(seed).normal(shape, DType::F64)
}

fn close(name: &str, a: &Tensor, b: &Tensor) {
    assert_eq!(a.shape(), b.shape(), "{name}");
    let (a, b) = (a.to_f64_vec(), b.to_f64_vec());
    assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() <= 1e-11 * (1.0 + y.abs())), "{name}: {a:?} {b:?}");
}

/// The definition, for equations of letters alone: a loop over all values of all indices.
fn plain(equation: &str, operands: &[&Tensor]) -> Tensor {
    let (inputs, output) = equation.split_once("->").unwrap();
    let terms: Vec<&str> = inputs.split(',').collect();
    let mut sizes: BTreeMap<char, usize> = BTreeMap::new();
    for (term, operand) in terms.iter().zip(operands) {
        sizes.extend(term.chars().zip(operand.dims().iter().copied()));
    }
    let shape: Vec<usize> = output.chars().map(|c| sizes[&c]).collect();
    let mut data = vec![0.0; shape.iter().product()];
    let total: usize = sizes.values().product();
    for count in 0..total {
        let mut rest = count;
        let mut index: BTreeMap<char, usize> = BTreeMap::new();
        for (&letter, &size) in &sizes {
            index.insert(letter, rest % size);
            rest /= size;
        }
        let value = |(term, x): (&&str, &&Tensor)| x.at::<f64>(&term.chars().map(|c| index[&c]).collect::<Vec<_>>());
        let position = output.chars().zip(&shape).fold(0, |position, (c, &size)| position * size + index[&c]);
        data[position] += terms.iter().zip(operands).map(value).product::<f64>();
    }
    Tensor::from_vec(data, shape)
}

#[test]
fn agrees_with_the_loop_over_all_indices() {
    let sizes = BTreeMap::from([('a', 2), ('b', 3), ('c', 4), ('d', 2), ('i', 3), ('j', 4), ('k', 2)]);
    let equations = [
        "a->a",
        "ab->ba",
        "ab->",
        "aa->",
        "aa->a",
        "aab->b",
        "abab->ab",
        "aaa->a",
        "ab,bc->ac",
        "ab,bc->ca",
        "ab,ab->",
        "ab,ab->ab",
        "ab,a->ba",
        "a,b->ab",
        "a,b,c->cab",
        "ab,cd->abcd",
        "ab,bc,cd->ad",
        "ab,ac,ad->bcd",
        "ab,ab,ab->b",
        "aab,bc->ac",
        "aab,bbc->ac",
        "abc,abd->cd",
        "abc,adc->bd",
        "abcd,cd->ab",
        "ijk,kij->j",
        "abc,cba->b",
        "ab,c->a",
        "a,a,a,a->",
        "ab,bc,ca->",
        ",ab->ab",
        "ab,,b->a",
    ];
    for equation in equations {
        let (inputs, _) = equation.split_once("->").unwrap();
        let operands: Vec<Tensor> = inputs
            .split(',')
            .enumerate()
            .map(|(seed, term)| normal(seed as u64, &term.chars().map(|c| sizes[&c]).collect::<Vec<_>>()))
            .collect();
        let operands: Vec<&Tensor> = operands.iter().collect();
        close(equation, &Tensor::einsum(equation, &operands), &plain(equation, &operands));
    }
}

#[test]
fn ellipsis_and_implicit_results() {
    let (a, b) = (normal(1, &[5, 1, 2, 3]), normal(2, &[4, 3, 2]));
    close("broadcast", &Tensor::einsum("...ij,...jk->...ik", &[&a, &b]), &a.matmul(&b));
    close("implicit", &Tensor::einsum("...ij, ...jk", &[&a, &b]), &a.matmul(&b));
    close("moved", &Tensor::einsum("i...->...i", &[&b]), &b.permute(&[1, 2, 0]));
    close("summed", &Tensor::einsum("...j->...", &[&a]), &a.sum_axes(&[-1], false));
    close("alphabetical", &Tensor::einsum("ba", &[&a.get(0).get(0)]), &a.get(0).get(0).t());
    close("trace", &Tensor::einsum("...ii", &[&normal(3, &[4, 2, 2])]), &normal(3, &[4, 2, 2]).trace());
    close(
        "all of size one",
        &Tensor::einsum("...,...->...", &[&normal(4, &[1]), &normal(5, &[1, 1])]),
        &(normal(4, &[1]) * normal(5, &[1, 1])),
    );
    let whole = (Tensor::from([[1i64, 2], [3, 4]]), Tensor::from([[5i64, 6], [7, 8]]));
    assert_eq!(Tensor::einsum("ij,jk", &[&whole.0, &whole.1]).to_vec::<i64>(), [19, 22, 43, 50]);
    let empty = Tensor::einsum("ij,jk->ik", &[&normal(1, &[2, 0]), &normal(1, &[0, 3])]);
    assert_eq!(empty.to_vec::<f64>(), [0.0; 6]);
}

#[test]
fn errors_say_what_is_wrong() {
    let (a, b) = (normal(1, &[2, 3]), normal(2, &[4, 5]));
    let message =
        |equation: &str, operands: &[&Tensor]| Tensor::try_einsum(equation, operands).unwrap_err().to_string();
    for (equation, operands, words) in [
        ("ij,jk->ik", vec![&a, &b], "index 'j' has size 3 before and size 4 in operand 1"),
        ("ij,jk->ik", vec![&a], "2 terms for 1 operands"),
        ("ijk->i", vec![&a], "names 3 axes"),
        ("ij->k", vec![&a], "'k' of the result is in no operand"),
        ("ij->ii", vec![&a], "'i' is twice in the result"),
        ("i1->i", vec![&a], "'1' is no index"),
        ("i..->i", vec![&a], "three dots"),
        ("......->i", vec![&a], "three dots"),
        ("ij->j->i", vec![&a], "is no index"),
        ("ii->i", vec![&a], "index 'i' has size 2 before and size 3"),
    ] {
        let message = message(equation, &operands);
        assert!(message.starts_with("einsum") && message.contains(words), "{equation}: {message}");
    }
}

#[test]
fn derivatives_and_batches() {
    let (x, w) = (normal(1, &[3, 3]), normal(2, &[3, 4]));
    let f = |x: &Tensor| Tensor::einsum("ii,ij,jk->k", &[x, x, &w]).square().sum();
    let direction = normal(3, &[3, 3]);
    let step = 1e-5f64;
    let slope = (f(&(&x + &direction * step)) - f(&(&x - &direction * step))) * (0.5 / step);
    for value in [(grad(f)(&x) * &direction).sum(), jvp(f, &x, &direction).1] {
        assert!((value.item::<f64>() / slope.item::<f64>() - 1.0).abs() < 1e-8);
    }
    let batch = normal(4, &[5, 3, 3]);
    let mapped = vmap(|x: &Tensor| Tensor::einsum("ij,jk->k", &[x, &w]))(&batch);
    close("vmap", &mapped, &Tensor::einsum("bij,jk->bk", &[&batch, &w]));
}

#[test]
fn the_cheapest_pair_is_multiplied_first() {
    // (A B) v by the best order: B v first, 2 · (n² + n²) operations instead of 2 · (n³ + n²).
    let n = 40;
    let (a, b, v) = (normal(1, &[n, n]), normal(2, &[n, n]), normal(3, &[n]));
    let (_, cost) = meter::measure(|| Tensor::einsum("ij,jk,k->i", &[&a, &b, &v]));
    assert_eq!(cost.flops_of("matmul"), 4 * (n * n) as u64);
}
