//! Odd data: none, one point, NaN, infinities, wrong lengths, odd names, extreme sizes.
#![allow(clippy::unwrap_used)]

mod common;

use common::{check, elements, marks, words};
use proptest::prelude::*;
use roxmltree::Document;
use tove_plot::*;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn message(picture: &dyn Picture) -> String {
    picture.to_svg().unwrap_err().to_string()
}

#[test]
fn nothing_to_draw_is_an_error() {
    let empty: Vec<Box<dyn Picture>> = vec![
        Box::new(LineChart::new()),
        Box::new(ScatterChart::new().group("a", &[], &[])),
        Box::new(ResidualChart::new(&[], &[])),
        Box::new(ConfusionChart::new::<&str>(&[], &[])),
        Box::new(RocChart::new()),
        Box::new(PrecisionRecallChart::new(0.5)),
        Box::new(ReliabilityChart::from_bins(&[])),
        Box::new(BarChart::new()),
        Box::new(Histogram::new()),
        Box::new(DecisionMap::new(&[], &[], &[])),
        Box::new(ContourMap::new(&[1.0], &[1.0], &[1.0])),
        Box::new(ImageGrid::grey(2, 2)),
        Box::new(HeatMap::new::<&str, &str>(&[], &[], &[])),
        Box::new(TemperatureChart::new(&[], &[1.0])),
        Box::new(ScoreChart::new()),
        Box::new(DependenceChart::new("x", &[], &[])),
    ];
    for (i, picture) in empty.iter().enumerate() {
        assert!(message(&**picture).contains("nothing to draw"), "{i}: {}", message(&**picture));
    }
}

#[test]
fn values_that_are_all_unknown_are_an_error() {
    let unknown: Vec<Box<dyn Picture>> = vec![
        Box::new(LineChart::new().series("a", &[1.0, 2.0], &[NAN, INF])),
        Box::new(LineChart::new().series("a", &[1.0, 2.0], &[0.0, -1.0]).log_y()),
        Box::new(ScatterChart::new().group("a", &[NAN], &[1.0])),
        Box::new(RocChart::new().curve("a", &[NAN], &[NAN], None)),
        Box::new(ReliabilityChart::from_predictions(&[NAN], &[true], 3).unwrap()),
        Box::new(BarChart::new().bar("a", NAN)),
        Box::new(Histogram::new().group("a", &[NAN, -INF])),
        Box::new(ContourMap::new(&[0.0, 1.0], &[0.0, 1.0], &[NAN; 4])),
        Box::new(HeatMap::new(&["r"], &["c"], &[NAN])),
        Box::new(ScoreChart::new().group("a", &[NAN])),
        Box::new(DependenceChart::new("x", &[1.0], &[NAN])),
    ];
    for (i, picture) in unknown.iter().enumerate() {
        assert!(message(&**picture).contains("can be drawn"), "{i}: {}", message(&**picture));
    }
}

#[test]
fn unknown_values_are_skipped_and_counted() {
    let (x, y) = ([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, NAN, 2.0, INF, 3.0]);
    let svg = LineChart::new().series("a", &x, &y).to_svg().unwrap();
    check("line", &svg);
    assert!(svg.contains("2 points left out: not finite."));
    // three points, none with a neighbor: no line
    assert_eq!(marks(&svg), 3);
    let svg = ScatterChart::new().group("a", &x, &y).to_svg().unwrap();
    assert!(svg.contains("2 points left out") && marks(&svg) == 3);
    let svg = BarChart::new().bar("a", 1.0).bar("b", NAN).to_svg().unwrap();
    assert!(svg.contains("1 bar left out") && marks(&svg) == 1);
    let svg = HeatMap::new(&["r"], &["a", "b"], &[1.0, NAN]).to_svg().unwrap();
    assert!(svg.contains("1 cell left out") && marks(&svg) == 1);
    let svg = Histogram::new().group("", &[1.0, NAN, 1.0]).to_svg().unwrap();
    assert!(svg.contains("1 value left out"));
    let svg = LineChart::new().series("a", &x, &[1.0, 0.0, 10.0, -2.0, 100.0]).log_y().to_svg().unwrap();
    assert!(svg.contains("2 points left out: not finite or not positive."));
}

