//! Word vectors: co-occurrence, GloVe, skip-gram and CBOW, subwords, text classification, files, bad input.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use tove_learn::words::{
    AnalogyQuestions, Architecture, Cooccurrence, FastText, FastTextClassifier, FittedFastText,
    FittedFastTextClassifier, GloVe, GloVeSolver, Phrases, Tokens, Vocabulary, VocabularySettings, Word2Vec,
    WordFormat, WordVectors, char_ngrams, negative_sampling,
};
use tove_learn::{Csr, Fit, LearnError, LogisticRegression, Predict, Record, quietly};
use tove_tensor::io::WriteOptions;
use tove_tensor::{DType, Key, Tensor, grad, gradcheck, set_num_threads};

/// Held by tests that change the number of threads.
static THREADS: Mutex<()> = Mutex::new(());

/// Reproducible indices below n.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

const ROYAL: [&str; 5] = ["king", "prince", "duke", "lord", "emperor"];
const ROYAL_SHE: [&str; 5] = ["queen", "princess", "duchess", "lady", "empress"];
const COUNTRIES: [&str; 5] = ["france", "italy", "spain", "japan", "egypt"];
const CAPITALS: [&str; 5] = ["paris", "rome", "madrid", "tokyo", "cairo"];

/// Sentences in which words share contexts by two properties each: rank and sex, or place and kind of place.
fn planted() -> Vec<String> {
    let (mut draws, mut texts) = (Draws(7), Vec::new());
    let of = |i: usize, kind: &str, draws: &mut Draws| format!("{kind}{}_{}", i, draws.below(3));
    for _ in 0..6000 {
        let (i, side) = (draws.below(5), draws.below(2));
        let (word, common, own) = if draws.below(2) == 0 {
            let word = [ROYAL, ROYAL_SHE][side][i];
            (word, ["he", "his", "him"], ["she", "her", "hers"])
        } else {
            let word = [COUNTRIES, CAPITALS][side][i];
            (word, ["country", "nation", "land"], ["city", "town", "capital"])
        };
        let kind = if ROYAL.contains(&word) || ROYAL_SHE.contains(&word) { "rank" } else { "place" };
        let property = if side == 0 { common } else { own };
        let (a, b) = (of(i, kind, &mut draws), of(i, kind, &mut draws));
        let (c, d) = (property[draws.below(3)], property[draws.below(3)]);
        texts.push(format!("{a} {c} {word} {d} {b}"));
    }
    texts
}

fn planted_questions() -> AnalogyQuestions {
    let mut text = String::new();
    for (name, left, right) in [("royal", ROYAL, ROYAL_SHE), ("capitals", COUNTRIES, CAPITALS)] {
        text.push_str(&format!(": {name}\n"));
        for i in 0..5 {
            for j in (0..5).filter(|&j| j != i) {
                text.push_str(&format!("{} {} {} {}\n", left[i], right[i], left[j], right[j]));
            }
        }
    }
    AnalogyQuestions::parse(&text).unwrap()
}

/// Whether two of the twenty words share a property: their kind and, besides, their side or their index.
fn related(a: usize, b: usize) -> bool {
    a / 10 == b / 10 && (a / 5 == b / 5 || a % 5 == b % 5)
}

/// The share of the twenty words whose nearest among them is related.
fn related_share(vectors: &WordVectors) -> f64 {
    let words = [ROYAL, ROYAL_SHE, COUNTRIES, CAPITALS].concat();
    let good = |&(at, word): &(usize, &&str)| {
        let nearest = vectors.nearest(word, usize::MAX).unwrap();
        let best = nearest.iter().find_map(|found| words.iter().position(|word| *word == found.word)).unwrap();
        related(at, best)
    };
    words.iter().enumerate().filter(good).count() as f64 / words.len() as f64
}

