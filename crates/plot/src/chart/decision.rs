//! Decision regions in the plane of two features.
//!
//! Each grid point is painted with its class, more strongly where the model is surer. For a linear classifier with
//! scores s_k = w_k·x + b_k the region of class k is where s_k is largest; two classes meet on the line
//! (w_i − w_j)·x + b_i − b_j = 0, which is orthogonal to w_i − w_j, as far as no third class wins there.

use super::plane::Plane;
use crate::draw::frame::{Entry, Frame, Sign, axis_methods, frame_methods, left_out, reason};
use crate::draw::scale::drawable;
use crate::draw::scene::{Anchor, LABEL, Scene};
use crate::draw::text::text_width;
use crate::draw::theme::Look;
use crate::error::{PlotError, Result, same_length};
use crate::picture::Picture;

const WHAT: &str = "decision map";

/// A line segment in the plane.
pub type PlaneSegment = [(f64, f64); 2];

/// Regions of classes over two features, with points, weight vectors and boundaries.
///
/// ```
/// use tove_plot::{DecisionMap, Picture};
/// let map = DecisionMap::linear(&[[1.0, 0.0], [-1.0, 0.5]], &[0.0, 0.2], (-2.0, 2.0), (-2.0, 2.0))?
///     .points(&[1.0, -1.0], &[0.5, -0.2], &[0, 1])
///     .class_names(&["right", "left"]);
/// let [(x, y), _] = map.boundaries()[0];
/// assert!((x - (-x + 0.5 * y + 0.2)).abs() < 1e-9); // both classes score the same there
/// assert!(map.to_svg()?.contains("right"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DecisionMap {
    frame: Frame,
    plane: Plane,
    classes: Vec<usize>,
    confidence: Option<Vec<f64>>,
    names: Vec<String>,
    points: Vec<(f64, f64, usize)>,
    uneven: Option<String>,
    vectors: Vec<(String, usize, [f64; 2])>,
    boundaries: Vec<PlaneSegment>,
    x_label: String,
    y_label: String,
    equal: bool,
}

impl DecisionMap {
    /// From grid coordinates and the class at each grid point, (x_i, y_j) at i · y.len() + j.
    pub fn new(x: &[f64], y: &[f64], classes: &[usize]) -> Self {
        DecisionMap {
            frame: Frame::default(),
            plane: Plane::new(x, y),
            classes: classes.to_vec(),
            confidence: None,
            names: Vec::new(),
            points: Vec::new(),
            uneven: None,
            vectors: Vec::new(),
            boundaries: Vec::new(),
            x_label: "x₁".to_owned(),
            y_label: "x₂".to_owned(),
            equal: false,
        }
    }

    /// Asks `model` for class and confidence (0 to 1) on a grid of `steps` × `steps` points.
    pub fn from_fn(
        x: (f64, f64),
        y: (f64, f64),
        steps: usize,
        mut model: impl FnMut(f64, f64) -> (usize, f64),
    ) -> Self {
        let (xs, ys) = (Plane::numbers(x.0, x.1, steps), Plane::numbers(y.0, y.1, steps));
        let answers: Vec<_> =
            xs.iter().flat_map(|&x| ys.iter().map(move |&y| (x, y))).map(|(x, y)| model(x, y)).collect();
        let classes: Vec<_> = answers.iter().map(|a| a.0).collect();
        let confidence: Vec<_> = answers.iter().map(|a| a.1).collect();
        Self::new(&xs, &ys, &classes).confidence(&confidence)
    }

    /// A linear classifier with weights w_k and offsets b_k: its regions, weight vectors and exact boundaries.
    ///
    /// # Errors
    /// If there are fewer than two classes, the lists differ in length, or a number is not finite.
    pub fn linear(weights: &[[f64; 2]], offsets: &[f64], x: (f64, f64), y: (f64, f64)) -> Result<Self> {
        same_length(WHAT, ("weight vectors", weights.len()), ("offsets", offsets.len()))?;
        let numbers = weights.iter().flatten().chain(offsets).chain([&x.0, &x.1, &y.0, &y.1]);
        if weights.len() < 2 || numbers.into_iter().any(|v| !drawable(*v, false)) || x.0 >= x.1 || y.0 >= y.1 {
            return Err(PlotError::parameter(WHAT, "give two or more finite weight vectors and increasing ranges"));
        }
        let score = |k: usize, x: f64, y: f64| weights[k][0] * x + weights[k][1] * y + offsets[k];
        let mut map = Self::from_fn(x, y, 121, |x, y| {
            let best = (1..weights.len()).fold(0, |best, k| if score(k, x, y) > score(best, x, y) { k } else { best });
            let total: f64 = (0..weights.len()).map(|k| (score(k, x, y) - score(best, x, y)).exp()).sum();
            (best, 1.0 / total)
        });
        for (k, w) in weights.iter().enumerate() {
            map.vectors.push((format!("w{}", subscript(k)), k, *w));
        }
        for i in 0..weights.len() {
            for j in i + 1..weights.len() {
                map.boundaries.extend(boundary(weights, offsets, (i, j), x, y));
            }
        }
        map.equal = true;
        Ok(map)
    }

