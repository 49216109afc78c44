//! Hyperparameters declared once: what the derive makes of them.

use serde_json::json;
use tove_optim::settings::{Choice, Hyperparameters, SettingError, Value, ValueKind};

#[derive(Clone, Copy, Debug, PartialEq, Choice)]
enum Solver {
    Lbfgs,
    #[choice(name = "newton-cg")]
    NewtonCg,
}

/// Settings with every type there is.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "Everything", check = enough_iterations)]
struct Everything {
    /// Strength of the penalty
    /// on the weights.
    #[hyper(default = 0.5, range = "(0, inf)", alias = "alpha", alias = "lambda")]
    strength: f64,
    /// Iterations at most.
    #[hyper(default = 100, range = "[1, 1000]")]
    iterations: usize,
    /// Random seed.
    seed: u64,
    /// Whether to fit an intercept.
    #[hyper(default = true)]
    intercept: bool,
    /// Depth at most.
    #[hyper(range = "[1, inf)")]
    depth: Option<usize>,
    /// Tolerance.
    #[hyper(default = Some(1e-4), range = "[0, 1)", fix = "choose a small tolerance")]
    tolerance: Option<f64>,
    /// Label of the run.
    #[hyper(default = "run")]
    label: String,
    /// How to solve.
    #[hyper(default = Solver::Lbfgs)]
    solver: Solver,
    /// Another solver in case of failure.
    fallback: Option<Solver>,
    #[hyper(default = -1.5, doc = "A number without a range.")]
    free: f64,
}

fn enough_iterations(settings: &Everything) -> Result<(), SettingError> {
    if settings.solver == Solver::NewtonCg && settings.iterations > 500 {
        let problem = format!("newton-cg makes no {} iterations", settings.iterations);
        return Err(SettingError::conflict("Everything", "iterations", problem, "give at most 500"));
    }
    Ok(())
}

#[test]
fn defaults_and_setters() {
    let settings = Everything::default();
    assert_eq!((settings.strength, settings.iterations, settings.seed, settings.intercept), (0.5, 100, 0, true));
    assert_eq!((settings.depth, settings.tolerance, settings.label.as_str()), (None, Some(1e-4), "run"));
    assert_eq!((settings.solver, settings.fallback, settings.free), (Solver::Lbfgs, None, -1.5));
    let changed = settings.strength(2.0).depth(Some(3)).label("other").solver(Solver::NewtonCg).intercept(false);
    assert_eq!((changed.strength, changed.depth, changed.label.as_str()), (2.0, Some(3), "other"));
    assert!(changed.validate().is_ok() && !changed.intercept);
}

#[test]
fn errors_name_struct_field_value_range_and_remedy() {
    let text = |settings: Everything| settings.validate().expect_err("out of range").to_string();
    assert_eq!(
        text(Everything::default().strength(0.0)),
        "Everything: strength is 0, but it must lie in (0, inf); give a finite number greater than 0"
    );
    assert_eq!(
        text(Everything::default().iterations(5000)),
        "Everything: iterations is 5000, but it must lie in [1, 1000]; give a whole number of at least 1 and at most 1000"
    );
    assert_eq!(
        text(Everything::default().tolerance(Some(2.0))),
        "Everything: tolerance is 2, but it must lie in [0, 1); choose a small tolerance"
    );
    assert!(text(Everything::default().strength(f64::NAN)).contains("strength is NaN"));
    assert!(text(Everything::default().strength(f64::INFINITY)).contains("strength is inf"));
    assert!(text(Everything::default().free(f64::NAN)).contains("free is NaN"));
    assert!(text(Everything::default().depth(Some(0))).contains("depth is 0"));
    assert!(Everything::default().free(f64::INFINITY).depth(None).validate().is_ok());
    assert_eq!(
        text(Everything::default().solver(Solver::NewtonCg).iterations(600)),
        "Everything: newton-cg makes no 600 iterations; give at most 500"
    );
    let error = Everything::default().strength(-1.0).validate().expect_err("out of range");
    assert!(
        matches!(&error, SettingError::Range { settings: "Everything", field: "strength", value: Value::Real(x), .. } if *x == -1.0)
    );
    let converted = tove_tensor::Error::from(error);
    assert!(
        converted.to_string().starts_with("Everything: strength is -1, but it must lie in (0, inf)"),
        "{converted}"
    );
}

