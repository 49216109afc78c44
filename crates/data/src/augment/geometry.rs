//! Steps that move pixels: windows, reflections, shifts, rotation.

use super::image::{Image, Real, Size, real};

/// The window of `height` × `width` whose first pixel is (`top`, `left`); zeros where it reaches beyond the image.
pub(super) fn window<T: Real>(image: &mut Image<T>, top: isize, left: isize, height: usize, width: usize) {
    let from = image.size;
    let size = Size { height, width, ..from };
    if top == 0 && left == 0 && size == from {
        return;
    }
    // Columns [start, end) of the window lie inside the image.
    let start = (-left).clamp(0, width as isize);
    let end = (from.width as isize - left).clamp(start, width as isize);
    image.remake(size, |old, new| {
        for (row, target) in new.chunks_exact_mut(width.max(1)).enumerate() {
            let source = row as isize + top;
            if (0..from.height as isize).contains(&source) && start < end {
                let begin = source as usize * from.width + (start + left) as usize;
                let count = (end - start) as usize;
                target[start as usize..end as usize].copy_from_slice(&old[begin..begin + count]);
            }
        }
    });
}

/// Moves the image down and to the right; zeros come in.
pub(super) fn shift<T: Real>(image: &mut Image<T>, down: isize, right: isize) {
    // Beyond the image it is all the same: empty.
    let bound = |step: isize, size: usize| step.clamp(-(size as isize), size as isize);
    let Size { height, width, .. } = image.size;
    window(image, -bound(down, height), -bound(right, width), height, width);
}

pub(super) fn reflect_horizontal<T: Real>(image: &mut Image<T>) {
    let width = image.size.width.max(1);
    image.data.chunks_exact_mut(width).for_each(<[T]>::reverse);
}

pub(super) fn reflect_vertical<T: Real>(image: &mut Image<T>) {
    let Size { height, width, .. } = image.size;
    for plane in image.planes_mut() {
        for row in 0..height / 2 {
            let (upper, lower) = plane.split_at_mut((height - 1 - row) * width);
            upper[row * width..(row + 1) * width].swap_with_slice(&mut lower[..width]);
        }
    }
}

/// Turns the image counter-clockwise about its center. Each new pixel is the bilinear mean of the four old ones around
/// the place it comes from; beyond the border there are zeros.
pub(super) fn rotate<T: Real>(image: &mut Image<T>, degrees: f64) {
    let size = image.size;
    let (sine, cosine) = degrees.to_radians().sin_cos();
    let (middle_row, middle_column) = ((size.height as f64 - 1.0) / 2.0, (size.width as f64 - 1.0) / 2.0);
    image.remake(size, |old, new| {
        let pixel = |row: isize, column: isize| {
            let inside = (0..size.height as isize).contains(&row) && (0..size.width as isize).contains(&column);
            if inside { old[row as usize * size.width + column as usize] } else { T::default() }
        };
        for (number, target) in new.iter_mut().enumerate() {
            let (y, x) = ((number / size.width) as f64 - middle_row, (number % size.width) as f64 - middle_column);
            let (row, column) = (cosine * y + sine * x + middle_row, cosine * x - sine * y + middle_column);
            let (top, left) = (row.floor(), column.floor());
            let (down, right): (T, T) = (real(row - top), real(column - left));
            let (top, left) = (top as isize, left as isize);
            let upper = pixel(top, left) * (T::ONE - right) + pixel(top, left + 1) * right;
            let lower = pixel(top + 1, left) * (T::ONE - right) + pixel(top + 1, left + 1) * right;
            *target = upper * (T::ONE - down) + lower * down;
        }
    });
}
