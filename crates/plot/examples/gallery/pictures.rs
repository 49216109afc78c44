//! One picture of every kind, with data that resemble real ones. The tests look at the same pictures.

use tove_plot::*;

/// Numbers that look random and are always the same.
pub struct Noise(u64);

impl Noise {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Noise {
        Noise(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Uniform between 0 and 1.
    pub fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal: the sum of twelve uniform numbers less six.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// Many normal numbers with a mean and a spread.
    pub fn normals(&mut self, n: usize, mean: f64, spread: f64) -> Vec<f64> {
        (0..n).map(|_| mean + spread * self.normal()).collect()
    }
}

fn range(low: f64, high: f64, n: usize) -> Vec<f64> {
    (0..n).map(|i| low + (high - low) * i as f64 / (n - 1) as f64).collect()
}

fn losses() -> LineChart {
    let mut noise = Noise::new(1);
    let train: Vec<f64> =
        (1..=30).map(|e| 2.0 * (-0.18 * f64::from(e)).exp() + 0.05 + 0.01 * noise.uniform()).collect();
    let mut valid: Vec<f64> = (1..=30)
        .map(|e| 2.1 * (-0.17 * f64::from(e)).exp() + 0.14 + 0.0004 * f64::from(e * e) + 0.02 * noise.uniform())
        .collect();
    valid[11] = f64::NAN;
    LineChart::losses(&train, Some(&valid)).title("Loss while training").y_label("cross entropy (nats)")
}

fn log_losses() -> LineChart {
    let steps = range(0.0, 2000.0, 201);
    let curve = |rate: f64, floor: f64| steps.iter().map(|s| (-rate * s).exp() + floor).collect::<Vec<_>>();
    LineChart::new()
        .series("gradient descent", &steps, &curve(0.004, 1e-4))
        .series("momentum", &steps, &curve(0.01, 1e-6))
        .series("Adam", &steps, &curve(0.007, 3e-7))
        .series("L-BFGS", &steps, &curve(0.03, 1e-9))
        .mark_y("tolerance", 1e-5)
        .log_y()
        .title("Distance from the minimum")
        .x_label("step")
        .y_label("f(w) − f*")
}

fn learning_curve() -> LineChart {
    let sizes = [100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0];
    let train = [0.99, 0.985, 0.97, 0.96, 0.955, 0.95, 0.948];
    let valid = [0.78, 0.83, 0.88, 0.905, 0.92, 0.932, 0.937];
    let spread = |s: f64| sizes.map(|n: f64| s / n.sqrt());
    LineChart::learning_curve(&sizes, (&train, &spread(0.08)), (&valid, &spread(0.35)))
        .log_x()
        .title("Learning curve of a random forest")
        .y_label("accuracy")
        .caption("Mean ± one standard deviation over 5 folds.")
}

fn scatter() -> ScatterChart {
    let mut noise = Noise::new(3);
    let mut group = |x: f64, y: f64, s: f64| (noise.normals(40, x, s), noise.normals(40, y, s * 0.6));
    let groups = [group(1.5, 0.3, 0.2), group(4.3, 1.3, 0.45), group(5.6, 2.0, 0.5)];
    let names = ["setosa", "versicolor", "virginica"];
    let chart = ScatterChart::new().title("Irises").x_label("petal length (cm)").y_label("petal width (cm)");
    names.iter().zip(&groups).fold(chart, |chart, (name, (x, y))| chart.group(*name, x, y))
}

fn residuals() -> ResidualChart {
    let mut noise = Noise::new(4);
    let truth: Vec<f64> = (0..300).map(|i| 50_000.0 + 1500.0 * f64::from(i)).collect();
    let predicted: Vec<f64> = truth.iter().map(|t| t + t * 0.08 * noise.normal()).collect();
    ResidualChart::new(&predicted, &truth).unit("€").title("Residuals of the house prices")
}

fn confusion() -> ConfusionChart {
    let mut noise = Noise::new(5);
    let classes: Vec<String> = (0..10).map(|d| d.to_string()).collect();
    let counts: Vec<u64> = (0..100)
        .map(|i| {
            if i / 10 == i % 10 {
                900 + (100.0 * noise.uniform()) as u64
            } else {
                (12.0 * noise.uniform().powi(4)) as u64
            }
        })
        .collect();
    ConfusionChart::new(&classes, &counts).title("Digits, test set")
}

fn confusion_small() -> ConfusionChart {
    ConfusionChart::new(
        &["healthy", "benign growth of unknown origin", "malignant"],
        &[512, 21, 3, 40, 95, 22, 2, 31, 68],
    )
    .title("Three unequal classes")
}

fn roc() -> RocChart {
    let rates = range(0.0, 1.0, 101);
    let curve = |power: f64| rates.iter().map(|r| r.powf(power)).collect::<Vec<_>>();
    RocChart::new()
        .curve("gradient boosting", &rates, &curve(0.1), Some(1.0 / 1.1))
        .curve("logistic regression", &rates, &curve(0.2), Some(1.0 / 1.2))
        .curve("one feature", &rates, &curve(0.6), Some(1.0 / 1.6))
        .title("Who will repay?")
}

fn precision_recall() -> PrecisionRecallChart {
    let recall = range(1.0, 0.0, 26);
    let curve = |k: f64| recall.iter().map(|r| 0.12 + 0.88 * (1.0 - r.powf(k))).collect::<Vec<_>>();
    PrecisionRecallChart::new(0.12)
        .curve("gradient boosting", &recall, &curve(5.0), Some(0.853))
        .curve("logistic regression", &recall, &curve(2.0), Some(0.707))
        .title("Fraud, 12% positive")
}

fn reliability() -> ReliabilityChart {
    let mut noise = Noise::new(6);
    let p: Vec<f64> = (0..4000).map(|_| noise.uniform().powf(0.6)).collect();
    let happened: Vec<bool> = p.iter().map(|p| noise.uniform() < p.powf(1.6)).collect();
    let chart = ReliabilityChart::from_predictions(&p, &happened, 10);
    chart.unwrap_or_else(|_| ReliabilityChart::from_bins(&[])).title("An overconfident model")
}

fn bars() -> BarChart {
    let effects = [
        ("age (years)", 0.42, 0.05),
        ("income (k€ a year)", -0.31, 0.06),
        ("number of open loans", 0.27, 0.09),
        ("owns a house", -0.18, 0.04),
        ("years with the present employer, capped at thirty", -0.12, 0.03),
        ("phone & post code < 5 years", 0.04, 0.08),
        ("weekday of request", 0.003, 0.02),
    ];
    let chart =
        BarChart::new().sorted().title("Standardized coefficients").value_label("log odds per standard deviation");
    let chart =
        effects.iter().fold(chart, |c, (name, v, e)| c.bar_with_interval(*name, *v, v - 1.96 * e, v + 1.96 * e));
    chart.caption("Whiskers: 95% confidence intervals.")
}

fn importances() -> BarChart {
    let values = [0.31, 0.22, 0.14, 0.09, 0.07, 0.05, 0.03, 0.02, 0.01, 0.004];
    let chart = BarChart::new().top(8).title("Importances").value_label("mean decrease of accuracy");
    values.iter().enumerate().fold(chart, |c, (i, v)| c.bar(format!("feature {i}"), *v))
}

fn histogram() -> Histogram {
    let mut noise = Noise::new(7);
    let (a, b) = (noise.normals(900, 172.0, 7.0), noise.normals(400, 180.0, 6.0));
    Histogram::new().group("group A", &a).group("group B", &b).shares().title("Height").x_label("height (cm)")
}

fn linear_decision() -> DecisionMap {
    let mut noise = Noise::new(8);
    let (weights, offsets) = ([[1.2, 0.3], [-0.7, 1.0], [-0.4, -1.1]], [0.0, 0.1, -0.2]);
    let (mut x, mut y, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    for (k, w) in weights.iter().enumerate() {
        for _ in 0..25 {
            x.push(1.4 * w[0] + 0.55 * noise.normal());
            y.push(1.4 * w[1] + 0.55 * noise.normal());
            classes.push(k);
        }
    }
    let map = DecisionMap::linear(&weights, &offsets, (-3.0, 3.0), (-3.0, 3.0));
    map.unwrap_or_else(|_| DecisionMap::new(&[], &[], &[]))
        .points(&x, &y, &classes)
        .class_names(&["sports", "politics", "science"])
        .title("A linear classifier: each class scores w·x + b")
}

fn curved_decision() -> DecisionMap {
    let mut noise = Noise::new(9);
    let model = |x: f64, y: f64| {
        let score = x * x + y * y - 1.3 + 0.5 * (3.0 * x).sin();
        let p = 1.0 / (1.0 + (-2.5 * score).exp());
        (usize::from(p > 0.5), (2.0 * p - 1.0).abs())
    };
    let (mut x, mut y, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..120 {
        let (a, r) = (std::f64::consts::TAU * noise.uniform(), 1.9 * noise.uniform().sqrt());
        x.push(r * a.cos());
        y.push(r * a.sin());
        classes.push(usize::from(r + 0.15 * noise.normal() > 1.15));
    }
    DecisionMap::from_fn((-2.0, 2.0), (-2.0, 2.0), 80, model)
        .points(&x, &y, &classes)
        .title("A net with one hidden layer")
}

fn contour() -> ContourMap {
    let (x, y) = (range(-2.2, 2.2, 61), range(-1.5, 1.5, 61));
    let values: Vec<f64> = x.iter().flat_map(|x| y.iter().map(move |y| x * x + 8.0 * y * y)).collect();
    let descend = |rate: f64, momentum: f64| {
        let (mut w, mut v) = ((-2.0, 1.2), (0.0, 0.0));
        let mut path = vec![w];
        for _ in 0..25 {
            v = (momentum * v.0 - rate * 2.0 * w.0, momentum * v.1 - rate * 16.0 * w.1);
            w = (w.0 + v.0, w.1 + v.1);
            path.push(w);
        }
        path
    };
    let map = ContourMap::new(&x, &y, &values)
        .path("gradient descent, rate 0.115", &descend(0.115, 0.0))
        .path("with momentum 0.6", &descend(0.03, 0.6))
        .title("f = w₁² + 8 w₂²: lines lie close where the gradient is large")
        .value_label("f")
        .equal_axes();
    let field = range(-2.0, 2.0, 9).into_iter().flat_map(|x| range(-1.25, 1.25, 6).into_iter().map(move |y| (x, y)));
    field.fold(map, |map, (x, y)| map.arrow((x, y), (-2.0 * x, -16.0 * y)))
}

fn rosenbrock() -> ContourMap {
    let (x, y) = (range(-1.8, 1.8, 81), range(-0.8, 2.6, 81));
    let f = |x: f64, y: f64| (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2);
    let values: Vec<f64> = x.iter().flat_map(|&x| y.iter().map(move |&y| f(x, y))).collect();
    ContourMap::new(&x, &y, &values)
        .log_levels(10)
        .path("Newton", &[(-1.2, 1.0), (-1.175, 1.381), (0.763, -3.175), (0.763, 0.583), (1.0, 0.944), (1.0, 1.0)])
        .title("Rosenbrock's valley")
}

fn digit(noise: &mut Noise, thick: f64) -> Vec<f64> {
    let (cx, cy, r) = (13.5 + noise.normal(), 13.5 + noise.normal(), 7.0 + noise.normal());
    let ink = |x: f64, y: f64| (1.0 - ((x - cx).hypot(y - cy) - r).abs() / thick).clamp(0.0, 1.0);
    (0..784).map(|i| ink(f64::from(i % 28), f64::from(i / 28))).collect()
}

fn images() -> ImageGrid {
    let mut noise = Noise::new(10);
    let truth = ["0", "0", "0", "6", "0", "0", "8", "0", "0", "0", "0", "0"];
    let grid = ImageGrid::grey(28, 28).columns(6).title("Digits and answers");
    truth.iter().fold(grid, |grid, truth| grid.prediction(&digit(&mut noise, 2.5), "0", *truth))
}

fn color_images() -> ImageGrid {
    let grid = ImageGrid::rgb(16, 16).columns(4).cell(96.0).title("Colors");
    (0..4).fold(grid, |grid, k| {
        let pixel = |i: usize, c: usize| match c {
            0 => (i % 16) as f64 / 15.0,
            1 => (i / 16) as f64 / 15.0,
            _ => k as f64 / 3.0,
        };
        let pixels: Vec<f64> = (0..256).flat_map(|i| (0..3).map(move |c| pixel(i, c))).collect();
        grid.image(&pixels, format!("blue {:.2}", k as f64 / 3.0))
    })
}

fn attention() -> HeatMap {
    let tokens = ["The", "animal", "didn't", "cross", "the", "street", "because", "it", "was", "too", "tired", "."];
    let mut noise = Noise::new(11);
    let mut values = Vec::new();
    for row in 0..tokens.len() {
        let raw: Vec<f64> =
            (0..tokens.len()).map(|c| if c <= row { (2.5 * noise.uniform()).exp() } else { 0.0 }).collect();
        let total: f64 = raw.iter().sum();
        values.extend(raw.iter().map(|v| v / total));
    }
    HeatMap::new(&tokens, &tokens, &values)
        .bounds(0.0, 1.0)
        .value_label("weight")
        .x_label("key")
        .y_label("query")
        .title("Attention, layer 2, head 5")
}

fn correlations() -> HeatMap {
    let names = ["age", "income", "loans", "house", "employer", "children"];
    let value = |i: usize, j: usize| if i == j { 1.0 } else { (1.7 * (i * j + i + j) as f64).sin() * 0.9 };
    let values: Vec<f64> = (0..6).flat_map(|i| (0..6).map(move |j| value(i, j))).collect();
    HeatMap::new(&names, &names, &values)
        .signed()
        .bounds(-1.0, 1.0)
        .show_values()
        .value_label("r")
        .title("Correlations")
}

fn scores() -> ScoreChart {
    let mut noise = Noise::new(12);
    ScoreChart::new()
        .group("logistic regression", &noise.normals(10, 0.87, 0.012))
        .group("random forest, 500 trees", &noise.normals(10, 0.905, 0.015))
        .group("gradient boosting", &noise.normals(10, 0.915, 0.01))
        .group("nearest neighbors", &noise.normals(10, 0.84, 0.025))
        .value_label("accuracy")
        .title("Ten folds")
}

fn dependence() -> DependenceChart {
    let mut noise = Noise::new(13);
    let grid = range(18.0, 80.0, 25);
    let curve = |shift: f64, slope: f64| {
        grid.iter().map(|a| 1.0 / (1.0 + (-(a - 45.0) * slope - shift).exp())).collect::<Vec<_>>()
    };
    let single: Vec<Vec<f64>> = (0..30).map(|_| curve(0.8 * noise.normal(), 0.06 + 0.02 * noise.normal())).collect();
    let mean: Vec<f64> = (0..25).map(|i| single.iter().map(|c| c[i]).sum::<f64>() / 30.0).collect();
    let chart = DependenceChart::new("age (years)", &grid, &mean).data(&noise.normals(500, 44.0, 12.0));
    single
        .iter()
        .fold(chart, |chart, c| chart.individual(c))
        .title("Partial dependence")
        .y_label("probability of default")
}

/// Every kind of picture with a file name.
pub fn pictures() -> Vec<(&'static str, Box<dyn Picture>)> {
    vec![
        ("line-losses", Box::new(losses())),
        ("line-log", Box::new(log_losses())),
        ("line-learning-curve", Box::new(learning_curve())),
        ("scatter", Box::new(scatter())),
        ("residuals", Box::new(residuals())),
        ("confusion-digits", Box::new(confusion())),
        ("confusion-small", Box::new(confusion_small())),
        ("roc", Box::new(roc())),
        ("precision-recall", Box::new(precision_recall())),
        ("reliability", Box::new(reliability())),
        ("bars-coefficients", Box::new(bars())),
        ("bars-importances", Box::new(importances())),
        ("histogram", Box::new(histogram())),
        ("decision-linear", Box::new(linear_decision())),
        ("decision-curved", Box::new(curved_decision())),
        ("contour-bowl", Box::new(contour())),
        ("contour-rosenbrock", Box::new(rosenbrock())),
        ("images-digits", Box::new(images())),
        ("images-color", Box::new(color_images())),
        ("heat-attention", Box::new(attention())),
        ("heat-correlations", Box::new(correlations())),
        ("temperature", Box::new(TemperatureChart::new(&[1.0, 2.0, 3.0], &[1.0, 10.0, 100.0]).title("softmax(x / τ)"))),
        ("scores", Box::new(scores())),
        ("dependence", Box::new(dependence())),
    ]
}