/// The nearest of the twenty words to each is one that shares a property with it.
fn sensible(vectors: &WordVectors) {
    let words = [ROYAL, ROYAL_SHE, COUNTRIES, CAPITALS].concat();
    for (at, word) in words.iter().enumerate() {
        let nearest = vectors.nearest(word, usize::MAX).unwrap();
        let place = |found: &str| words.iter().position(|word| *word == found);
        let best = nearest.iter().find_map(|neighbor| place(&neighbor.word)).unwrap();
        assert!(related(at, best), "{word}: {}", words[best]);
        let mean = |wanted: bool| {
            let others = (0..20).filter(|&other| other != at && related(at, other) == wanted);
            let all: Vec<f64> = others.map(|other| vectors.similarity(word, words[other]).unwrap()).collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        assert!(mean(true) > mean(false), "{word}: {} {}", mean(true), mean(false));
    }
}

/// Symmetric counts equal to a brute-force count; the cost falls; both solvers find sensible neighbors.
#[test]
fn cooccurrence_counts_and_glove() {
    let texts = planted();
    let settings = VocabularySettings::default().min_count(1);
    let vocabulary = Vocabulary::of("test", &texts, &settings).unwrap();
    for (window, weighted) in [(1, false), (2, true), (50, false)] {
        let counts = Cooccurrence::of(&texts, Tokens::Words, &vocabulary, window, weighted).unwrap();
        let n = vocabulary.len();
        let mut brute = vec![0.0; n * n];
        for text in &texts {
            let ids: Vec<usize> =
                Tokens::Words.split(text).map(|word| vocabulary.id(&word).unwrap() as usize).collect();
            for i in 0..ids.len() {
                for j in 0..ids.len() {
                    if i != j && i.abs_diff(j) <= window {
                        brute[ids[i] * n + ids[j]] += if weighted { 1.0 / i.abs_diff(j) as f64 } else { 1.0 };
                    }
                }
            }
        }
        for i in 0..n {
            for j in 0..n {
                assert!((counts.get(i, j) - brute[i * n + j]).abs() < 1e-9 * brute[i * n + j].max(1.0));
                assert_eq!(counts.get(i, j), counts.get(j, i));
            }
        }
        assert_eq!(counts.len(), brute.iter().filter(|count| **count > 0.0).count());
    }
    for solver in [GloVeSolver::AdaGrad, GloVeSolver::Als] {
        for biases in [true, false] {
            let glove = GloVe::default().dimension(12).min_count(1).window(4).solver(solver).biases(biases);
            let vectors = glove.fit(&texts).unwrap();
            let curve = &vectors.summary().curve;
            // The first iteration of alternating least squares is most of the way.
            let share = if solver == GloVeSolver::Als { 0.8 } else { 0.5 };
            assert!(curve.len() == 25 && curve[24] < share * curve[0], "{solver:?} {biases}: {curve:?}");
            if solver == GloVeSolver::Als {
                assert!(curve.windows(2).all(|two| two[1] <= two[0] * (1.0 + 1e-12)), "{curve:?}");
            }
            if biases {
                sensible(&vectors);
                let best = &vectors.nearest("king", 1).unwrap()[0];
                println!("{solver:?}: nearest to king: {best:?}");
            }
        }
    }
}

/// The loss of negative sampling through the engine.
fn pair_loss(hidden: &Tensor, outputs: &Tensor) -> Tensor {
    let scores = hidden.matmul(&outputs.t());
    let count = outputs.dims()[0];
    // −1 for the word to predict, 1 for the others: the loss is Σ log(1 + e^(sign · score)).
    let signs: Vec<f64> = (0..count).map(|j| if j == 0 { -1.0 } else { 1.0 }).collect();
    let signs = Tensor::from(signs).reshape([1, count]).to_dtype(hidden.dtype());
    (&scores * &signs).softplus().sum()
}

/// L24: the gradient of the pair loss; the loss is below chance; similarities and analogies of a planted corpus.
#[test]
fn l24_skip_gram_and_cbow() {
    // The engine's gradient of the loss is right, and training uses that gradient.
    for (rows, count, width, seed) in [(1, 2, 3, 1), (4, 6, 10, 2), (2, 1, 8, 3)] {
        let hidden = Key::new(seed).normal([rows, width], DType::F64);
        let outputs = Key::new(seed + 100).normal([count, width], DType::F64);
        gradcheck(|x| pair_loss(&x[0], &x[1]), &[hidden.clone(), outputs.clone()]).unwrap();
        let (h, o) = (hidden, outputs);
        let loss = pair_loss(&h, &o);
        let expected = [grad(|h: &Tensor| pair_loss(h, &o))(&h), grad(|o: &Tensor| pair_loss(&h, o))(&o)];
        let single = |x: &Tensor| x.detach().to_dtype(DType::F32).to_vec::<f32>();
        let (found, dh, d_o) = negative_sampling(&single(&h), &single(&o), width);
        assert!((found - loss.item::<f64>()).abs() < 1e-4, "{found}");
        for (found, expected) in [(dh, &expected[0]), (d_o, &expected[1])] {
            let expected = expected.to_f64_vec();
            assert!(
                found.iter().zip(&expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-5),
                "{found:?} {expected:?}"
            );
        }
    }
    let (texts, questions) = (planted(), planted_questions());
    for architecture in [Architecture::SkipGram, Architecture::Cbow] {
        let word2vec = Word2Vec::default().architecture(architecture).dimension(20).min_count(1).epochs(30);
        let vectors = word2vec.clone().subsample(0.0).learning_rate(0.05).fit(&texts).unwrap();
        let curve = &vectors.summary().curve;
        // Chance: all products are zero.
        let chance = 6.0 * 2f64.ln();
        assert!(curve.len() == 30 && curve[29] < 0.8 * chance && curve[29] < curve[0], "{curve:?} {chance}");
        // Of six starts nine in ten nearest words are related; by chance 9 of 19 are.
        let seeds = 0..6u64;
        let share =
            |seed| related_share(&word2vec.clone().subsample(0.0).learning_rate(0.05).seed(seed).fit(&texts).unwrap());
        let shares: Vec<f64> = seeds.map(share).collect();
        assert!(shares.iter().sum::<f64>() / 6.0 >= 0.9, "{architecture:?}: {shares:?}");
        let scores = vectors.evaluate_analogies(&questions).unwrap();
        println!("{architecture:?}: loss {:.3} (chance {chance:.3}), analogies {scores:?}", curve[29]);
        assert!(scores.accuracy().unwrap() > 0.8, "{architecture:?}: {scores:?}");
        let (closer, farther) =
            (vectors.similarity("king", "queen").unwrap(), vectors.similarity("king", "tokyo").unwrap());
        assert!(closer > farther + 0.2, "{closer} {farther}");
        // One by one the answers are the same.
        let answer = &vectors.analogy("king", "queen", "duke", 1).unwrap()[0];
        assert_eq!(answer.word, "duchess");
    }
}

/// A word with one letter doubled, dropped, replaced or swapped with the next.
fn misspell(word: &str, draws: &mut Draws) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = 1 + draws.below(letters.len() - 2);
    match draws.below(4) {
        0 => letters.insert(at, letters[at]),
        1 => drop(letters.remove(at)),
        2 => letters[at] = char::from(b'a' + draws.below(26) as u8),
        _ => letters.swap(at, at + 1),
    }
    letters.into_iter().collect()
}

