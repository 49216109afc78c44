//! Components that are written to a file, and what they are rebuilt as.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, shipped};
use serde_json::Value;

/// The numbers under a name in a list of objects.
fn numbers(list: &Value, name: &str) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|one| one[name].as_f64().unwrap()).collect()
}

/// The bytes of the pixels of a folder of PNG files, in the order of their names.
fn pixels(folder: &std::path::Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| image::open(path).unwrap().to_luma8().into_raw()).collect()
}

/// Gray images of 12 × 10 pixels: stripes whose phase and slope vary, and two spots.
fn write_images(folder: &std::path::Path, count: u32) -> Vec<Vec<u8>> {
    std::fs::create_dir_all(folder).unwrap();
    (0..count)
        .map(|i| {
            let bright = |x: u32, y: u32| {
                let stripe = (f64::from(x) * 0.7 + f64::from(i % 7) * 0.9 + f64::from(y * (i % 3)) * 0.2).sin();
                let spot = if (x + 2 * y + i).is_multiple_of(11) { 60.0 } else { 0.0 };
                (110.0 + 80.0 * stripe + spot).round() as u8
            };
            let raw: Vec<u8> = (0..10).flat_map(|y| (0..12).map(move |x| bright(x, y))).collect();
            let image = image::GrayImage::from_raw(12, 10, raw.clone()).unwrap();
            image.save(folder.join(format!("{i:03}.png"))).unwrap();
            raw
        })
        .collect()
}

