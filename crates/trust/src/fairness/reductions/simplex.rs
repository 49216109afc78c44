//! The linear program of a matrix game with few constraints, by the simplex method with Bland's rule.

/// A column or row that counts as positive or negative must exceed this.
const TINY: f64 = 1e-12;

/// Minimizes c·q + b max(0, maxⱼ Σᵢ qᵢ gaps[i][j]) over probabilities q. Returns q and the multipliers of the constraints, which are at
/// least 0 with a sum of at most b.
pub(super) fn cheapest_mixture(costs: &[f64], gaps: &[Vec<f64>], b: f64) -> (Vec<f64>, Vec<f64>) {
    let (m, constraints) = (costs.len(), gaps.first().map_or(0, Vec::len));
    // Columns: q, the slack s of all constraints, one slack per constraint, the right side. Rows: constraints, Σq = 1, costs.
    let (s, right) = (m, m + 1 + constraints);
    let mut table = vec![vec![0.0; right + 1]; constraints + 2];
    for (j, row) in table.iter_mut().take(constraints).enumerate() {
        gaps.iter().enumerate().for_each(|(i, gaps)| row[i] = gaps[j]);
        (row[s], row[m + 1 + j]) = (-1.0, 1.0);
    }
    table[constraints][..m].fill(1.0);
    table[constraints][right] = 1.0;
    table[constraints + 1][..m].copy_from_slice(costs);
    table[constraints + 1][s] = b;
    let mut basis: Vec<usize> = (0..constraints).map(|j| m + 1 + j).chain([0]).collect();
    // The first vertex: q = (1, 0, …), and s as large as its worst gap.
    pivot(&mut table, constraints, 0);
    let worst = (0..constraints).min_by(|&a, &b| table[a][right].total_cmp(&table[b][right]));
    if let Some(worst) = worst.filter(|&worst| table[worst][right] < 0.0) {
        pivot(&mut table, worst, s);
        basis[worst] = s;
    }
    for _ in 0..100_000 {
        let Some(column) = (0..right).find(|&column| table[constraints + 1][column] < -TINY) else { break };
        let ratio = |row: usize| table[row][right] / table[row][column];
        let rows = (0..=constraints).filter(|&row| table[row][column] > TINY);
        let Some(row) = rows.min_by(|&a, &b| ratio(a).total_cmp(&ratio(b)).then(basis[a].cmp(&basis[b]))) else {
            break;
        };
        pivot(&mut table, row, column);
        basis[row] = column;
    }
    let mut q = vec![0.0; m];
    for (row, &column) in basis.iter().enumerate().filter(|(_, column)| **column < m) {
        q[column] = table[row][right].max(0.0);
    }
    let total: f64 = q.iter().sum();
    q.iter_mut().for_each(|q| *q /= total);
    let multipliers = table[constraints + 1][m + 1..right].iter().map(|cost| cost.max(0.0)).collect();
    (q, multipliers)
}

/// Makes a column a unit vector with its 1 in a row.
fn pivot(table: &mut [Vec<f64>], row: usize, column: usize) {
    let by = table[row][column];
    table[row].iter_mut().for_each(|entry| *entry /= by);
    let own = table[row].clone();
    for (_, other) in table.iter_mut().enumerate().filter(|(index, _)| *index != row) {
        let times = other[column];
        if times != 0.0 {
            other.iter_mut().zip(&own).for_each(|(entry, own)| *entry -= times * own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixtures_are_optimal_in_examples_solved_by_hand() {
        let costs = [0.1, 0.3, 0.25];
        let gaps = [vec![0.2, -0.3], vec![-0.1, 0.0], vec![0.05, -0.15]];
        let (q, multipliers) = cheapest_mixture(&costs, &gaps, 100.0);
        // Mixing the first two with 1/3 and 2/3 meets the constraint: cost 0.2333; the third helps less.
        assert!((q[0] - 1.0 / 3.0).abs() < 1e-12 && (q[1] - 2.0 / 3.0).abs() < 1e-12 && q[2] == 0.0, "{q:?}");
        // The dual: λ₁ = (0.3 − 0.1)/0.3.
        assert!((multipliers[0] - 2.0 / 3.0).abs() < 1e-12 && multipliers[1] == 0.0, "{multipliers:?}");
        // Without a feasible mixture the largest gap is paid for.
        let (q, multipliers) = cheapest_mixture(&[0.1, 0.2], &[vec![0.2], vec![0.1]], 10.0);
        assert_eq!((q, multipliers), (vec![0.0, 1.0], vec![10.0]));
    }
}