const TOPICS: [[&str; 8]; 3] = [
    ["football", "stadium", "goalkeeper", "tournament", "champion", "referee", "athlete", "marathon"],
    ["computer", "software", "keyboard", "processor", "algorithm", "database", "internet", "compiler"],
    ["restaurant", "chocolate", "vegetable", "sandwich", "breakfast", "cinnamon", "delicious", "cucumber"],
];
const FILLERS: [&str; 8] = ["yesterday", "people", "really", "morning", "something", "another", "between", "always"];

/// Texts about three topics; their words are misspelled with a probability in percent.
fn topics(count: usize, seed: u64, misspelled: usize) -> (Vec<String>, Vec<i64>) {
    let mut draws = Draws(seed);
    let mut text = |topic: usize| {
        let word = |draws: &mut Draws| {
            let word = if draws.below(3) == 0 { TOPICS[topic][draws.below(8)] } else { FILLERS[draws.below(8)] };
            if draws.below(100) < misspelled { misspell(word, draws) } else { word.to_owned() }
        };
        (0..8).map(|_| word(&mut draws)).collect::<Vec<_>>().join(" ")
    };
    (0..count).map(|i| (text(i % 3), (i % 3) as i64)).unzip()
}

fn accuracy(found: &[i64], right: &[i64]) -> f64 {
    found.iter().zip(right).filter(|(a, b)| a == b).count() as f64 / right.len() as f64
}