    /// The model's confidence (0 to 1) at each grid point: paler where it is less sure.
    #[must_use]
    pub fn confidence(mut self, confidence: &[f64]) -> Self {
        self.confidence = Some(confidence.to_vec());
        self
    }

    /// Names of classes 0, 1, 2 ... for the legend.
    #[must_use]
    pub fn class_names<S: AsRef<str>>(mut self, names: &[S]) -> Self {
        self.names = names.iter().map(|n| n.as_ref().to_owned()).collect();
        self
    }

    /// Adds samples with their true classes. Those outside the grid are left out and counted.
    #[must_use]
    pub fn points(mut self, x: &[f64], y: &[f64], classes: &[usize]) -> Self {
        if x.len() != y.len() || x.len() != classes.len() {
            self.uneven = Some(format!("points with {} x, {} y and {} classes", x.len(), y.len(), classes.len()));
        }
        self.points.extend(x.iter().zip(y).zip(classes).map(|((x, y), k)| (*x, *y, *k)));
        self
    }

    /// Adds the weight vector of a class, drawn from the origin, or from the middle if the origin is outside.
    #[must_use]
    pub fn vector(mut self, name: impl Into<String>, class: usize, vector: [f64; 2]) -> Self {
        self.vectors.push((name.into(), class, vector));
        self
    }

    /// Adds a line segment of a boundary.
    #[must_use]
    pub fn boundary(mut self, segment: PlaneSegment) -> Self {
        self.boundaries.push(segment);
        self
    }

    /// The boundaries that will be drawn.
    pub fn boundaries(&self) -> &[PlaneSegment] {
        &self.boundaries
    }

    /// A unit is as long along both axes, so that right angles look right.
    #[must_use]
    pub fn equal_axes(mut self) -> Self {
        self.equal = true;
        self
    }

    frame_methods!();
    axis_methods!();

    fn inside(&self, x: f64, y: f64) -> bool {
        let within = |axis: &[f64], v: f64| axis.first() <= Some(&v) && Some(&v) <= axis.last();
        within(&self.plane.x, x) && within(&self.plane.y, y)
    }

    fn legend(&self) -> Vec<Entry> {
        let shown = |k: usize| self.classes.contains(&k) || self.points.iter().any(|p| p.2 == k);
        let most = self.classes.iter().copied().chain(self.points.iter().map(|p| p.2)).max().unwrap_or(0);
        // a class number is an index; beyond this nobody can tell the signs apart
        let shown = (0..=most.min(40)).filter(|&k| shown(k));
        shown
            .map(|k| Entry::new(Sign::Marker(Look(k)), self.names.get(k).cloned().unwrap_or(format!("class {k}"))))
            .collect()
    }

    fn draw_vectors(&self, scene: &mut Scene, axes: &crate::draw::axes::Axes) {
        let ends = |v: &[f64]| (v[0], v[v.len() - 1]);
        let ((x0, x1), (y0, y1)) = (ends(&self.plane.x), ends(&self.plane.y));
        // from the very edge a vector might have nowhere to go
        let origin =
            if x0 < 0.0 && 0.0 < x1 && y0 < 0.0 && 0.0 < y1 { (0.0, 0.0) } else { ((x0 + x1) / 2.0, (y0 + y1) / 2.0) };
        // drawn at their length where they fit, all shortened alike where one does not
        let fit = |(_, _, [dx, dy]): &(String, usize, [f64; 2])| {
            let reach = |from: f64, d: f64, low: f64, high: f64| {
                if d > 0.0 {
                    (high - from) / d
                } else if d < 0.0 {
                    (low - from) / d
                } else {
                    f64::MAX
                }
            };
            0.85 * reach(origin.0, *dx, x0, x1).min(reach(origin.1, *dy, y0, y1))
        };
        let finite = || self.vectors.iter().filter(|v| v.2.iter().all(|c| drawable(*c, false)));
        let scale = finite().map(fit).fold(1.0, f64::min);
        for (name, _, [dx, dy]) in finite() {
            let (from, to) = (axes.at(origin.0, origin.1), axes.at(origin.0 + scale * dx, origin.1 + scale * dy));
            scene.arrow(from, to, "inkline vector", "inkfill", 9.0);
            let width = text_width(name, LABEL);
            let left = to.0 < from.0;
            let x = (to.0 + if left { -6.0 } else { 6.0 }).clamp(
                axes.area.x + if left { width } else { 0.0 },
                axes.area.right() - if left { 0.0 } else { width },
            );
            let y =
                (to.1 + if to.1 < from.1 { -4.0 } else { 13.0 }).clamp(axes.area.y + 11.0, axes.area.bottom() - 4.0);
            scene.label((x, y), if left { Anchor::End } else { Anchor::Start }, LABEL, "halo", name);
        }
    }
}

