//! Every picture of the gallery: structure, determinism, report, files.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "../examples/gallery/pictures.rs"]
mod pictures;

use tove_plot::*;

#[test]
fn every_picture_is_sound() {
    for (name, picture) in pictures::pictures() {
        let svg = picture.to_svg().unwrap();
        common::check(name, &svg);
        assert!(common::marks(&svg) > 0, "{name}");
    }
}

#[test]
fn the_same_data_give_the_same_bytes() {
    let draw = || pictures::pictures().iter().map(|(_, p)| p.to_svg().unwrap()).collect::<Vec<_>>();
    assert_eq!(draw(), draw());
}

#[test]
fn pictures_follow_light_and_dark_and_fetch_nothing() {
    for (name, picture) in pictures::pictures() {
        let svg = picture.to_svg().unwrap();
        assert!(svg.contains("prefers-color-scheme:dark") && svg.contains("[data-theme=dark]"), "{name}");
        let links = svg.matches("http").count();
        assert_eq!(links, 1, "{name}: only the namespace");
        assert!(!svg.contains("url(") && !svg.contains("@import"), "{name}");
        // all colors come from the style sheet
        let body = &svg[svg.find("</style>").unwrap()..];
        assert!(!body.contains("fill=\"#") && !body.contains("stroke=\"#"), "{name}");
    }
}

#[test]
fn a_report_holds_all_pictures_with_one_style() {
    let mut report = Report::new("All").section("Pictures");
    let pictures = pictures::pictures();
    for (_, picture) in &pictures {
        report = report.picture(&**picture).unwrap();
    }
    let html = report.to_html();
    assert_eq!(html.matches("<svg xmlns").count(), pictures.len());
    assert_eq!(html.matches("<style>").count(), 1);
    assert_eq!(html.matches("role=\"img\"").count(), pictures.len());
}

#[test]
fn fixed_themes_carry_plain_colors() {
    let chart = || LineChart::new().series("a", &[1.0, 2.0], &[1.0, 2.0]);
    let (light, dark) = (chart().theme(Theme::Light).to_svg().unwrap(), chart().theme(Theme::Dark).to_svg().unwrap());
    assert!(!light.contains("var(") && !dark.contains("var(") && light != dark);
    let html = Report::new("t").picture(&chart().theme(Theme::Dark)).unwrap().to_html();
    assert!(html.contains("data:image/svg+xml;base64,") && html.matches("<style>").count() == 1);
}

#[test]
fn files_are_replaced_only_when_asked() {
    let path = std::env::temp_dir().join(format!("tove-plot-{}.svg", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let chart = LineChart::new().series("a", &[1.0, 2.0], &[1.0, 2.0]);
    chart.save(&path, WriteOptions::default()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), chart.to_svg().unwrap());
    let error = chart.save(&path, WriteOptions::default()).unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
    let other = chart.clone().title("other");
    other.save(&path, WriteOptions::overwriting()).unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().contains("other"));
    // an error of the picture leaves the file alone
    assert!(LineChart::new().save(&path, WriteOptions::overwriting()).is_err());
    assert!(std::fs::read_to_string(&path).unwrap().contains("other"));
    std::fs::remove_file(&path).unwrap();
}
