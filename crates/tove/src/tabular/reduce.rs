//! Rows of a table in fewer dimensions.

use std::time::Instant;

use tove_data::table::{Column, NumberFormat, Role, Schema, Table, TableEncoder};
use tove_data::{Problem, Remedy};
use tove_learn::{Fit, LearnError, Model, Pca, Transform};
use tove_tensor::Tensor;

use super::unlabeled::{Columns, LeftOut, Unlabeled};
use super::{Candidate, ColumnCounts, Result, TabularError};

/// Rows along the two directions of largest variance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plane {
    /// The first coordinate of each row.
    pub x: Vec<f64>,
    /// The second one; zero if there is one feature.
    pub y: Vec<f64>,
    /// The shares of the variance along both.
    pub explained: [f64; 2],
}

/// The first two principal components of a matrix.
pub(super) fn plane(x: &Tensor) -> Result<Plane> {
    let count = x.dims()[1].min(x.dims()[0]).min(2);
    let pca = Pca::default().n_components(count.into()).fit(x, None)?;
    let (rows, ratio) = (pca.transform(x)?.to_f64_vec(), pca.explained_variance_ratio().to_f64_vec());
    let side = |place: usize| match place < count {
        true => rows.iter().skip(place).step_by(count).copied().collect(),
        false => vec![0.0; x.dims()[0]],
    };
    let explained = [ratio[0], ratio.get(1).copied().unwrap_or(0.0)];
    Ok(Plane { x: side(0), y: side(1), explained })
}

/// How to reduce the columns of a table to a few components.
#[derive(Clone)]
pub struct ReducePlan {
    candidate: Candidate,
    columns: Columns,
    most: Option<usize>,
}

/// A component: a combination of the columns, or a coordinate of a layout.
#[derive(Clone, Debug, PartialEq)]
pub struct TableComponent {
    /// Its name, that of its column of values.
    pub name: String,
    /// The share of the variance along it, where the method says so.
    pub explained: Option<f64>,
    /// The weights of the features, the largest first; none for a layout.
    pub loadings: Vec<(String, f64)>,
}

/// Principal components of the same columns with and without standardization.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingEffect {
    /// With standardized numbers.
    pub standardized: ScaledComponents,
    /// With numbers as they are, where columns of large numbers have most of the variance.
    pub raw: ScaledComponents,
}

/// The first components of columns that are scaled in one way.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaledComponents {
    /// The share of the variance along each component.
    pub explained: Vec<f64>,
    /// The feature with the largest weight in the first component.
    pub feature: String,
    /// Its weight.
    pub weight: f64,
}

/// Components of a [`ScalingEffect`], at most.
const SCALED: usize = 10;
/// Features above which the effect of scaling is not computed.
const FEW: usize = 500;

/// The rows of a table in fewer dimensions.
pub struct ReduceOutcome {
    /// The id columns, and a column for each component.
    pub table: Table,
    /// The components.
    pub components: Vec<TableComponent>,
    /// The fitted transformer.
    pub model: Box<dyn Model>,
    /// The columns of the table, with their roles.
    pub schema: Schema,
    /// How rows become features.
    pub encoder: TableEncoder,
    /// Of PCA, what standardizing the numbers does; none where numbers as they are are too large to square.
    pub scaling: Option<ScalingEffect>,
    /// Number of features before.
    pub features: usize,
    /// Columns in which missing values were filled, and how many.
    pub imputed: ColumnCounts,
    /// Columns that were left out.
    pub left_out: Vec<LeftOut>,
    /// Seconds in all.
    pub seconds: f64,
}