#[test]
fn text_sets_every_kind() {
    let mut settings = Everything::default();
    let entries = [
        ("alpha", "1e-2"),
        ("iterations", "1_000"),
        ("seed", "18446744073709551615"),
        ("intercept", "no"),
        ("depth", "7"),
        ("tolerance", "none"),
        ("label", "a b"),
        ("solver", "Newton_CG"),
        ("fallback", "lbfgs"),
        (" free ", "-inf"),
    ];
    for (name, text) in entries {
        settings.parse(name, text).expect("readable");
    }
    let expected = Everything {
        strength: 0.01,
        iterations: 1000,
        seed: u64::MAX,
        intercept: false,
        depth: Some(7),
        tolerance: None,
        label: "a b".into(),
        solver: Solver::NewtonCg,
        fallback: Some(Solver::Lbfgs),
        free: f64::NEG_INFINITY,
    };
    assert_eq!(settings, expected);
    settings.parse("iterations", "1e2").expect("a whole number");
    assert_eq!(settings.iterations, 100);
}

#[test]
fn wrong_text_changes_nothing_and_says_what_to_give() {
    let mut settings = Everything::default();
    let mut text = |name: &str, text: &str| settings.parse(name, text).expect_err("wrong").to_string();
    assert_eq!(text("iterations", "many"), "Everything: iterations cannot be `many`; give a whole number");
    assert_eq!(text("solver", "fast"), "Everything: solver cannot be `fast`; give one of lbfgs, newton-cg");
    assert_eq!(text("depth", "1.5"), "Everything: depth cannot be `1.5`; give a whole number, or none");
    assert!(text("intercept", "2").ends_with("give true or false"));
    assert!(text("strength", "-3").contains("must lie in (0, inf)"));
    assert_eq!(text("strenght", "1"), "Everything: there is no hyperparameter `strenght`; did you mean `strength`?");
    assert!(text("momentum", "1").contains("there are strength, iterations, seed"));
    assert_eq!(settings, Everything::default());
}

#[test]
fn dashes_and_underscores_are_one() {
    let mut settings = tove_optim::AdamSettings::default();
    settings.parse("weight-decay", "0.1").expect("the field");
    assert_eq!((settings.weight_decay, settings.value("weight-decay")), (0.1, Some(Value::Real(0.1))));
}

#[test]
fn descriptions_hold_everything_declared() {
    let described = Everything::describe();
    assert_eq!(described.len(), 10);
    let strength = &described[0];
    assert_eq!((strength.name, strength.aliases), ("strength", &["alpha", "lambda"][..]));
    assert_eq!((&strength.kind, &strength.default), (&ValueKind::Real, &Value::Real(0.5)));
    assert_eq!(strength.range.map(|range| range.to_string()).as_deref(), Some("(0, inf)"));
    assert_eq!(strength.doc, "Strength of the penalty on the weights.");
    assert_eq!(described[8].kind, ValueKind::Optional(Box::new(ValueKind::Choice(&["lbfgs", "newton-cg"]))));
    assert_eq!(described[9].doc, "A number without a range.");

    let schema = Everything::default().schema();
    assert_eq!((schema.name, schema.doc), ("Everything", "Settings with every type there is."));
    let json = schema.to_json();
    let expected = json!({
        "name": "strength", "aliases": ["alpha", "lambda"], "type": "number", "optional": false, "choices": [],
        "default": 0.5, "doc": "Strength of the penalty on the weights.",
        "range": {"text": "(0, inf)", "low": 0.0, "high": null, "low_closed": false, "high_closed": false},
    });
    assert_eq!(json["hyperparameters"][0], expected);
    assert_eq!(json["hyperparameters"][8]["choices"], json!(["lbfgs", "newton-cg"]));
    assert_eq!(json["hyperparameters"][8]["optional"], json!(true));

    let table = schema.to_markdown();
    assert_eq!(table.lines().count(), 12);
    assert!(table.contains("| `tolerance` | number, or none | 1e-4 | [0, 1) | Tolerance. |"), "{table}");
}

#[test]
fn json_gives_back_the_same_bits() {
    let settings = Everything::default().strength(0.1 + 0.2).seed(u64::MAX).free(f64::NEG_INFINITY).depth(Some(2));
    let text = settings.to_json().to_string();
    let mut copy = Everything::default();
    copy.load_json(&serde_json::from_str(&text).expect("JSON")).expect("its own values");
    assert_eq!(copy, settings);
    assert!(copy.load_json(&json!([1])).is_err());
    assert!(copy.load_json(&json!({"depth": "deep"})).is_err());
}