#[test]
fn as_many_marks_as_data() {
    let x: Vec<f64> = (0..17).map(f64::from).collect();
    assert_eq!(marks(&ScatterChart::new().group("a", &x, &x).to_svg().unwrap()), 17);
    assert_eq!(marks(&LineChart::new().series("a", &x, &x).to_svg().unwrap()), 18); // markers and one line
    assert_eq!(marks(&ConfusionChart::new(&["a", "b", "c"], &[1; 9]).to_svg().unwrap()), 9);
    assert_eq!(marks(&BarChart::new().bar("a", 1.0).bar("b", -1.0).bar("c", 0.0).to_svg().unwrap()), 3);
    assert_eq!(marks(&HeatMap::new(&["a", "b"], &["c"], &[0.0, 1.0]).to_svg().unwrap()), 2);
    assert_eq!(marks(&TemperatureChart::new(&[1.0, 2.0, 3.0], &[1.0, 10.0]).to_svg().unwrap()), 6);
    assert_eq!(marks(&ScoreChart::new().group("a", &x).group("b", &x).to_svg().unwrap()), 34);
    assert_eq!(marks(&ImageGrid::grey(1, 1).image(&[0.5], "a").image(&[0.1], "b").to_svg().unwrap()), 2);
    let map = DecisionMap::new(&[0.0, 1.0], &[0.0, 1.0], &[0, 0, 1, 1]).points(&[0.5, 0.2, 7.0], &[0.5; 3], &[0, 1, 1]);
    let svg = map.to_svg().unwrap();
    assert!(marks(&svg) == 2 && svg.contains("1 point left out"));
}

#[test]
fn one_point_or_equal_points_are_drawn_in_the_middle() {
    for n in [1, 3] {
        let (x, y) = (vec![5.0; n], vec![-2.0; n]);
        for (name, svg) in [
            ("line", LineChart::new().series("a", &x, &y).to_svg()),
            ("scatter", ScatterChart::new().group("a", &x, &y).to_svg()),
            ("histogram", Histogram::new().group("a", &x).to_svg()),
            ("scores", ScoreChart::new().group("a", &x).to_svg()),
            ("dependence", DependenceChart::new("x", &x, &y).to_svg()),
            ("flat", ContourMap::new(&[0.0, 1.0], &[0.0, 1.0], &[3.0; 4]).to_svg()),
        ] {
            check(name, &svg.unwrap());
        }
    }
}

#[test]
fn lengths_that_differ_are_named() {
    let text = message(&LineChart::new().series("a", &[1.0, 2.0], &[1.0]));
    assert!(text.contains("2 x and 1 y"), "{text}");
    assert!(message(&HeatMap::new(&["a"], &["b"], &[1.0, 2.0])).contains("1 cells and 2 values"));
    assert!(message(&ConfusionChart::new(&["a", "b"], &[1, 2, 3])).contains("4 cells and 3 counts"));
    assert!(message(&ImageGrid::rgb(2, 2).image(&[0.0; 4], "")).contains("12 are needed"));
    assert!(ReliabilityChart::from_predictions(&[0.5], &[], 2).is_err());
    let grid = DecisionMap::new(&[0.0, 1.0], &[0.0, 1.0], &[0; 4]);
    assert!(message(&grid.points(&[1.0], &[], &[0])).contains("1 x, 0 y"));
}

#[test]
fn settings_out_of_range_are_refused() {
    let chart = || LineChart::new().series("a", &[1.0, 2.0], &[1.0, 2.0]);
    assert!(message(&chart().size(10.0, 10.0)).contains("10 × 10"));
    assert!(message(&chart().size(NAN, 300.0)).contains("NaN"));
    assert!(message(&chart().y_limits(2.0, 1.0)).contains("limits from 2 to 1"));
    assert!(message(&chart().log_x().x_limits(0.0, 1.0)).contains("limits from 0 to 1"));
    for t in [0.0, -1.0, NAN, INF] {
        assert!(message(&TemperatureChart::new(&[1.0, 2.0], &[t])).contains("must be positive"), "{t}");
    }
    assert!(message(&RocChart::new().curve("a", &[0.0, 1.2], &[0.0, 1.0], None)).contains("1.2"));
    assert!(message(&PrecisionRecallChart::new(1.5)).contains("1.5"));
    assert!(ReliabilityChart::from_predictions(&[1.5], &[true], 3).is_err());
}