/// Counts of the words of a vocabulary.
fn bag(texts: &[String], vocabulary: &Vocabulary) -> Csr {
    let mut dense = vec![0.0; texts.len() * vocabulary.len()];
    for (row, text) in texts.iter().enumerate() {
        for id in Tokens::Words.split(text).filter_map(|word| vocabulary.id(&word)) {
            dense[row * vocabulary.len() + id as usize] += 1.0;
        }
    }
    Csr::from_dense(&Tensor::from_vec(dense, [texts.len(), vocabulary.len()])).unwrap()
}

/// L25: the n-grams of a word; unseen words have vectors near their relatives; supervised training beats a bag of words on
/// misspelled text.
#[test]
fn l25_subwords_and_classification() {
    assert_eq!(char_ngrams("where", 3, 3), ["<wh", "whe", "her", "ere", "re>"]);
    assert_eq!(char_ngrams("été", 3, 4), ["<ét", "été", "té>", "<été", "été>"]);
    let (texts, _) = topics(1500, 3, 0);
    let model = FastText::default()
        .dimension(20)
        .min_count(1)
        .buckets(20_000)
        .epochs(40)
        .learning_rate(0.05)
        .fit(&texts)
        .unwrap();
    let (near, far) = (model.similarity("softwares", "software"), model.similarity("softwares", "chocolate"));
    println!("softwares: software {near:.3}, chocolate {far:.3}");
    assert!(!model.vectors().contains("softwares") && model.vector("softwares").iter().any(|x| *x != 0.0));
    assert!(near > far + 0.1);
    assert!(model.similarity("keybord", "keyboard") > model.similarity("keybord", "restaurant"));
    let length = |x: &[f32]| x.iter().map(|x| x * x).sum::<f32>();
    assert!(length(&model.sentence_vector("the computer crashed")) > 0.0);
    assert_eq!(length(&model.sentence_vector("")), 0.0);

    let (train, labels) = topics(600, 1, 10);
    let (test, expected) = topics(600, 2, 70);
    let classifier = FastTextClassifier::default().dimension(20).buckets(20_000);
    let subwords = classifier.clone().fit(&train, &labels).unwrap();
    let words = classifier.clone().subwords(false).fit(&train, &labels).unwrap();
    let vocabulary = Vocabulary::of("test", &train, &VocabularySettings::default().min_count(1)).unwrap();
    let logistic = LogisticRegression::default().fit(bag(&train, &vocabulary), &Tensor::from(labels.clone())).unwrap();
    let logistic = logistic.predict(bag(&test, &vocabulary)).unwrap().to_vec::<i64>();
    let (with, without) = (accuracy(&subwords.predict(&test), &expected), accuracy(&words.predict(&test), &expected));
    let bag = accuracy(&logistic, &expected);
    println!(
        "misspelled texts: subwords {with:.3}, words alone {without:.3}, logistic regression on a bag of words {bag:.3}"
    );
    assert!(with > 0.85 && with > without + 0.1 && with > bag + 0.1, "{with} {without} {bag}");
    let curve = &subwords.summary().curve;
    assert!(curve[24] < 0.2 * curve[0] && subwords.summary().converged, "{curve:?}");
    let probabilities = subwords.predict_proba(&test[..5]).unwrap();
    assert!(probabilities.to_f64_vec().chunks(3).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-5));
    let pairs = classifier.word_pairs(true).fit(&train, &labels).unwrap();
    assert!(accuracy(&pairs.predict(&train), &labels) > 0.95);
}

/// The same bits with one, two and three threads; another seed gives other vectors.
#[test]
fn training_does_not_depend_on_the_number_of_threads() {
    let _held = THREADS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let texts = planted();
    let (train, labels) = topics(300, 1, 10);
    let fit = |threads: usize, seed: u64| -> Vec<Vec<f32>> {
        set_num_threads(threads);
        let bits = |vectors: &WordVectors| vectors.matrix().unwrap().to_vec::<f32>();
        let word2vec = Word2Vec::default().dimension(13).min_count(1).epochs(2).seed(seed);
        let glove = GloVe::default().dimension(7).min_count(1).epochs(3).seed(seed);
        let fasttext = FastText::default().dimension(9).min_count(1).epochs(1).buckets(500).seed(seed);
        let classifier = FastTextClassifier::default().dimension(9).epochs(3).buckets(500).seed(seed);
        let proba = classifier.fit(&train, &labels).unwrap().predict_proba(&train).unwrap().to_vec::<f32>();
        let all = vec![
            bits(&word2vec.fit(&texts).unwrap()),
            bits(&word2vec.architecture(Architecture::Cbow).fit(&texts).unwrap()),
            bits(&glove.fit(&texts).unwrap()),
            bits(&glove.solver(GloVeSolver::Als).fit(&texts).unwrap()),
            bits(fasttext.fit(&texts).unwrap().vectors()),
            proba,
        ];
        set_num_threads(0);
        all
    };
    let one = fit(1, 5);
    assert_eq!(one, fit(2, 5));
    assert_eq!(one, fit(3, 5));
    assert!(one.iter().zip(&fit(2, 6)).all(|(a, b)| a != b));
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tove-words-{}-{name}", std::process::id()))
}

