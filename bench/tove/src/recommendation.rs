//! W30: matrix factorization of the first ratings of MovieTweetings-100k. Quality: held-out RMSE of ratings, held-out NDCG@10 of choices.

use std::collections::HashMap;
use std::hint::black_box;
use std::path::PathBuf;

use serde_json::Value;
use tove_learn::factorization::{ImplicitFactorization, MatrixFactorization, recommend};
use tove_learn::{Csr, Fit, Model, Transform, quietly};
use tove_tensor::{Tensor, TryOps};

use crate::workload::{Workload, number};

/// One rating of so many is held out: those with the numbers that this leaves nothing of.
const PARTS: usize = 5;

/// User, item, rating.
type Entry = (usize, usize, f64);

struct Case {
    implicit: bool,
    train: Csr,
    held_out: Vec<Entry>,
    ratings: MatrixFactorization,
    choices: ImplicitFactorization,
}

fn entries(rows: usize) -> Result<Vec<Entry>, String> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("TOVE_DATA").map_or_else(beside, PathBuf::from);
    let path = folder.join("movietweetings-100k/ratings.csv");
    let absent = |error| format!("{}: {error}; set TOVE_DATA to the folder of the shared data sets", path.display());
    let text = std::fs::read_to_string(&path).map_err(absent)?;
    let (mut users, mut items) = (HashMap::new(), HashMap::new());
    let mut all = Vec::new();
    for line in text.lines().skip(1).take(rows) {
        let fields: Vec<&str> = line.split(',').collect();
        let [user, item, rating, ..] = fields[..] else { return Err(format!("a line of {} fields", fields.len())) };
        let number = |names: &mut HashMap<String, usize>, name: &str| {
            let next = names.len();
            *names.entry(name.to_owned()).or_insert(next)
        };
        let value = rating.parse::<f64>().map_err(|error| error.to_string())?;
        all.push((number(&mut users, user), number(&mut items, item), value));
    }
    Ok(all)
}

/// One case of W30.
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let implicit = parameters["task"] == "implicit";
    let all = entries(number(parameters, "rows")?)?;
    let width = |of: fn(&Entry) -> usize| all.iter().map(of).max().map_or(0, |most| most + 1);
    let (users, items) = (width(|entry| entry.0), width(|entry| entry.1));
    let (mut train, mut held_out) = (Vec::new(), Vec::new());
    for (place, entry) in all.into_iter().enumerate() {
        if place % PARTS == PARTS - 1 { held_out.push(entry) } else { train.push(entry) }
    }
    train.sort_by_key(|&(user, item, _)| (user, item));
    let mut starts = vec![0; users + 1];
    train.iter().for_each(|entry| starts[entry.0 + 1] += 1);
    (0..users).for_each(|user| starts[user + 1] += starts[user]);
    let values: Vec<f64> = train.iter().map(|entry| if implicit { 1.0 } else { entry.2 }).collect();
    let columns = train.iter().map(|entry| entry.1 as u32).collect();
    let train = Csr::new(starts, columns, Tensor::from(values), items).map_err(|error| error.to_string())?;
    let (factors, iterations) = (number(parameters, "factors")?, number(parameters, "iterations")?);
    let ratings = MatrixFactorization::default().n_components(factors).max_iter(iterations).tol(0.0);
    let choices = ImplicitFactorization::default().n_components(factors).max_iter(iterations).tol(0.0);
    let choices = choices.alpha(0.1).confidence(40.0);
    Ok(Box::new(Case { implicit, train, held_out, ratings, choices }))
}

impl Case {
    fn fit(&self) -> Box<dyn Model> {
        let x = black_box(&self.train);
        quietly(|| match self.implicit {
            true => Box::new(self.choices.fit(x, None).expect("the data are fine")) as Box<dyn Model>,
            false => Box::new(self.ratings.fit(x, None).expect("the data are fine")),
        })
    }
}

impl Workload for Case {
    fn step(&mut self) {
        black_box(self.fit());
    }

    fn quality(&mut self) -> f64 {
        let model = self.fit();
        let mut wanted: HashMap<usize, Vec<(usize, f64)>> = HashMap::new();
        self.held_out.iter().for_each(|&(user, item, value)| wanted.entry(user).or_default().push((item, value)));
        let mut users: Vec<usize> = wanted.keys().copied().collect();
        users.sort_unstable();
        let rows = self.train.take(&users).expect("the users exist");
        if self.implicit {
            let lists = recommend(&*model, rows, 10, true).expect("the rows fit");
            let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
            let of_user = |(user, list): (&usize, Vec<tove_learn::factorization::Recommended>)| {
                let right = &wanted[user];
                let hit = |item: usize| right.iter().any(|&(own, _)| own == item);
                let reached: f64 =
                    list.iter().enumerate().filter(|(_, one)| hit(one.item)).map(|(place, _)| gain(place)).sum();
                reached / (0..right.len().min(10)).map(gain).sum::<f64>()
            };
            return users.iter().zip(lists).map(of_user).sum::<f64>() / users.len() as f64;
        }
        let factors: Tensor = model.transform(rows).expect("the rows fit");
        let mut error = 0.0;
        for (place, user) in users.iter().enumerate() {
            let one = factors.try_narrow(0, place, 1).expect("the row exists");
            let scores: Tensor = model.inverse_transform(one).expect("the factors fit");
            let scores = scores.to_f64_vec();
            error += wanted[user].iter().map(|&(item, value)| (scores[item] - value).powi(2)).sum::<f64>();
        }
        (error / self.held_out.len() as f64).sqrt()
    }
}