#[test]
fn names_are_escaped_and_long_ones_kept_as_tooltips() {
    let wicked = "<script>alert(\"1\")</script> & 'more' \u{7}";
    let long = "a name that goes on and on ".repeat(12);
    let svg = LineChart::new()
        .series(wicked, &[1.0, 2.0], &[1.0, 2.0])
        .series(&long, &[1.0, 2.0], &[2.0, 1.0])
        .title(format!("{wicked} {long}"))
        .caption(wicked)
        .x_label(&long)
        .y_label(wicked)
        .to_svg()
        .unwrap();
    check("wicked", &svg);
    assert!(!svg.contains("<script>"));
    let document = Document::parse(&svg).unwrap();
    let cut = elements(&document).find(|n| n.tag_name().name() == "text" && words(*n).starts_with("a name that"));
    let cut = cut.unwrap();
    assert!(words(cut).ends_with('…'));
    let tip = cut.children().find(|c| c.has_tag_name(("http://www.w3.org/2000/svg", "title"))).unwrap();
    assert_eq!(tip.text().unwrap(), long);
}

#[test]
fn the_linear_map_has_weight_vectors_regions_and_exact_boundaries() {
    let (w, b) = ([[1.2, 0.3], [-0.7, 1.0], [-0.4, -1.1]], [0.0, 0.1, -0.2]);
    let map = DecisionMap::linear(&w, &b, (-3.0, 3.0), (-3.0, 3.0)).unwrap();
    let score = |k: usize, (x, y): (f64, f64)| w[k][0] * x + w[k][1] * y + b[k];
    assert_eq!(map.boundaries().len(), 3);
    for (segment, (i, j)) in map.boundaries().iter().zip([(0, 1), (0, 2), (1, 2)]) {
        let [p, q] = *segment;
        for t in [0.0, 0.3, 1.0] {
            let at = (p.0 + t * (q.0 - p.0), p.1 + t * (q.1 - p.1));
            assert!((score(i, at) - score(j, at)).abs() < 1e-9);
            assert!((0..3).all(|k| score(k, at) <= score(i, at) + 1e-9));
        }
    }
    let svg = map.to_svg().unwrap();
    for (class, count) in [("boundary", 3), ("vector", 3)] {
        assert_eq!(svg.matches(&format!("inkline {class}")).count(), count);
    }
    for k in 0..3 {
        assert!(svg.contains(&format!("class=\"region f{k}\"")));
    }
}

#[test]
fn contours_lie_where_the_function_has_their_level() {
    let grid: Vec<f64> = (-20..=20).map(|i| f64::from(i) / 10.0).collect();
    let values: Vec<f64> = grid.iter().flat_map(|x| grid.iter().map(move |y| x * x + y * y)).collect();
    let map = ContourMap::new(&grid, &grid, &values);
    let circle = map.contour(1.0);
    assert!(circle.len() > 20);
    assert!(circle.iter().flatten().all(|(x, y)| (x.hypot(*y) - 1.0).abs() < 0.01));
}

#[test]
fn heights_of_bars_are_the_probabilities() {
    let chart = TemperatureChart::new(&[1.0, 2.0, 3.0], &[10.0, 100.0]);
    let p = chart.probabilities().unwrap();
    for (p, expected) in p.iter().zip([[0.3006, 0.3322, 0.3672], [0.3300, 0.3333, 0.3367]]) {
        assert!(p.iter().zip(expected).all(|(p, e)| (p - e).abs() < 5e-5));
    }
    let svg = chart.to_svg().unwrap();
    let document = Document::parse(&svg).unwrap();
    let bars = elements(&document).filter(|n| n.attribute("class").is_some_and(|c| c.starts_with("mark")));
    let heights: Vec<f64> = bars.map(|n| common::number(n, "height").unwrap()).collect();
    for (h, p) in heights.iter().zip(p.iter().flatten()) {
        assert!((h / heights[0] - p / 0.30060961).abs() < 2e-3, "{h} {p}");
    }
}

/// Ordinary numbers most of the time, strange ones now and then.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![6 => -1e3..1e3f64, 1 => any::<f64>(), 1 => Just(NAN), 1 => Just(INF), 1 => Just(0.0), 1 => Just(1e-300), 1 => Just(-4e-309)]
}