#[test]
fn saved_models_are_the_same_when_loaded() {
    let texts = planted();
    let path = temporary("model.tove");
    let vectors = Word2Vec::default().dimension(6).min_count(1).epochs(1).fit(&texts).unwrap();
    vectors.save(&path, WriteOptions::overwriting()).unwrap();
    let loaded = WordVectors::load(&path).unwrap();
    assert_eq!((loaded.vocabulary(), loaded.settings()), (vectors.vocabulary(), vectors.settings()));
    assert_eq!(loaded.matrix().unwrap().to_vec::<f32>(), vectors.matrix().unwrap().to_vec::<f32>());
    assert_eq!(loaded.summary().objective, vectors.summary().objective);
    let fasttext = FastText::default().dimension(6).min_count(1).epochs(1).buckets(100).fit(&texts).unwrap();
    fasttext.save(&path, WriteOptions::overwriting()).unwrap();
    let loaded = FittedFastText::load(&path).unwrap();
    assert_eq!((loaded.vector("king"), loaded.vector("kings")), (fasttext.vector("king"), fasttext.vector("kings")));
    // A file of another kind.
    assert!(matches!(WordVectors::load(&path), Err(LearnError::Model { .. })));
    let (train, labels) = topics(60, 1, 10);
    let classifier = FastTextClassifier::default().dimension(6).epochs(2).buckets(100).fit(&train, &labels).unwrap();
    classifier.save(&path, WriteOptions::overwriting()).unwrap();
    let loaded = FittedFastTextClassifier::load(&path).unwrap();
    let proba = |model: &FittedFastTextClassifier| model.predict_proba(&train).unwrap().to_vec::<f32>();
    assert_eq!((proba(&loaded), loaded.classes()), (proba(&classifier), classifier.classes()));
    std::fs::remove_file(&path).unwrap();
    // Damaged records.
    type Damage = fn(&mut Record);
    let damages: [Damage; 6] = [
        |record| record.put("words", vec!["a", "a"]),
        |record| record.put("words", 3),
        |record| record.put("dimension", 7),
        |record| record.put("counts", vec![-1]),
        |record| record.put_tensor("vectors", &Tensor::from([[1.0f32]])),
        |record| record.put_tensor("vectors", &Tensor::from(vec![f32::NAN; 56 * 6]).reshape([56, 6])),
    ];
    for (at, damage) in damages.iter().enumerate() {
        let mut record = vectors.record();
        assert!(WordVectors::restore(&record).is_ok());
        damage(&mut record);
        assert!(matches!(WordVectors::restore(&record), Err(LearnError::Model { .. })), "{at}");
    }
    let mut record = classifier.record();
    record.put("classes", vec![1, 1, 0]);
    assert!(matches!(FittedFastTextClassifier::restore(&record), Err(LearnError::Model { .. })));
}

