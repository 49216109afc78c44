//! ROC curves of groups and their convex hulls. A point between two vertices of the hull is reached by choosing one of the two thresholds
//! at random.

/// A point of the hull with the threshold that gives it: rows with a larger score are accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vertex {
    pub false_positive: f64,
    pub true_positive: f64,
    pub cut: Cut,
}

/// Who is accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cut {
    Nobody,
    Above(f64),
    Everybody,
}

/// The upper hull of the ROC curve of one group.
#[derive(Clone, Debug)]
pub(super) struct Hull {
    /// From (0, 0) to (1, 1).
    pub vertices: Vec<Vertex>,
    /// Weight of the rows with label 1.
    pub positives: f64,
    /// Weight of the rows with label 0.
    pub negatives: f64,
}

/// A place on the hull: with probability `share` the vertex `index + 1`, otherwise the vertex `index`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub index: usize,
    pub share: f64,
}

impl Hull {
    /// The hull of rows (score, label, weight); `None` if a label has no weight.
    pub(super) fn new(mut rows: Vec<(f64, usize, f64)>) -> Option<Hull> {
        rows.retain(|row| row.2 > 0.0);
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let total = |label: usize| rows.iter().filter(|row| row.1 == label).map(|row| row.2).sum::<f64>();
        let (positives, negatives) = (total(1), total(0));
        if positives <= 0.0 || negatives <= 0.0 {
            return None;
        }
        let mut vertices = vec![Vertex { false_positive: 0.0, true_positive: 0.0, cut: Cut::Nobody }];
        let (mut up, mut right) = (0.0, 0.0);
        for (place, &(score, label, weight)) in rows.iter().enumerate() {
            if label == 1 {
                up += weight
            } else {
                right += weight
            }
            let below = rows.get(place + 1).map(|row| row.0);
            if below == Some(score) {
                continue;
            }
            let point = match below {
                Some(below) => Vertex {
                    false_positive: right / negatives,
                    true_positive: up / positives,
                    cut: Cut::Above(between(below, score)),
                },
                None => Vertex { false_positive: 1.0, true_positive: 1.0, cut: Cut::Everybody },
            };
            push(&mut vertices, point);
        }
        Some(Hull { vertices, positives, negatives })
    }

    /// The first place at which `value`, which does not fall along the hull, reaches `wanted`; `last` asks for the last such place.
    pub(super) fn place(&self, wanted: f64, last: bool, value: impl Fn(f64, f64) -> f64) -> Place {
        let at = |index: usize| value(self.vertices[index].false_positive, self.vertices[index].true_positive);
        let segments = self.vertices.len() - 1;
        let index = match last {
            false => (0..segments).find(|&index| at(index + 1) >= wanted),
            true => (0..segments).find(|&index| at(index + 1) > wanted),
        };
        let Some(index) = index else { return Place { index: segments - 1, share: 1.0 } };
        let (low, high) = (at(index), at(index + 1));
        let share = if high > low { ((wanted - low) / (high - low)).clamp(0.0, 1.0) } else { 1.0 };
        Place { index, share }
    }

    /// False and true positive rate at a place.
    pub(super) fn rates(&self, place: Place) -> (f64, f64) {
        let (a, b) = (&self.vertices[place.index], &self.vertices[place.index + 1]);
        let mix = |a: f64, b: f64| a + place.share * (b - a);
        match place.share {
            share if share >= 1.0 => (b.false_positive, b.true_positive),
            _ => (mix(a.false_positive, b.false_positive), mix(a.true_positive, b.true_positive)),
        }
    }

    /// The largest true positive rate at a false positive rate.
    pub(super) fn height(&self, false_positive: f64) -> f64 {
        self.rates(self.place(false_positive, true, |f, _| f)).1
    }

    /// The thresholds to choose from at a place, with their probabilities.
    pub(super) fn cuts(&self, place: Place) -> [(f64, Cut); 2] {
        let cut = |index: usize| self.vertices[index].cut;
        [(1.0 - place.share, cut(place.index)), (place.share, cut(place.index + 1))]
    }
}

/// Appends a point to an upper hull, removing vertices that fall on or below it.
fn push(vertices: &mut Vec<Vertex>, point: Vertex) {
    while let [.., first, second] = &vertices[..] {
        let (x1, y1) = (second.false_positive - first.false_positive, second.true_positive - first.true_positive);
        let (x2, y2) = (point.false_positive - first.false_positive, point.true_positive - first.true_positive);
        if x1 * y2 - y1 * x2 < 0.0 {
            break;
        }
        vertices.pop();
    }
    vertices.push(point);
}

/// A number at least `low` and below `high`, in the middle where possible.
fn between(low: f64, high: f64) -> f64 {
    let middle = 0.5 * low + 0.5 * high;
    if middle >= low && middle < high { middle } else { low }
}