#[test]
fn l14_images_are_compressed_and_rebuilt_and_scaling_changes_components() {
    let place = Place::new("l14");
    let originals = write_images(&place.path("set"), 60);
    let mut before = f64::INFINITY;
    for k in [1usize, 4, 12, 40] {
        let (file, folder, page) = (format!("{k}.tove"), format!("rebuilt-{k}"), format!("{k}.html"));
        let call = ["reduce", "set", "--components", &k.to_string(), "-o", &file, "--report", &page, "--json"];
        let found = place.run(&call).ok().json();
        assert_eq!((&found["images"], &found["components"]), (&60.into(), &k.into()));
        // The curve never rises, and ends where the rebuilt images are, but for the rounding of pixels and codes.
        let errors = numbers(&found["errors"], "error");
        assert_eq!(errors.len(), k + 1);
        assert!(errors.windows(2).all(|pair| pair[1] <= pair[0]), "{errors:?}");
        place.run(&["rebuild", &file, "-o", &folder]).ok();
        let rebuilt = pixels(&place.path(&folder));
        assert_eq!(rebuilt.len(), originals.len());
        let (mut squares, mut count) = (0.0, 0.0);
        for (a, b) in originals.iter().flatten().zip(rebuilt.iter().flatten()) {
            squares += ((f64::from(*a) - f64::from(*b)) / 255.0).powi(2);
            count += 1.0;
        }
        let error = f64::sqrt(squares / count);
        let (said, last) = (found["error"].as_f64().unwrap(), errors[k]);
        assert!((error - said).abs() < 0.002 && error <= last + 0.002, "measured {error}, said {said}, curve {last}");
        assert!(error < before, "{error} with {k} components, after {before}");
        before = error;
        // The file says truly how small it is: the rest is names and numbers of the fit.
        let bytes = found["bytes"].as_f64().unwrap();
        let size = std::fs::metadata(place.path(&file)).unwrap().len() as f64;
        assert!(size >= bytes && size < bytes + 6000.0 + 64.0 * k as f64, "{size} bytes, {bytes} said");
        assert!((found["compression_ratio"].as_f64().unwrap() - 7200.0 / bytes).abs() < 1e-9);
        let page = std::fs::read_to_string(place.path(&page)).unwrap();
        for words in ["Error over the number of components", "rebuilt", "component 1", "data:image/png", "<svg"] {
            assert!(page.contains(words), "{words}");
        }
    }
    assert!(before < 0.02, "40 components leave an error of {before}");

    // Scaling: proline, in the hundreds, has nearly all of the variance of wine unless numbers are standardized.
    let wine = shipped("wine.csv");
    let standard = place.run(&["reduce", &wine, "--drop", "cultivar", "--json"]).ok().json();
    let raw = place.run(&["reduce", &wine, "--drop", "cultivar", "--no-scale", "--json"]).ok().json();
    let first = |found: &Value| found["components"][0]["explained_variance_ratio"].as_f64().unwrap();
    assert!(first(&raw) > 0.99 && first(&standard) < 0.4, "{} and {}", first(&raw), first(&standard));
    assert_eq!(raw["components"][0]["loadings"][0]["feature"], "proline");
    for found in [&standard, &raw] {
        let effect = &found["scaling"];
        assert!((effect["raw"]["explained_variance_ratio"][0].as_f64().unwrap() - first(&raw)).abs() < 1e-9);
        let own = effect["standardized"]["explained_variance_ratio"][0].as_f64().unwrap();
        assert!((own - first(&standard)).abs() < 1e-9);
    }
    let text = place.run(&["reduce", &wine, "--drop", "cultivar"]).ok().out;
    assert!(text.contains("Of standardized numbers") && text.contains("Without standardizing (--no-scale)"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn built_in_digits_go_to_idx_and_errors_say_what_to_do() {
    let place = Place::new("digits");
    let found = place.run(&["reduce", "digits", "--components", "10", "-o", "d.tove", "--json"]).ok().json();
    assert!(found["compression_ratio"].as_f64().unwrap() > 2.5);
    let text = place.run(&["reduce", "digits", "--components", "20"]).ok().out;
    assert!(text.starts_with("PCA turns 1797 gray images of 8 × 8 pixels into 20 numbers each"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    place.run(&["rebuild", "d.tove", "-o", "d.idx"]).ok();
    assert_eq!(std::fs::metadata(place.path("d.idx")).unwrap().len(), 16 + 1797 * 64);
    // An IDX file is a set of images too.
    let again = place.run(&["reduce", "d.idx", "--components", "10", "--json"]).ok().json();
    assert_eq!(again["images"], 1797);
    assert!(again["error"].as_f64().unwrap() < found["error"].as_f64().unwrap());

    place.run(&["reduce", "digits", "--components", "65"]).fails(2, &["1 to 64 components"]);
    place.run(&["reduce", "digits", "--components", "0.9"]).fails(2, &["whole number"]);
    place.run(&["reduce", "digits", "--method", "nmf"]).fails(2, &["pca"]);
    place.run(&["reduce", "digits", "--drop", "x"]).fails(2, &["tables"]);
    std::fs::create_dir(place.path("empty")).unwrap();
    place.run(&["reduce", "empty"]).fails(1, &["no .png"]);
    place.run(&["reduce", "digits", "-o", "d.tove"]).fails(2, &["exists already"]);
    place.run(&["rebuild", "d.tove", "-o", "empty"]).fails(2, &["exists already"]);
    place.run(&["rebuild", "d.tove", "-o", "no/where"]).fails(1, &["folder not found"]);
    place.run(&["rebuild", "missing.tove", "-o", "x"]).fails(1, &["missing.tove"]);
    place.run(&["predict", "d.tove", &shipped("iris.csv")]).fails(2, &["compressed images", "tove rebuild d.tove"]);
    // Damaged files are errors.
    let bytes = std::fs::read(place.path("d.tove")).unwrap();
    std::fs::write(place.path("cut.tove"), &bytes[..bytes.len() / 2]).unwrap();
    place.run(&["rebuild", "cut.tove", "-o", "x"]).fails(1, &["cut.tove"]);
    // Nothing is left of what failed.
    assert!(!place.path("x").exists());
}

#[test]
fn tables_are_rebuilt_from_their_components() {
    let place = Place::new("rebuilt-table");
    let mut text = String::from("id,a,b,kind\n");
    for i in 0..40 {
        text.push_str(&format!("r{i},{},{},{}\n", i, 3 * (i % 5), if i % 4 == 0 { "x" } else { "y" }));
    }
    place.write("t.csv", &text);
    let call = ["reduce", "t.csv", "--id", "id", "--components", "all", "-o", "t.tove"];
    place.run(&call).ok();
    place.run(&["rebuild", "t.tove", "-o", "back.csv"]).ok();
    let back = std::fs::read_to_string(place.path("back.csv")).unwrap();
    assert!(back.starts_with("id,a,b,kind\n"), "{back}");
    for (line, original) in back.lines().zip(text.lines()).skip(1) {
        let (own, other): (Vec<&str>, Vec<&str>) = (line.split(',').collect(), original.split(',').collect());
        assert_eq!((own[0], own[3]), (other[0], other[3]));
        for column in [1, 2] {
            let gap = own[column].parse::<f64>().unwrap() - other[column].parse::<f64>().unwrap();
            assert!(gap.abs() < 1e-9, "{line} for {original}");
        }
    }
    let found = place.run(&["rebuild", "t.tove", "-o", "back.jsonl", "--json"]).ok().json();
    assert_eq!((&found["rows"], found["columns"].as_array().unwrap().len()), (&40.into(), 4));
    place.run(&["rebuild", "t.tove", "-o", "back.csv"]).fails(2, &["exists already"]);
    place.run(&["rebuild", "t.tove", "-o", "t.tove", "--overwrite"]).fails(2, &["same file"]);
    place.run(&["rebuild", "t.tove", "-o", "back.png"]).fails(2, &[".png"]);
    // A date forgets its values.
    place.write("d.csv", "day,a\n2020-01-01,1\n2021-05-02,2\n2022-03-04,4\n");
    place.run(&["reduce", "d.csv", "--components", "1", "-o", "d.tove"]).ok();
    place.run(&["rebuild", "d.tove", "-o", "d2.csv"]).fails(1, &["day", "leave the column out"]);
}

#[test]
fn names_of_outputs_fit_what_is_written() {
    let place = Place::new("names");
    write_images(&place.path("set/one"), 6);
    // A file of the folder that is read is not replaced.
    let before = std::fs::read(place.path("set/one/000.png")).unwrap();
    let call = ["reduce", "set", "-c", "2", "-o", "set/one/000.png", "--overwrite"];
    place.run(&call).fails(2, &["000.png"]);
    let call = ["reduce", "set", "-c", "2", "--report", "set/one/000.png", "--overwrite"];
    place.run(&call).fails(2, &["which is read"]);
    assert_eq!(std::fs::read(place.path("set/one/000.png")).unwrap(), before);
    place.run(&["reduce", "set", "-c", "2", "-o", "codes.csv"]).fails(2, &[".csv", ".tove"]);
    place.run(&["reduce", "set", "-c", "2", "-o", "codes.tove"]).ok();
    place.run(&["rebuild", "codes.tove", "-o", "x.csv"]).fails(2, &["holds images", ".idx"]);
    assert!(!place.path("x.csv").exists() && !place.path("codes.csv").exists());
}

#[test]
fn features_of_counting_models_are_not_standardized() {
    let place = Place::new("counts");
    for model in ["MultinomialNB", "ComplementNB"] {
        place.run(&["fit", &shipped("iris.csv"), "--target", "species", "--model", model]).ok();
    }
    let row = |i: usize| format!("{},{}\n", i as f64 - 3.0, ["a", "b"][i % 2]);
    place.write("negative.csv", &format!("x,y\n{}", (0..40).map(row).collect::<String>()));
    place.run(&["fit", "negative.csv", "--target", "y", "--model", "ComplementNB"]).fails(1, &["negative"]);
}