fn values(least: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(value(), least..30)
}

fn sound(name: &str, picture: &dyn Picture) {
    match picture.to_svg() {
        Ok(svg) => check(name, &svg),
        Err(error) => assert!(error.to_string().contains(':'), "{error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn charts_of_any_numbers_are_sound(
        y in values(0),
        name in "\\PC{0,60}",
        size in (200.0..1200.0f64, 100.0..800.0f64),
        log in any::<[bool; 2]>(),
    ) {
        let x: Vec<f64> = y.iter().rev().copied().collect();
        let mut line = LineChart::new().series(&name, &x, &y).band(&y, &x).title(&name).size(size.0, size.1).y_label(&name);
        let mut scatter = ScatterChart::new().group(&name, &x, &y).diagonal().zero_line().x_label(&name);
        if log[0] { line = line.log_x(); scatter = scatter.log_x(); }
        if log[1] { line = line.log_y(); scatter = scatter.log_y(); }
        sound("line", &line);
        sound("scatter", &scatter.size(size.0, size.1));
        sound("residuals", &ResidualChart::new(&x, &y));
        sound("histogram", &Histogram::new().group(&name, &y).size(size.0, size.1));
        sound("scores", &ScoreChart::new().group(&name, &y).group("b", &x).size(size.0, size.1));
        sound("dependence", &DependenceChart::new(&name, &x, &y).individual(&x).data(&y).size(size.0, size.1));
    }

    #[test]
    fn cells_and_bars_of_any_numbers_are_sound(
        v in values(1),
        name in "\\PC{0,60}",
        size in (200.0..1200.0f64, 100.0..800.0f64),
        columns in 1usize..6,
    ) {
        let rows = v.len() / columns;
        let names = |n: usize| (0..n).map(|i| format!("{name}{i}")).collect::<Vec<_>>();
        let map = HeatMap::new(&names(rows), &names(columns), &v[..rows * columns]).show_values().size(size.0, size.1);
        sound("heat", &map.clone().x_label(&name));
        sound("signed", &map.signed().y_label(&name));
        let bars = v.iter().zip(v.iter().rev()).fold(BarChart::new(), |c, (a, b)| c.bar_with_interval(&name, *a, *b, *a));
        sound("bars", &bars.sorted().size(size.0, size.1).value_label(&name));
        let counts: Vec<u64> = (0..columns * columns).map(|i| v[i % v.len()].abs() as u64 % 1_000_000).collect();
        sound("confusion", &ConfusionChart::new(&names(columns), &counts).size(size.0, size.1));
        sound("temperature", &TemperatureChart::new(&v, &[1.0, 1e-3]).names(&names(v.len())));
    }

    #[test]
    fn maps_of_any_numbers_are_sound(v in prop::collection::vec(value(), 36), width in 200.0..1000.0f64, equal in any::<bool>()) {
        let axis: Vec<f64> = (0..6).map(f64::from).collect();
        let mut contour = ContourMap::new(&axis, &axis, &v).path("p", &[(v[0], v[1]), (2.0, 3.0)]).arrow((1.0, 1.0), (v[2], v[3]));
        let classes: Vec<usize> = v.iter().map(|v| v.abs() as usize % 9).collect();
        let mut map = DecisionMap::new(&axis, &axis, &classes).confidence(&v).points(&v, &v, &classes).vector("w", 0, [v[4], v[5]]);
        if equal { contour = contour.equal_axes(); map = map.equal_axes(); }
        sound("contour", &contour.clone().size(width, 300.0));
        sound("log", &contour.log_levels(7));
        sound("decision", &map.size(width, 300.0));
    }
}

#[test]
fn a_bin_of_few_samples_has_a_long_whisker() {
    let chart = ReliabilityChart::from_predictions(&[vec![0.05; 200], vec![0.95]].concat(), &[false; 201], 10).unwrap();
    assert_eq!(chart.to_svg().unwrap().matches("whisker").count(), 2); // of the filled bins
    let width = |bin: &ReliabilityBin| bin.interval().1 - bin.interval().0;
    let (many, one) = (&chart.bins()[0], &chart.bins()[9]);
    assert!(width(many) < 0.02 && width(one) > 0.7 && one.interval().0 == 0.0, "{:?} {:?}", many, one.interval());
}
