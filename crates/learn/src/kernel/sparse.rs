//! Products and distances of sparse rows, without conversion to dense.

use tove_tensor::Tensor;

use crate::{Csr, Real, Result, with_real};

/// xᵢᵀzⱼ for all rows of two matrices, (n, m): each row of x is scattered once, then multiplied with the stored values
/// of z.
pub(super) fn products(x: &Csr, z: &Csr) -> Result<Tensor> {
    with_real!(x.dtype(), T => {
        let (left, right) = (x.values().as_slice::<T>()?, z.values().as_slice::<T>()?);
        let mut row = vec![<T as Real>::ZERO; x.columns()];
        let mut out = Vec::with_capacity(x.rows() * z.rows());
        for i in 0..x.rows() {
            let own = x.indptr()[i]..x.indptr()[i + 1];
            let stored = x.indices()[own.clone()].iter().zip(&left[own]);
            stored.clone().for_each(|(&column, &value)| row[column as usize] = value);
            for j in 0..z.rows() {
                let other = z.indptr()[j]..z.indptr()[j + 1];
                let terms = z.indices()[other.clone()].iter().zip(&right[other]);
                out.push(T::of(terms.map(|(&column, value)| row[column as usize].f64() * value.f64()).sum()));
            }
            stored.for_each(|(&column, _)| row[column as usize] = <T as Real>::ZERO);
        }
        Ok(Tensor::try_from_vec(out, [x.rows(), z.rows()])?)
    })
}

/// ‖x‖² of every row.
pub(super) fn square_norms(x: &Csr) -> Result<Vec<f64>> {
    with_real!(x.dtype(), T => {
        let values = x.values().as_slice::<T>()?;
        let square = |two: &[usize]| values[two[0]..two[1]].iter().map(|x| x.f64() * x.f64()).sum();
        Ok(x.indptr().windows(2).map(square).collect())
    })
}

/// ‖xᵢ − zⱼ‖² from the differences, merging both rows; NaN if the values cannot be read.
pub(super) fn square_distance(x: &Csr, i: usize, z: &Csr, j: usize) -> f64 {
    with_real!(x.dtype(), T => {
        let (Ok(left), Ok(right)) = (x.values().as_slice::<T>(), z.values().as_slice::<T>()) else { return f64::NAN };
        let (mut a, mut b) = (x.indptr()[i], z.indptr()[j]);
        let (end_a, end_b) = (x.indptr()[i + 1], z.indptr()[j + 1]);
        let mut sum = 0.0;
        while a < end_a || b < end_b {
            let column = |index: usize, end: usize, of: &Csr| if index < end { of.indices()[index] } else { u32::MAX };
            let (first, second) = (column(a, end_a, x), column(b, end_b, z));
            let difference = match first.cmp(&second) {
                std::cmp::Ordering::Less => left[a].f64(),
                std::cmp::Ordering::Greater => right[b].f64(),
                std::cmp::Ordering::Equal => (left[a] - right[b]).f64(),
            };
            a += usize::from(first <= second);
            b += usize::from(second <= first);
            sum += difference * difference;
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use tove_tensor::{DType, Key};

    use super::*;

    #[test]
    fn products_and_distances_are_those_of_dense_rows() {
        let (x, z) = (Key::new(1).normal([7, 5], DType::F64).relu(), Key::new(2).normal([4, 5], DType::F64).relu());
        let (a, b) = (Csr::from_dense(&x).unwrap(), Csr::from_dense(&z).unwrap());
        let expected = x.matmul(&z.t()).to_f64_vec();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-14;
        assert!(products(&a, &b).unwrap().to_f64_vec().iter().zip(&expected).all(|(a, b)| close(*a, *b)));
        let (x, z) = (x.to_f64_vec(), z.to_f64_vec());
        for i in 0..7 {
            for j in 0..4 {
                let squares = x[i * 5..][..5].iter().zip(&z[j * 5..][..5]).map(|(x, z)| (x - z) * (x - z));
                assert!(close(square_distance(&a, i, &b, j), squares.sum()));
            }
        }
    }
}
