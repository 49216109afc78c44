//! GloVe on the bundled State of the Union addresses.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use tove_learn::words::{Cooccurrence, GloVe, GloVeSolver, Tokens, Vocabulary, VocabularySettings, WordVectors};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const NUMBERS: [&str; 16] = [
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "fifteen", "twenty", "thirty",
    "forty", "fifty", "hundred",
];

fn addresses() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/state-of-the-union.txt.gz");
    tove_data::text::read_text(path).unwrap().lines().map(str::to_owned).collect()
}

/// How many of the five nearest words are of the same group, in the mean over all words of the group.
fn mean_hits(vectors: &WordVectors, group: &[&str]) -> f64 {
    let known: Vec<&str> = group.iter().copied().filter(|word| vectors.vocabulary().id(word).is_some()).collect();
    assert!(known.len() > group.len() / 2, "{known:?}");
    let hits = known.iter().map(|word| {
        let nearest = vectors.nearest(word, 5).unwrap();
        println!("{word}: {:?}", nearest.iter().map(|one| one.word.as_str()).collect::<Vec<_>>());
        nearest.iter().filter(|one| group.contains(&one.word.as_str())).count()
    });
    hits.sum::<usize>() as f64 / known.len() as f64
}

/// Counts equal a brute-force count and are symmetric; with steps per pair and with alternating least squares the cost falls, and
/// most of the words nearest to months are months, to numbers numbers.
#[test]
fn l23_glove_on_a_bundled_corpus() {
    let texts = addresses();
    let settings = VocabularySettings::default().min_count(20);
    let vocabulary = Vocabulary::of("test", &texts, &settings).unwrap();
    let counts = Cooccurrence::of(&texts, Tokens::Words, &vocabulary, 5, false).unwrap();
    let mut brute: HashMap<(usize, usize), f64> = HashMap::new();
    for text in &texts {
        let ids: Vec<usize> =
            Tokens::Words.split(text).filter_map(|word| vocabulary.id(&word).map(|id| id as usize)).collect();
        for i in 0..ids.len() {
            for j in (i.saturating_sub(5)..(i + 6).min(ids.len())).filter(|&j| j != i) {
                *brute.entry((ids[i], ids[j])).or_default() += 1.0;
            }
        }
    }
    assert_eq!(counts.len(), brute.len());
    for (&(a, b), &count) in &brute {
        assert_eq!((counts.get(a, b), counts.get(b, a)), (count, count));
    }
    for (solver, epochs) in [(GloVeSolver::AdaGrad, 25), (GloVeSolver::Als, 8)] {
        let glove = GloVe::default().dimension(30).min_count(20).window(5).solver(solver).epochs(epochs);
        let vectors = glove.fit(&texts).unwrap();
        let curve = &vectors.summary().curve;
        assert!(curve.windows(2).all(|two| two[1] < two[0]), "{solver:?}: {curve:?}");
        // By chance it would be about 5 * 16 / 5000.
        let (months, numbers) = (mean_hits(&vectors, &MONTHS), mean_hits(&vectors, &NUMBERS));
        println!("{solver:?}: cost {:.1} to {:.1}, {months:.2}, {numbers:.2}", curve[0], curve[curve.len() - 1]);
        assert!(months >= 2.0 && numbers >= 2.0, "{solver:?}: {months} {numbers} of 5");
    }
}
