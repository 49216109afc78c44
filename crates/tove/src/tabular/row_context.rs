//! What is known of rows besides the features that the model sees.

use tove_data::table::Conformed;
use tove_learn::Rows;

use super::ColumnCounts;

/// What had to be done to make rows fit the model, and to which groups they belong.
#[derive(Clone, Debug, Default)]
pub struct RowContext {
    /// Columns left out, kinds converted, categories never seen.
    pub conformed: Conformed,
    /// Columns in which missing values were filled, and how many.
    pub imputed: ColumnCounts,
    /// The group of each row for fair decisions; none where its column has no value or a new one.
    pub(super) decision_groups: Vec<Option<usize>>,
    /// The group of each row for coverage by groups.
    pub(super) coverage_groups: Vec<Option<usize>>,
    /// A number in [0, 1) for each row, for what is randomized.
    pub(super) draws: Vec<f64>,
}

/// A number in [0, 1) for each row that depends on its features alone: the same row is decided in the same way in every batch.
pub(super) fn draws(rows: &Rows) -> Vec<f64> {
    match rows {
        Rows::Dense(x) => {
            let values = x.to_f64_vec();
            let width = values.len() / rows.len().max(1);
            if width == 0 {
                return vec![draw([].into_iter()); rows.len()];
            }
            values.chunks(width).map(|row| draw(row.iter().copied().enumerate())).collect()
        }
        Rows::Sparse(x) => {
            let values = x.values().to_f64_vec();
            let cells =
                |ends: &[usize]| draw((ends[0]..ends[1]).map(|place| (x.indices()[place] as usize, values[place])));
            x.indptr().windows(2).map(cells).collect()
        }
    }
}

/// A number in [0, 1) from the cells of a row that are not 0: their bits are mixed and the upper 53 of the result taken.
fn draw(cells: impl Iterator<Item = (usize, f64)>) -> f64 {
    let mix = |hash: u64| {
        let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ (hash >> 31)
    };
    let start = 0x9e37_79b9_7f4a_7c15;
    let hash = cells
        .filter(|(_, value)| *value != 0.0)
        .fold(start, |hash, (column, value)| mix(mix(hash ^ column as u64) ^ value.to_bits()));
    (hash >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tove_learn::Csr;
    use tove_tensor::{DType, Key, Tensor};

    #[test]
    fn draws_depend_on_the_row_alone_and_are_uniform() {
        let x = Key::new(3).normal([4000, 3], DType::F64);
        let all = draws(&Rows::Dense(x.clone()));
        let some = draws(&Rows::Dense(x.narrow(0, 7, 5)));
        assert_eq!(some, all[7..12]);
        assert!((all.iter().sum::<f64>() / 4000.0 - 0.5).abs() < 0.02);
        let low = all.iter().filter(|draw| **draw < 0.25).count() as f64 / 4000.0;
        assert!((low - 0.25).abs() < 0.03, "{low}");
    }

    #[test]
    fn sparse_and_dense_rows_draw_the_same() {
        let x = Tensor::from([[0.0, 2.0, 0.0], [1.0, 0.0, -3.0], [0.0, 0.0, 0.0]]);
        let sparse = Csr::new(vec![0, 1, 3, 3], vec![1, 0, 2], Tensor::from([2.0, 1.0, -3.0]), 3).unwrap();
        assert_eq!(draws(&Rows::Dense(x)), draws(&Rows::Sparse(sparse)));
    }
}
