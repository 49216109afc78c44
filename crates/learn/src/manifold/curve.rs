//! The curve of similarity over distance in the layout.

/// Points of the curve that are fitted, and up to how many times `spread`.
const POINTS: usize = 300;
const REACH: f64 = 3.0;

/// a and b such that 1/(1 + a d^(2b)) fits, by least squares, the curve that is 1 up to `min_dist` and e^(−(d − `min_dist`)/`spread`)
/// beyond.
///
/// ```
/// use tove_learn::manifold::curve_parameters;
/// let (a, b) = curve_parameters(1.0, 0.1);
/// assert!((a - 1.577).abs() < 1e-3 && (b - 0.895).abs() < 1e-3);
/// ```
pub fn curve_parameters(spread: f64, min_dist: f64) -> (f64, f64) {
    // In units of the spread.
    let least = min_dist / spread;
    let points: Vec<(f64, f64)> = (1..POINTS)
        .map(|i| REACH * i as f64 / (POINTS - 1) as f64)
        .map(|x| (x, if x < least { 1.0 } else { (least - x).exp() }))
        .collect();
    let error =
        |a: f64, b: f64| points.iter().map(|(x, y)| (y - 1.0 / (1.0 + a * x.powf(2.0 * b))).powi(2)).sum::<f64>();
    let (mut a, mut b, mut damping) = (1.0f64, 1.0f64, 1e-3);
    let mut last = error(a, b);
    // Levenberg and Marquardt's method for ln a and ln b, which keeps both positive.
    for _ in 0..200 {
        let (mut gram, mut slope) = ([0.0; 3], [0.0; 2]);
        for (x, y) in &points {
            let power = a * x.powf(2.0 * b);
            let value = 1.0 / (1.0 + power);
            let common = -value * value * power;
            let (da, db) = (common, common * 2.0 * b * x.ln());
            gram = [gram[0] + da * da, gram[1] + da * db, gram[2] + db * db];
            slope = [slope[0] + da * (y - value), slope[1] + db * (y - value)];
        }
        let [aa, ab, bb] = [gram[0] * (1.0 + damping), gram[1], gram[2] * (1.0 + damping)];
        let determinant = aa * bb - ab * ab;
        let step = [(bb * slope[0] - ab * slope[1]) / determinant, (aa * slope[1] - ab * slope[0]) / determinant];
        let (next_a, next_b) = (a * step[0].exp(), b * step[1].exp());
        let next = error(next_a, next_b);
        if next.is_finite() && next <= last {
            (a, b, damping, last) = (next_a, next_b, damping * 0.1, next);
            if step[0].abs().max(step[1].abs()) < 1e-12 {
                break;
            }
        } else if damping < 1e10 {
            damping *= 10.0;
        } else {
            break;
        }
    }
    (a * spread.powf(-2.0 * b), b)
}