impl Picture for DecisionMap {
    fn scene(&self) -> Result<Scene> {
        self.plane.check(WHAT, self.classes.len())?;
        if let Some(problem) = &self.uneven {
            return Err(PlotError::Lengths { what: WHAT, problem: problem.clone() });
        }
        if let Some(confidence) = &self.confidence {
            same_length(WHAT, ("grid points", self.classes.len()), ("confidences", confidence.len()))?;
        }
        let hidden = self.points.iter().filter(|p| !self.inside(p.0, p.1)).count();
        let unknown = self.vectors.iter().filter(|v| v.2.iter().any(|c| !drawable(*c, false))).count();
        let notes = left_out(hidden, "point", &format!("outside the grid or {}", reason(false))).into_iter();
        let notes: Vec<_> = notes.chain(left_out(unknown, "vector", reason(false))).collect();
        let kind = format!("decision regions over {} and {}", self.x_label, self.y_label);
        let (mut scene, area) = self.frame.canvas(
            WHAT,
            &kind,
            self.plane.size(540.0, 80.0, self.equal, 470.0),
            150.0,
            &self.legend(),
            &notes,
        )?;
        let axes = self.plane.axes(&mut scene, area, [&self.x_label, &self.y_label], self.equal);
        let fills: Vec<String> =
            (0..crate::draw::theme::SERIES).map(|i| format!("region {}", Look(i).fill())).collect();
        self.plane.paint(&mut scene, &axes, |i| {
            // eight strengths are enough to see, and let neighbors be one rectangle
            let sure = self.confidence.as_ref().map_or(1.0, |c| c[i]);
            let sure = if sure.is_finite() { (sure.clamp(0.0, 1.0) * 8.0).round() / 8.0 } else { 0.0 };
            Some((fills[self.classes[i] % fills.len()].as_str(), 0.08 + 0.3 * sure))
        });
        for [a, b] in &self.boundaries {
            if [a, b].iter().all(|p| self.inside(p.0, p.1)) {
                scene.segment(axes.at(a.0, a.1), axes.at(b.0, b.1), "inkline boundary").end();
            }
        }
        for &(x, y, k) in self.points.iter().filter(|p| self.inside(p.0, p.1)) {
            scene.marker(axes.at(x, y), 3.8, Look(k), "mark dot").end();
        }
        self.draw_vectors(&mut scene, &axes);
        Ok(scene)
    }
}

/// The part of the line s_i = s_j inside the box on which no other class scores more.
fn boundary(
    weights: &[[f64; 2]],
    offsets: &[f64],
    (i, j): (usize, usize),
    x: (f64, f64),
    y: (f64, f64),
) -> Option<PlaneSegment> {
    let normal = [weights[i][0] - weights[j][0], weights[i][1] - weights[j][1]];
    let square = normal[0] * normal[0] + normal[1] * normal[1];
    if square == 0.0 {
        return None;
    }
    let shift = -(offsets[i] - offsets[j]) / square;
    let (p, d) = ([shift * normal[0], shift * normal[1]], [-normal[1], normal[0]]);
    // constraints a + t b >= 0: the box, then s_i >= s_k
    let mut constraints = vec![(p[0] - x.0, d[0]), (x.1 - p[0], -d[0]), (p[1] - y.0, d[1]), (y.1 - p[1], -d[1])];
    for k in (0..weights.len()).filter(|&k| k != i && k != j) {
        let (u, v) = (weights[i][0] - weights[k][0], weights[i][1] - weights[k][1]);
        constraints.push((u * p[0] + v * p[1] + offsets[i] - offsets[k], u * d[0] + v * d[1]));
    }
    let (mut low, mut high) = (f64::MIN, f64::MAX);
    for (a, b) in constraints {
        if b > 0.0 {
            low = low.max(-a / b);
        } else if b < 0.0 {
            high = high.min(-a / b);
        } else if a < 0.0 {
            return None;
        }
    }
    let at = |t: f64| (p[0] + t * d[0], p[1] + t * d[1]);
    let kept = |(u, v): (f64, f64)| (u.clamp(x.0, x.1), v.clamp(y.0, y.1));
    (low < high).then(|| [kept(at(low)), kept(at(high))])
}

fn subscript(n: usize) -> String {
    (n + 1).to_string().chars().filter_map(|c| char::from_u32(0x2080 + (c as u32 - '0' as u32))).collect()
}
