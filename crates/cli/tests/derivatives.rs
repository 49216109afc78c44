//! `tove diff`.
#![allow(clippy::unwrap_used)]

mod common;

use common::Place;

#[test]
fn four_derivatives_side_by_side() {
    let place = Place::new("diff");
    let found = place.run(&["diff", "x^2 - 1.5*x", "--at", "x=0.5", "--json"]).ok().json();
    let entry = &found["derivatives"][0];
    for way in ["symbolic", "forward", "reverse", "numerical"] {
        assert!((entry[way].as_f64().unwrap() + 0.5).abs() < 1e-9, "{way}");
    }
    assert_eq!(entry["expression"], "2*x - 1.5");
    let plain = place.run(&["diff", "a*sin(x)", "--wrt", "x"]).ok().out;
    assert!(plain.contains("df/dx = a*cos(x)"), "{plain}");
}

#[test]
fn the_checker_and_its_cost_from_the_command_line() {
    let place = Place::new("check");
    let found = place.run(&["diff", "x*y*sin(z)", "--at", "x=1", "--at", "y=2", "--at", "z=0.5", "--check"]).ok().out;
    // P + 1 and 2P evaluations for P = 3.
    assert!(found.contains("agree with differences") && found.contains("took 4 (forward) and 6 (central)"), "{found}");
}

#[test]
fn wrong_expressions_are_pointed_at() {
    let place = Place::new("diff-wrong");
    place.run(&["diff", "x^^2"]).fails(2, &["x^^2", "^"]);
    place.run(&["diff", "a*x", "--at", "x=1"]).fails(2, &["no value for a"]);
    place.run(&["diff", "x", "--at", "y=1"]).fails(2, &["y"]);
    place.run(&["diff", "3"]).fails(2, &["no variable"]);
    place.run(&["diff", "x", "--at", "x=one"]).fails(2, &["not a number"]);
}
