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
    assert!(
        found.contains("agree with finite differences") && found.contains("took 4 (forward) and 6 (central)"),
        "{found}"
    );
}

#[test]
fn a_mismatch_is_printed_and_fails() {
    let place = Place::new("mismatch");
    // The slope is 1e200, and no difference of a bounded function over a step of 1e-5 comes near it.
    let found = place.run(&["diff", "sin(1e200*x)", "--at", "x=0", "--check"]);
    assert!(found.out.contains("df/dx") && found.out.contains("automatic"), "{}", found.out);
    found.fails(1, &["derivatives differ", "automatic 1e200", "entry [0] of input 0"]);
    // An infinite slope is confirmed by nothing.
    place.run(&["diff", "sqrt(x)", "--at", "x=0", "--check"]).fails(1, &["derivatives differ", "automatic inf"]);
    let json = place.run(&["diff", "sqrt(x)", "--at", "x=0", "--check", "--json"]);
    assert!(json.out.contains("\"agrees\": false"), "{}", json.out);
    json.fails(1, &["derivatives differ"]);
    // A large slope that is right passes.
    let right = place.run(&["diff", "1e200*x", "--at", "x=0.5", "--check", "--json"]).ok().json();
    assert_eq!(right["agrees"], true);
    // Without a point there is nothing to check.
    place.run(&["diff", "x^2", "--check"]).fails(2, &["--check needs a point", "--at x=NUMBER"]);
    place.run(&["diff", "x^2", "--trace"]).fails(2, &["--trace needs a point"]);
}

#[test]
fn far_points_have_differences_too() {
    let place = Place::new("far");
    for x in ["1e12", "1e100"] {
        let found = place.run(&["diff", "x^2", "--at", &format!("x={x}"), "--json"]).ok().json();
        let slope = 2.0 * x.parse::<f64>().unwrap();
        let numerical = found["derivatives"][0]["numerical"].as_f64().unwrap();
        assert!((numerical / slope - 1.0).abs() < 1e-6, "{numerical}");
    }
    let text = place.run(&["diff", "x^2", "--at", "x=1e100"]).ok().out;
    assert!(text.contains("2e100") && text.lines().all(|line| line.chars().count() < 120), "{text}");
    // A step of 1e-5 is lost beside such a number, which is said.
    place.run(&["diff", "x^2", "--at", "x=1e100", "--check"]).fails(1, &["lost beside"]);
}

#[test]
fn the_trace_has_the_reverse_program_beside_it() {
    let place = Place::new("trace");
    let found = place.run(&["diff", "x*sin(x)", "--at", "x=1", "--trace"]).ok().out;
    assert!(found.contains("primal, downwards") && found.contains("| reverse, upwards"), "{found}");
    let rows: Vec<(&str, &str)> = found.lines().filter_map(|line| line.split_once(" | ~")).collect();
    assert!(rows.len() >= 4, "{found}");
    for (number, (primal, reverse)) in rows.iter().enumerate() {
        assert!(
            primal.starts_with(&format!("%{number} = ")) && reverse.starts_with(&format!("%{number} = ")),
            "{found}"
        );
    }
    assert!(rows.iter().any(|(primal, _)| primal.contains("sin(")), "{found}");
    // The result's adjoint is 1; every other one is a sum of what later steps pass on.
    let last = rows.len() - 1;
    assert_eq!(rows[last].1, format!("%{last} = 1"));
    assert!(rows[..last].iter().all(|(_, reverse)| reverse.contains(" d%")), "{found}");
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