#[test]
fn word2vec_files_round_trip_and_malformed_ones_are_refused() {
    let words = ["zoë", "naïve", "x"].map(String::from).to_vec();
    let numbers = vec![1.5, -2.25e-8, f32::MIN_POSITIVE, 3.0, 1e30, -0.1];
    let vectors = WordVectors::new(words.clone(), numbers.clone(), 2).unwrap();
    let path = temporary("vectors.bin");
    for format in [WordFormat::Text, WordFormat::Binary] {
        vectors.save_word2vec(&path, format, WriteOptions::overwriting()).unwrap();
        assert!(vectors.save_word2vec(&path, format, WriteOptions::default()).is_err());
        let read = WordVectors::load_word2vec(&path, format).unwrap();
        assert_eq!((read.words(), read.matrix().unwrap().to_vec::<f32>()), (&words[..], numbers.clone()));
        // Every prefix of the file is an error or, without the last line feed, whole.
        let bytes = std::fs::read(&path).unwrap();
        for end in 0..bytes.len() - 1 {
            std::fs::write(&path, &bytes[..end]).unwrap();
            match WordVectors::load_word2vec(&path, format) {
                Ok(read) => assert!(format == WordFormat::Text && end > bytes.len() - 5 && read.words().len() == 3),
                Err(error) => assert!(matches!(error, LearnError::Model { .. }), "{error}"),
            }
        }
    }
    let both: [&[u8]; 11] = [
        b"",
        b"\n",
        b"2\n",
        b"a b\na 1\n",
        b"-1 2\n",
        b"0 0\n",
        b"1 0\na\n",
        b"1 2\na 1\n",
        b"1 9\na 1 2\n",
        b"18446744073709551615 18446744073709551615\na 1\n",
        b"1 1\n\xff\xfe 1\n",
    ];
    let text: [&[u8]; 4] = [b"2 1\na 1\na 2\n", b"1 1\na nan\n", b"1 1\na 1 2\n", b"1 1\na 1\nb 2\n"];
    let binary: [&[u8]; 4] =
        [b"2 1\na 1234\na 5678\n", b"1 1\na \xff\xff\xff\x7f\n", b"1 1\na 1234tail\n", b"1 1\n 1234\n"];
    let cases = [
        (&both[..], WordFormat::Text),
        (&both[..], WordFormat::Binary),
        (&text, WordFormat::Text),
        (&binary, WordFormat::Binary),
    ];
    for (cases, format) in cases {
        for bytes in cases {
            std::fs::write(&path, bytes).unwrap();
            let error = WordVectors::load_word2vec(&path, format).unwrap_err();
            assert!(matches!(error, LearnError::Model { .. }), "{error}");
        }
    }
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(WordVectors::load_word2vec(&path, WordFormat::Text), Err(LearnError::File(_))));
    let spaced = WordVectors::new(vec!["a b".into()], vec![1.0], 1).unwrap();
    let refused = spaced.save_word2vec(&path, WordFormat::Text, WriteOptions::default());
    assert!(matches!(refused, Err(LearnError::Data { .. })));
}

#[test]
fn bad_input_is_a_typed_error() {
    let none: [&str; 0] = [];
    let texts = ["the cat sat on the mat"; 10];
    let small = || Word2Vec::default().min_count(1).dimension(4).epochs(1);
    let glove = || GloVe::default().min_count(1).dimension(4).epochs(1);
    let fasttext = || FastText::default().min_count(1).dimension(4).epochs(1).buckets(50);
    let all = |texts: &[&str], min_count: usize| {
        let found = [
            small().min_count(min_count).fit(texts).err(),
            glove().min_count(min_count).fit(texts).err(),
            fasttext().min_count(min_count).fit(texts).err(),
        ];
        found.into_iter().map(Option::unwrap).collect::<Vec<_>>()
    };
    for error in [all(&none, 1), all(&["", " .,;"], 1), all(&["word"], 1), all(&["a", "b", "a"], 1), all(&texts, 1000)]
    {
        assert!(error.iter().all(|error| matches!(error, LearnError::Data { .. })), "{error:?}");
    }
    let settings = |error: Option<LearnError>| assert!(matches!(error, Some(LearnError::Setting(_))), "{error:?}");
    settings(small().window(0).fit(&texts).err());
    settings(small().dimension(0).fit(&texts).err());
    settings(small().negatives(0).fit(&texts).err());
    settings(small().learning_rate(f64::NAN).fit(&texts).err());
    settings(small().subsample(-1.0).fit(&texts).err());
    settings(glove().window(0).fit(&texts).err());
    settings(glove().dimension(0).fit(&texts).err());
    settings(fasttext().min_n(4).max_n(3).fit(&texts).err());
    settings(fasttext().buckets(0).fit(&texts).err());
    for dimension in [usize::MAX, usize::MAX / 2, 1 << 40] {
        let errors = [
            small().dimension(dimension).fit(&texts).err(),
            glove().dimension(dimension).fit(&texts).err(),
            glove().dimension(dimension).solver(GloVeSolver::Als).fit(&texts).err(),
            fasttext().dimension(dimension).fit(&texts).err(),
        ];
        assert!(errors.iter().all(|error| matches!(error, Some(LearnError::Memory { .. }))), "{errors:?}");
    }
    assert!(matches!(small().learning_rate(1e30).epochs(5).fit(&texts), Err(LearnError::Data { .. })));
    let classifier = FastTextClassifier::default().dimension(4).buckets(50);
    assert!(matches!(classifier.fit(&texts, &[1]), Err(LearnError::Lengths { .. })));
    assert!(matches!(classifier.fit(&texts, &[1; 10]), Err(LearnError::OneClass { .. })));
    assert!(matches!(classifier.fit(&none, &[]), Err(LearnError::Data { .. })));
    let vectors = small().fit(&texts).unwrap();
    let error = vectors.nearest("catt", 1).unwrap_err().to_string();
    assert!(error.contains("\"catt\" is not in the vocabulary; did you mean \"cat\"?"), "{error}");
    assert!(matches!(vectors.nearest_to(&[1.0], 1), Err(LearnError::Parameter { .. })));
    assert!(vectors.nearest("cat", 0).unwrap().is_empty() && vectors.nearest("cat", usize::MAX).unwrap().len() == 4);
    assert!(matches!(AnalogyQuestions::parse("a b c\n"), Err(LearnError::Data { .. })));
}