#[test]
fn settings_work_behind_a_pointer() {
    let mut all: Vec<Box<dyn Hyperparameters>> =
        vec![Box::new(Everything::default()), Box::<tove_optim::SgdSettings>::default()];
    for settings in &mut all {
        for hyperparameter in &settings.schema().hyperparameters {
            assert_eq!(settings.value(hyperparameter.name).as_ref(), Some(&hyperparameter.default));
            settings.parse(hyperparameter.name, &hyperparameter.default.to_string()).expect("its own default");
        }
        settings.validate().expect("defaults are right");
    }
}

#[test]
fn every_field_of_a_schedule_is_checked() {
    use tove_optim::{Adam, Optimizer, Schedule};
    let nan = f64::NAN;
    let cycle = |steps, rise, start, end| Schedule::OneCycle { steps, rise, start, end };
    let warm = |start, then: Schedule| Schedule::WarmUp { steps: 3, start, then: Box::new(then) };
    let wrong = [
        (Schedule::Step { every: 0, factor: 0.5 }, "every"),
        (Schedule::Step { every: 5, factor: 0.0 }, "factor"),
        (Schedule::Step { every: 5, factor: 1.5 }, "factor"),
        (Schedule::Step { every: 5, factor: nan }, "factor"),
        (Schedule::Exponential { factor: 0.0 }, "factor"),
        (Schedule::Exponential { factor: f64::INFINITY }, "factor"),
        (Schedule::Exponential { factor: nan }, "factor"),
        (Schedule::Reciprocal { delay: 0.0 }, "delay"),
        (Schedule::Reciprocal { delay: -1.0 }, "delay"),
        (Schedule::Reciprocal { delay: nan }, "delay"),
        (Schedule::Cosine { steps: 0, floor: 0.0 }, "steps"),
        (Schedule::Cosine { steps: 9, floor: -0.1 }, "floor"),
        (Schedule::Cosine { steps: 9, floor: 1.1 }, "floor"),
        (Schedule::Cosine { steps: 9, floor: nan }, "floor"),
        (warm(-0.5, Schedule::Constant), "start"),
        (warm(1.5, Schedule::Constant), "start"),
        (warm(nan, Schedule::Constant), "start"),
        // What follows is checked, too, however deep it lies.
        (warm(0.0, warm(0.0, Schedule::cosine(0))), "steps"),
        (cycle(0, 0.3, 0.1, 0.0), "steps"),
        (cycle(9, -0.3, 0.1, 0.0), "rise"),
        (cycle(9, 1.3, 0.1, 0.0), "rise"),
        (cycle(9, nan, 0.1, 0.0), "rise"),
        (cycle(9, 0.3, 0.0, 0.0), "start"),
        (cycle(9, 0.3, 2.0, 0.0), "start"),
        (cycle(9, 0.3, nan, 0.0), "start"),
        (cycle(9, 0.3, 0.1, -0.1), "end"),
        (cycle(9, 0.3, 0.1, nan), "end"),
        (cycle(9, 0.3, 0.1, 0.2), "end"),
    ];
    for (schedule, field) in wrong {
        let error = schedule.validate().expect_err("wrong");
        assert_eq!(error.field(), Some(field), "{schedule:?}: {error}");
        assert!(matches!(error, SettingError::Range { .. } | SettingError::Conflict { .. }));
        let mut adam = Adam::new(0.5);
        let refused = schedule.apply(&mut adam, 0.1, 0).expect_err("wrong");
        assert_eq!(refused.to_string(), error.to_string());
        assert_eq!(adam.learning_rate(), 0.5, "a refused schedule changes nothing");
    }
    let right = [
        Schedule::Constant,
        Schedule::Step { every: 1, factor: 1.0 },
        Schedule::Exponential { factor: 1.1 },
        Schedule::Reciprocal { delay: 1e-3 },
        Schedule::Cosine { steps: 1, floor: 1.0 },
        Schedule::cosine(5).after_warm_up(0),
        cycle(1, 0.0, 1.0, 0.0),
        cycle(7, 1.0, 0.5, 0.5),
        Schedule::one_cycle(40),
    ];
    for schedule in right {
        schedule.validate().expect("right");
        let factors: Vec<f64> = (0..100).map(|step| schedule.factor(step)).collect();
        assert!(factors.iter().all(|factor| factor.is_finite() && *factor >= 0.0), "{schedule:?}: {factors:?}");
    }
}
