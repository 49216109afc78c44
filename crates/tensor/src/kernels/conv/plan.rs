//! How the taps of a filter meet an image, axis by axis.
//!
//! A convolution reads position o·s + t·d − p for output o and tap t. The padded copy of the image is stored in s
//! *phases* (the positions that leave the same remainder by s), so that neighbouring outputs read neighbouring numbers
//! for any stride: phase (t·d) mod s, index o + ⌊t·d / s⌋.
//!
//! Its transpose collects in position i the outputs o with o·s + t·d − p = i. Positions fall into s *classes* by the
//! remainder of i + p; each class meets its own taps, with neighbours again reading neighbours.
//!
//! Either way a result is a plain sum over (channel, tap) of a filter value times the number at a fixed distance.

/// A tap as one axis sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tap {
    /// Position in the filter.
    pub index: usize,
    /// The phase it reads.
    pub phase: usize,
    /// Distance from the place of the output in that phase.
    pub shift: usize,
}

/// Results that meet the same taps: positions `first, first + step, …`, `count` of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    pub first: usize,
    pub step: usize,
    pub count: usize,
    pub taps: Vec<Tap>,
}

/// One axis of a convolution or of its transpose.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    /// Number of phases of the padded copy.
    pub phases: usize,
    /// Entry `j` of phase `f` is position `j · phases + f − lead` of the image, zero outside.
    pub lead: usize,
    /// Entries of a phase.
    pub length: usize,
    pub classes: Vec<Class>,
}

/// Sizes along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub input: usize,
    pub output: usize,
    pub kernel: usize,
    pub stride: usize,
    pub padding: usize,
    pub dilation: usize,
}

impl Axis {
    /// The axis of a convolution from `input` to `output` positions.
    pub fn forward(span: Span) -> Axis {
        let taps: Vec<Tap> = (0..span.kernel)
            .map(|index| {
                let distance = index * span.dilation;
                Tap { index, phase: distance % span.stride, shift: distance / span.stride }
            })
            .collect();
        let reach = taps.iter().map(|tap| tap.shift).max().unwrap_or(0);
        let classes = vec![Class { first: 0, step: 1, count: span.output, taps }];
        Axis { phases: span.stride, lead: span.padding, length: span.output + reach, classes }
    }

    /// The axis of the transpose, from `output` to `input` positions.
    pub fn backward(span: Span) -> Axis {
        let stride = span.stride as isize;
        // The distance of the farthest tap decides how many zeros go in front.
        let reach = (span.kernel.saturating_sub(1) * span.dilation) as isize;
        let lead = reach.max(0) / stride + 1;
        let mut classes = Vec::with_capacity(span.stride.min(span.input));
        let mut length = 0;
        // A class is named by its first position; with a stride beyond the image there are fewer of them than remainders.
        for first in 0..span.stride.min(span.input) as isize {
            let class = (first as usize + span.padding) % span.stride;
            let count = (span.input - first as usize).div_ceil(span.stride);
            let meets = |index: &usize| (index * span.dilation) % span.stride == class;
            let tap = |index: usize| {
                let shift = (first + span.padding as isize - (index * span.dilation) as isize) / stride + lead;
                Tap { index, phase: 0, shift: shift as usize }
            };
            let taps: Vec<Tap> = (0..span.kernel).filter(meets).map(tap).collect();
            length = taps.iter().map(|tap| tap.shift + count).fold(length, usize::max);
            classes.push(Class { first: first as usize, step: span.stride, count, taps });
        }
        Axis { phases: 1, lead: lead as usize, length, classes }
    }

    /// The part of phase `phase` that lies inside an image of `size` positions: entries, and the first one's position.
    #[inline]
    pub fn inside(&self, phase: usize, size: usize) -> (std::ops::Range<usize>, usize) {
        // The smallest j with j · phases + phase >= lead, and the smallest with j · phases + phase >= lead + size.
        let from = |bound: usize| bound.saturating_sub(phase).div_ceil(self.phases).min(self.length);
        let (start, end) = (from(self.lead), from(self.lead + size));
        let position = (start * self.phases + phase).saturating_sub(self.lead);
        (start..end.max(start), position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every (input, tap, output) triple that the formula names is found, and no other.
    fn check(span: Span) {
        let wanted = |o: usize, t: usize, i: usize| o * span.stride + t * span.dilation == i + span.padding;
        let forward = Axis::forward(span);
        let backward = Axis::backward(span);
        let triples = |axis: &Axis, size: usize| {
            let mut found = Vec::new();
            for class in &axis.classes {
                for tap in &class.taps {
                    let (inside, position) = axis.inside(tap.phase, size);
                    for j in 0..class.count {
                        assert!(j + tap.shift < axis.length, "{span:?}");
                        if inside.contains(&(j + tap.shift)) {
                            let source = position + (j + tap.shift - inside.start) * axis.phases;
                            assert!(source < size, "{span:?}");
                            found.push((class.first + j * class.step, tap.index, source));
                        }
                    }
                }
            }
            found.sort_unstable();
            found
        };
        let mut by_output = Vec::new();
        let mut by_input = Vec::new();
        for o in 0..span.output {
            for t in 0..span.kernel {
                for i in (0..span.input).filter(|&i| wanted(o, t, i)) {
                    by_output.push((o, t, i));
                    by_input.push((i, t, o));
                }
            }
        }
        by_output.sort_unstable();
        by_input.sort_unstable();
        assert_eq!(triples(&forward, span.input), by_output, "{span:?}");
        assert_eq!(triples(&backward, span.output), by_input, "{span:?}");
    }

    #[test]
    fn taps_meet_exactly_the_positions_of_the_formula() {
        for input in 1..9 {
            for kernel in 1..5 {
                for stride in 1..4 {
                    for padding in 0..4 {
                        for dilation in 1..4 {
                            let reach = (kernel - 1) * dilation + 1;
                            if input + 2 * padding >= reach {
                                let output = (input + 2 * padding - reach) / stride + 1;
                                check(Span { input, output, kernel, stride, padding, dilation });
                            }
                        }
                    }
                }
            }
        }
    }
}
