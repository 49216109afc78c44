//! Steps that change pixels where they are.

use super::image::{Image, Real, Size, real};

/// Zeros in a square of side `side` around `centre`, cut off at the border.
pub(super) fn cutout<T: Real>(image: &mut Image<T>, centre: (usize, usize), side: usize) {
    let Size { height, width, .. } = image.size;
    let range = |centre: usize, size: usize| {
        let start = centre.saturating_sub(side / 2);
        let end = (centre + side).saturating_sub(side / 2).min(size);
        start..end.max(start)
    };
    let (rows, columns) = (range(centre.0, height), range(centre.1, width));
    for plane in image.planes_mut() {
        for row in rows.clone() {
            plane[row * width..][columns.clone()].fill(T::default());
        }
    }
}

/// (x − mean)/std by channel; lists of one number serve all channels.
pub(super) fn normalize<T: Real>(image: &mut Image<T>, mean: &[f64], std: &[f64]) {
    let pick = |list: &[f64], channel: usize| if list.len() == 1 { list[0] } else { list[channel] };
    for (channel, plane) in image.planes_mut().enumerate() {
        let (mean, scale): (T, T) = (real(pick(mean, channel)), real(1.0 / pick(std, channel)));
        plane.iter_mut().for_each(|x| *x = (*x - mean) * scale);
    }
}
