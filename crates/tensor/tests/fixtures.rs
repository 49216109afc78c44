//! The fixtures themselves: readable, complete, small, and with the versions of what computed them.

mod common;

use common::{Array, Case, Fixture, load};

/// Together they must stay small enough to clone and to read in every test.
const MOST_BYTES: usize = 1_500_000;

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(common::folder()).expect("the folder of fixtures");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
    entries.map(|entry| name(entry).to_string_lossy().trim_end_matches(".json").to_string()).collect()
}

/// Files of bare number pairs with a layout of their own; they name their library at the beginning.
const OWN_LAYOUT: [&str; 1] = ["math_f64"];

fn all() -> impl Iterator<Item = (String, Fixture)> {
    let uniform = names().into_iter().filter(|name| !OWN_LAYOUT.contains(&name.as_str()));
    uniform.map(|name| (name.clone(), load(&name)))
}

#[test]
fn all_files_together_are_small() {
    let length = |name: &String| {
        let path = common::folder().join(format!("{name}.json"));
        std::fs::read(path).expect("a readable fixture").len()
    };
    let bytes: usize = names().iter().map(length).sum();
    assert!(bytes < MOST_BYTES, "{bytes} bytes of fixtures");
}

#[test]
fn versions_are_recorded() {
    for file in OWN_LAYOUT {
        let text = std::fs::read_to_string(common::folder().join(format!("{file}.json"))).expect("a readable fixture");
        assert!(text.starts_with("{\"library\":\"mpmath 1."), "{file}");
    }
    for (file, Fixture { versions, cases }) in all() {
        assert!(!cases.is_empty(), "{file} is empty");
        assert!(versions.keys().any(|name| name != "python"), "{file}: which library? {versions:?}");
        for (name, version) in versions {
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{file}: {name} {version:?}");
        }
    }
}

#[test]
fn gradients_have_the_shapes_of_their_inputs_and_upstreams_of_their_outputs() {
    for (file, fixture) in all() {
        for Case { name, inputs, outputs, grads, .. } in &fixture.cases {
            for (key, grad) in grads {
                assert_eq!(Some(&grad.shape), inputs.get(key).map(|input| &input.shape), "{file}: {name}: {key}");
            }
            if let Some(upstream) = inputs.get("upstream") {
                assert_eq!(upstream.shape, outputs["y"].shape, "{file}: {name}");
            } else if !grads.is_empty() {
                assert!(outputs["y"].shape.is_empty(), "{file}: {name}: a gradient of what?");
            }
        }
    }
}

/// Equal to f32's precision on the scale of the larger array; wide inputs lose digits, so a little is allowed for that.
fn close(low: &Array, high: &Array, name: &str) {
    assert_eq!(low.shape, high.shape, "{name}");
    let size = high.data.iter().fold(1.0, |size: f64, value| size.max(value.abs()));
    for (a, b) in low.data.iter().zip(&high.data) {
        assert!((a - b).abs() <= 1e-4 * size, "{name}: {a} and {b}");
    }
}

#[test]
fn both_precisions_hold_the_same_cases_and_agree() {
    let (single, double) = (load("torch_f32"), load("torch_f64"));
    assert_eq!(single.cases.len(), double.cases.len());
    for (low, high) in single.cases.iter().zip(&double.cases) {
        assert_eq!(low.name, high.name);
        assert_eq!(low.output("y").dtype, "f32");
        close(low.output("y"), high.output("y"), &low.name);
        assert!(low.grads.keys().eq(high.grads.keys()), "{}", low.name);
        low.grads.iter().for_each(|(key, grad)| close(grad, high.grad(key), &low.name));
    }
}

#[test]
fn numbers_that_json_lacks_are_read() {
    let fixture = load("numpy_tensor");
    let operand = &fixture.case("compare equal").input("b").data;
    assert!(operand[4].is_nan());
    assert_eq!(fixture.case("compare equal").output("y").to_i64()[3], 1);
    assert_eq!(fixture.case("roll -2 axis 0").integer("shift"), Some(-2));
    assert_eq!(fixture.case("tile").integers("times"), Some(vec![2, 2]));
    assert_eq!(fixture.case("a2 inner product 1").output("y").shape, [0_usize; 0]);
}

#[test]
fn every_item_that_needs_reference_values_has_some() {
    let wanted = [
        ("numpy_tensor", &["a1 ", "a2 ", "a4 ", "a7 ", "a8 "][..]),
        ("numpy_linalg", &["a11 ", "a12 ", "a13 ", "a14 ", "a15 ", "a16 "]),
        ("jax_derivatives", &["b1 ", "b3 ", "b13 ", "b17 ", "b36 "]),
        ("torch_f32", &["b17 ", "b25 ", "b27 "]),
    ];
    for (name, starts) in wanted {
        let fixture = load(name);
        for start in starts {
            fixture.cases_starting(start);
        }
    }
    assert_eq!(load("jax_derivatives").cases_starting("b1 ").len(), 10);
    assert!(load("numpy_tensor").cases_starting("a7 ").len() >= 10);
}
