//! A function of two variables as data for pictures: values on a grid, contour lines, and the field of gradients.
//!
//! Contour lines of evenly spaced levels lie close together where the gradient is large: their distance is about Δ/‖∇f‖.
//! Lines are found by marching squares, with crossings of grid edges interpolated linearly. The gradient is orthogonal to
//! the lines; its negative leads downhill, but points straight at the minimum only if the bowl is round.
//!
//! ```
//! use tove_optim::{Landscape, landscape::Range};
//! use tove_tensor::Tensor;
//! let f = |w: &Tensor| w.square().sum();
//! let map = Landscape::sample(&f, Range::new(-2.0, 2.0, 41), Range::new(-2.0, 2.0, 41))?;
//! let circle = map.contour(1.0);
//! assert!(circle.iter().flatten().all(|(x, y)| (x.hypot(*y) - 1.0).abs() < 0.01));
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use std::fmt::Write;

use tove_tensor::{DType, Result, Tensor, TryOps};

use crate::fault;
use crate::objective::Objective;

/// Evenly spaced numbers from `start` to `end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    start: f64,
    end: f64,
    count: usize,
}

impl Range {
    /// `count` numbers from `start` to `end`, both included.
    pub fn new(start: f64, end: f64, count: usize) -> Range {
        Range { start, end, count }
    }

    fn numbers(&self) -> Result<Vec<f64>> {
        if self.count < 2 || self.start >= self.end || !(self.end - self.start).is_finite() {
            let problem = format!(
                "from {} to {} with {} numbers; needs start < end and two or more",
                self.start, self.end, self.count
            );
            return Err(fault::parameter("landscape", "range", problem));
        }
        let step = (self.end - self.start) / (self.count - 1) as f64;
        Ok((0..self.count).map(|i| self.start + step * i as f64).collect())
    }
}

/// A line segment between two points (x, y).
pub type Segment = [(f64, f64); 2];

/// A gradient at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrow {
    /// The point.
    pub at: (f64, f64),
    /// ∇f there.
    pub gradient: (f64, f64),
}

/// Values of a function of two variables on a grid.
#[derive(Clone, Debug)]
pub struct Landscape {
    /// First coordinates.
    pub x: Vec<f64>,
    /// Second coordinates.
    pub y: Vec<f64>,
    /// f(x_i, y_j) at position i · y.len() + j.
    pub values: Vec<f64>,
}

fn point(x: f64, y: f64) -> Tensor {
    Tensor::from([x, y])
}

impl Landscape {
    /// Evaluates f, a function of a vector of two f64 numbers, on a grid.
    pub fn sample(objective: &dyn Objective, x: Range, y: Range) -> Result<Landscape> {
        let (x, y) = (x.numbers()?, y.numbers()?);
        let mut values = Vec::with_capacity(x.len() * y.len());
        for &x in &x {
            for &y in &y {
                values.push(objective.value(&point(x, y))?);
            }
        }
        Ok(Landscape { x, y, values })
    }

    /// f around `centre` in the plane spanned by two directions: f(centre + x u + y v), for functions of many variables.
    pub fn slice(
        objective: &dyn Objective,
        centre: &Tensor,
        [u, v]: [&Tensor; 2],
        x: Range,
        y: Range,
    ) -> Result<Landscape> {
        let plane = |p: &Tensor| {
            let along =
                |i: usize, direction: &Tensor| direction.try_mul(&p.try_get(i)?.try_to_dtype(direction.dtype())?);
            objective.evaluate(&centre.try_add(&along(0, u)?)?.try_add(&along(1, v)?)?)?.try_to_dtype(DType::F64)
        };
        Landscape::sample(&crate::objective::Fallible(plane), x, y)
    }

    fn value(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.y.len() + j]
    }

    /// The line f = `level`, as segments.
    pub fn contour(&self, level: f64) -> Vec<Segment> {
        let mut segments = Vec::new();
        for i in 0..self.x.len().saturating_sub(1) {
            for j in 0..self.y.len().saturating_sub(1) {
                self.cell(i, j, level, &mut segments);
            }
        }
        segments
    }

    /// The segments of one cell: crossings of its four edges, joined in pairs.
    fn cell(&self, i: usize, j: usize, level: f64, segments: &mut Vec<Segment>) {
        let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
        let mut crossings = Vec::with_capacity(4);
        for k in 0..4 {
            let ((ai, aj), (bi, bj)) = (corners[k], corners[(k + 1) % 4]);
            let (a, b) = (self.value(ai, aj) - level, self.value(bi, bj) - level);
            if (a < 0.0) != (b < 0.0) && a.is_finite() && b.is_finite() {
                let t = a / (a - b);
                let between = |a: f64, b: f64| a + t * (b - a);
                crossings.push((between(self.x[ai], self.x[bi]), between(self.y[aj], self.y[bj])));
            }
        }
        match crossings[..] {
            [a, b] => segments.push([a, b]),
            // Two lines pass through a saddle cell; the value in the middle says which corners they cut off.
            [a, b, c, d] => {
                let middle = corners.iter().map(|&(i, j)| self.value(i, j)).sum::<f64>() / 4.0 - level;
                if (middle < 0.0) == (self.value(i, j) - level < 0.0) {
                    segments.extend([[a, b], [c, d]]);
                } else {
                    segments.extend([[d, a], [b, c]]);
                }
            }
            _ => {}
        }
    }

    /// The lines of several levels.
    pub fn contours(&self, levels: &[f64]) -> Vec<(f64, Vec<Segment>)> {
        levels.iter().map(|&level| (level, self.contour(level))).collect()
    }

    /// The lines as text: a line `level,x1,y1,x2,y2` per segment, under a header.
    pub fn contours_csv(&self, levels: &[f64]) -> String {
        let mut text = String::from("level,x1,y1,x2,y2\n");
        for (level, segments) in self.contours(levels) {
            for [(x1, y1), (x2, y2)] in segments {
                let _ = writeln!(text, "{level},{x1},{y1},{x2},{y2}");
            }
        }
        text
    }
}

/// The gradient at every point of a grid.
///
/// ```
/// use tove_optim::{landscape::Range, vector_field};
/// use tove_tensor::Tensor;
/// let field = vector_field(&|w: &Tensor| w.square().sum(), Range::new(-1.0, 1.0, 3), Range::new(-1.0, 1.0, 3))?;
/// assert_eq!((field.len(), field[0].gradient), (9, (-2.0, -2.0)));
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn vector_field(objective: &dyn Objective, x: Range, y: Range) -> Result<Vec<Arrow>> {
    let (x, y) = (x.numbers()?, y.numbers()?);
    let mut arrows = Vec::with_capacity(x.len() * y.len());
    for &x in &x {
        for &y in &y {
            if let [dx, dy] = objective.gradient(&point(x, y))?.to_f64_vec()[..] {
                arrows.push(Arrow { at: (x, y), gradient: (dx, dy) });
            }
        }
    }
    Ok(arrows)
}