impl ReducePlan {
    /// Reduces with this estimator: PCA and UMAP on standardized numbers, TruncatedSVD or NMF on numbers as they are.
    ///
    /// ```
    /// use tove::tabular::{Candidate, ReducePlan};
    /// let text = "a,b,c\n1,2,1\n2,4,0\n3,6,1\n4,8,0\n";
    /// let (table, _) = tove::data::table::CsvOptions::new().read_bytes(text.as_bytes())?;
    /// let candidate = Candidate::named("PCA")?.set("n_components", 2usize)?;
    /// let found = ReducePlan::new(candidate).fit(&table)?;
    /// assert_eq!((found.table.names().len(), found.table.n_rows()), (2, 4));
    /// // a and b say the same.
    /// assert!(found.components[0].explained.unwrap() > 0.6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(candidate: Candidate) -> ReducePlan {
        let columns = Columns { raw: !["PCA", "UMAP"].contains(&candidate.name.as_str()), ..Columns::default() };
        ReducePlan { candidate, columns, most: None }
    }

    /// As many components as this, or fewer if the table has fewer features or rows.
    #[must_use]
    pub fn at_most(self, components: usize) -> ReducePlan {
        ReducePlan { most: Some(components), ..self }
    }

    /// Whether numbers are standardized; those of PCA and UMAP are unless this says otherwise.
    #[must_use]
    pub fn standardize(mut self, yes: bool) -> ReducePlan {
        self.columns.raw = !yes;
        self
    }

    /// Gives a column another role than that of a feature.
    #[must_use]
    pub fn role(mut self, column: impl Into<String>, role: Role) -> ReducePlan {
        self.columns.roles.push((column.into(), role));
        self
    }

    /// How the numbers of a column are written in text files.
    #[must_use]
    pub fn number_format(mut self, column: impl Into<String>, format: NumberFormat) -> ReducePlan {
        self.columns.formats.push((column.into(), format));
        self
    }

    /// Reduces the columns of a table.
    ///
    /// # Errors
    /// If there are too few rows, no columns, or fewer features than components; if the estimator has no components.
    pub fn fit(&self, table: &Table) -> Result<ReduceOutcome> {
        let start = Instant::now();
        let data = self.columns.prepare(table)?;
        if self.candidate.estimator.capabilities().nonnegative && self.columns.raw {
            check_not_negative(&self.candidate.name, table, &data.schema)?;
        }
        let candidate = match self.most {
            Some(most) => {
                let can_be = data.x.dims().iter().copied().min().unwrap_or(most);
                self.candidate.clone().set("n_components", most.min(can_be))?
            }
            None => self.candidate.clone(),
        };
        let model = candidate.estimator.fit(data.x.clone(), None).map_err(|error| match error {
            LearnError::Interrupted { .. } => TabularError::Interrupted,
            other => other.into(),
        })?;
        let attribute = |wanted: &str| model.attributes().into_iter().find(|(name, _)| *name == wanted).map(|(_, x)| x);
        // A layout has coordinates that are not combinations of the columns.
        let directions = attribute("components").map(|directions| directions.to_f64_vec());
        if directions.is_none() && attribute("embedding").is_none() {
            let problem = format!("{} has no components; choose a decomposition", self.candidate.name);
            return Err(TabularError::plan(problem));
        }
        let features = data.encoder.feature_names().to_vec();
        let names = model.output_names(&features);
        let values = model.transform(data.x.clone())?.to_f64_vec();
        let explained = attribute("explained_variance_ratio").map(|ratio| ratio.to_f64_vec());
        let component = |(place, name): (usize, &String)| {
            let weights = directions.iter().flat_map(|all| &all[place * features.len()..(place + 1) * features.len()]);
            let mut loadings: Vec<(String, f64)> = features.iter().cloned().zip(weights.copied()).collect();
            loadings.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
            let explained = explained.as_ref().and_then(|ratio| ratio.get(place).copied());
            TableComponent { name: name.clone(), explained, loadings }
        };
        let components: Vec<TableComponent> = names.iter().enumerate().map(component).collect();
        let ids =
            data.schema.with(Role::Id).filter_map(|name| Some((name.to_owned(), table.column(name).ok()?.clone())));
        let mut columns: Vec<(String, Column)> = ids.collect();
        for (place, name) in names.iter().enumerate() {
            let own = values.iter().skip(place).step_by(names.len()).copied().collect();
            columns.push((name.clone(), Column::floats(own)));
        }
        let compared = self.candidate.name == "PCA" && features.len() <= FEW;
        Ok(ReduceOutcome {
            table: Table::new(columns)?,
            components,
            model,
            scaling: if compared { self.scaling(table, &data)? } else { None },
            schema: data.schema,
            encoder: data.encoder,
            features: features.len(),
            imputed: data.imputed,
            left_out: data.left_out,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Components with and without standardization, one of which is that of the plan. There is nothing to compare with where the
    /// squares of numbers as they are overflow.
    fn scaling(&self, table: &Table, data: &Unlabeled) -> Result<Option<ScalingEffect>> {
        let other = Columns { raw: !self.columns.raw, ..self.columns.clone() }.prepare(table)?;
        let (standardized, raw) = if self.columns.raw { (&other, data) } else { (data, &other) };
        let (Ok(standardized), Ok(raw)) = (scaled(standardized), scaled(raw)) else { return Ok(None) };
        Ok(Some(ScalingEffect { standardized, raw }))
    }
}

/// That a method of numbers from 0 on gets no others.
fn check_not_negative(name: &str, table: &Table, schema: &Schema) -> Result<()> {
    for feature in schema.with(Role::Feature) {
        let column = table.column(feature)?;
        if let Some(row) = (0..column.len()).find(|&row| column.number(row).is_some_and(|value| value < 0.0)) {
            let value = column.text(row).unwrap_or_default();
            let problem =
                format!("column {feature} is {value} in row {}, and {name} takes no negative numbers", row + 1);
            let problem = Problem::new(problem).advice("choose another method");
            return Err(TabularError::plan(problem.remedy(Remedy::DropColumn { column: feature.to_owned() })));
        }
    }
    Ok(())
}

fn scaled(data: &Unlabeled) -> Result<ScaledComponents> {
    let count = SCALED.min(data.x.dims()[0]).min(data.x.dims()[1]);
    let pca = Pca::default().n_components(count.into()).fit(data.x.clone(), None)?;
    let (names, weights) = (data.encoder.feature_names(), pca.components().to_f64_vec());
    let first = names.iter().zip(&weights).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    let (feature, weight) = first.map_or((String::new(), 0.0), |(name, weight)| (name.clone(), *weight));
    Ok(ScaledComponents { explained: pca.explained_variance_ratio().to_f64_vec(), feature, weight })
}
