//! The two-loop recursion (Nocedal 1980): the product of an approximate inverse Hessian with a vector, from the last few
//! steps s = x' − x and changes of gradient y = g' − g alone.

use super::vectors::{add_scaled, dot};

/// The last steps and changes of gradient, in a ring.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    size: usize,
    capacity: usize,
    /// `capacity` vectors one after the other, and so for `changes`.
    steps: Vec<f64>,
    changes: Vec<f64>,
    /// 1 / (s · y).
    inverse: Vec<f64>,
    share: Vec<f64>,
    /// Position of the oldest pair.
    first: usize,
    count: usize,
}

impl Memory {
    pub(super) fn new(size: usize, capacity: usize) -> Memory {
        let vectors = || vec![0.0; size * capacity];
        let (inverse, share) = (vec![0.0; capacity], vec![0.0; capacity]);
        Memory { size, capacity, steps: vectors(), changes: vectors(), inverse, share, first: 0, count: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn clear(&mut self) {
        (self.first, self.count) = (0, 0);
    }

    fn place(&self, age: usize) -> usize {
        (self.first + age) % self.capacity
    }

    /// The pair of this age, 0 being the oldest.
    pub(super) fn pair(&self, age: usize) -> (&[f64], &[f64]) {
        let range = self.place(age) * self.size..(self.place(age) + 1) * self.size;
        (&self.steps[range.clone()], &self.changes[range])
    }

    /// Adds s = `x_new` − x and y = `g_new` − g. A pair without curvature, s · y ≤ ε ‖s‖ ‖y‖, is left out: it would make
    /// the approximation indefinite.
    pub(super) fn push(&mut self, (x, g): (&[f64], &[f64]), (x_new, g_new): (&[f64], &[f64])) {
        let place = self.place(self.count);
        let range = place * self.size..(place + 1) * self.size;
        let (s, y) = (&mut self.steps[range.clone()], &mut self.changes[range]);
        for i in 0..self.size {
            s[i] = x_new[i] - x[i];
            y[i] = g_new[i] - g[i];
        }
        let curvature = dot(s, y);
        // False for NaN too.
        let curved = curvature > f64::EPSILON * (dot(s, s) * dot(y, y)).sqrt();
        if !curved {
            // A full ring has lost its oldest pair to the attempt.
            if self.count == self.capacity {
                self.first = self.place(1);
                self.count -= 1;
            }
            return;
        }
        self.inverse[place] = 1.0 / curvature;
        if self.count == self.capacity {
            self.first = self.place(1);
        } else {
            self.count += 1;
        }
    }

    /// d ← −H g, with H₀ = (s · y / y · y) I of the newest pair.
    pub(super) fn direction(&mut self, g: &[f64], d: &mut [f64]) {
        for (d, g) in d.iter_mut().zip(g) {
            *d = -g;
        }
        for age in (0..self.count).rev() {
            let place = self.place(age);
            let (s, y) = self.pair(age);
            let share = self.inverse[place] * dot(s, d);
            add_scaled(d, -share, y);
            self.share[place] = share;
        }
        if self.count > 0 {
            let (_, y) = self.pair(self.count - 1);
            let scale = 1.0 / (self.inverse[self.place(self.count - 1)] * dot(y, y));
            d.iter_mut().for_each(|d| *d *= scale);
        }
        for age in 0..self.count {
            let place = self.place(age);
            let (s, y) = self.pair(age);
            let rest = self.share[place] - self.inverse[place] * dot(y, d);
            add_scaled(d, rest, s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_pair_obeys_the_secant_equation() {
        let mut memory = Memory::new(3, 2);
        let x = [[0.0, 0.0, 0.0], [1.0, 0.5, 0.0], [1.5, 0.0, 1.0], [2.0, 1.0, 1.5]];
        let hessian = [1.0, 4.0, 9.0];
        let g = x.map(|x| [x[0] * hessian[0], x[1] * hessian[1], x[2] * hessian[2]]);
        for k in 0..3 {
            memory.push((&x[k], &g[k]), (&x[k + 1], &g[k + 1]));
        }
        assert_eq!(memory.len(), 2);
        let (s, y) = memory.pair(1);
        let (s, y) = (s.to_vec(), y.to_vec());
        let mut d = [0.0; 3];
        memory.direction(&y, &mut d); // H y = s
        assert!(d.iter().zip(&s).all(|(d, s)| (d + s).abs() < 1e-12), "{d:?} is not -{s:?}");
    }

    #[test]
    fn pairs_without_curvature_are_left_out() {
        let mut memory = Memory::new(2, 2);
        memory.push((&[0.0, 0.0], &[0.0, 0.0]), (&[1.0, 0.0], &[-1.0, 0.0]));
        memory.push((&[0.0, 0.0], &[0.0, 0.0]), (&[1.0, 0.0], &[f64::NAN, 0.0]));
        assert!(memory.is_empty());
    }
}