#[test]
fn unusual_texts_are_trained_on() {
    // One word again and again: no negative differs from it.
    let one = ["a a a a a a"; 5];
    let same = Word2Vec::default().min_count(1).dimension(3).fit(&one).unwrap();
    assert!(same.words() == ["a"] && same.vector("a").unwrap().iter().all(|x| x.is_finite()));
    assert!(GloVe::default().min_count(1).dimension(3).fit(&one).is_ok());
    // Other scripts, combined letters, a long line, a long word, a window beyond all texts.
    let long = "Ünïcödé 日本語 текст ✓ ".repeat(5000) + &"z".repeat(100_000);
    let texts = [long.as_str(), "日本語 текст", "\u{0}\u{feff}"];
    let word2vec = Word2Vec::default().min_count(1).dimension(5).window(usize::MAX).epochs(1);
    let vectors = word2vec.fit(&texts).unwrap();
    assert!(vectors.contains("ünïcödé") && vectors.contains("日本語") && vectors.words().len() == 4);
    let model = FastText::default().min_count(1).dimension(5).buckets(100).epochs(1).fit(&texts).unwrap();
    assert!(model.vector("日本").iter().any(|x| *x != 0.0));
    // Subsampling that removes nearly everything.
    assert!(Word2Vec::default().min_count(1).dimension(3).subsample(1e-12).fit(&texts).is_ok());
}

#[test]
fn an_interrupted_fit_keeps_its_vectors() {
    let texts = planted();
    let past = Some(Instant::now());
    let (w, g) = tove_optim::until(past, || {
        quietly(|| {
            (Word2Vec::default().min_count(1).fit(&texts).unwrap(), GloVe::default().min_count(1).fit(&texts).unwrap())
        })
    });
    for vectors in [w, g] {
        assert!(!vectors.summary().converged && vectors.summary().warnings[0].contains("interrupted"));
    }
}

#[test]
fn phrases_are_pairs_beyond_chance() {
    let mut draws = Draws(5);
    let texts: Vec<String> = (0..500)
        .map(|_| {
            let word = |draws: &mut Draws| if draws.below(6) == 0 { "san marino" } else { FILLERS[draws.below(8)] };
            (0..10).map(|_| word(&mut draws)).collect::<Vec<_>>().join(" ")
        })
        .collect();
    let phrases = Phrases::default().threshold(3.0).fit(&texts).unwrap();
    assert_eq!(phrases.pairs(), [("san", "marino")]);
    assert_eq!(phrases.apply("San Marino, san"), "san_marino san");
    assert_eq!(phrases.apply(""), "");
    assert!(Phrases::default().threshold(f64::NAN).fit(&texts).is_err());
}
