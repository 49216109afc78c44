//! Pictures for the terminal, and reports.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use tove_plot::terminal::{LineText, bars, spark};
use tove_plot::{LineChart, Report, ReportTable, WriteOptions};

#[test]
fn a_rising_line_rises() {
    let values: Vec<f64> = (0..40).map(f64::from).collect();
    let text = LineText::new().series("up", &values).marks().render(50, 8).unwrap();
    let first: Vec<usize> = text.lines().take(8).map(|line| line.chars().position(|c| c == '*').unwrap()).collect();
    assert!(first.windows(2).all(|pair| pair[0] > pair[1]), "{text}");
    let braille = LineText::new().series("up", &values).render(50, 8).unwrap();
    assert_eq!(braille.lines().count(), 11);
    assert!(braille.lines().take(8).all(|l| l.chars().any(|c| ('\u{2801}'..='\u{28FF}').contains(&c))), "{braille}");
}

#[test]
fn lengths_of_bars_are_in_proportion() {
    let text = bars(&[("a", 4.0), ("b", 2.0), ("c", -4.0)], 60).unwrap();
    let full: Vec<usize> = text.lines().map(|l| l.matches('█').count()).collect();
    assert!(full[0].abs_diff(2 * full[1]) <= 1 && full[0].abs_diff(full[2]) <= 1, "{text}");
    let at = |line: usize, c: char| text.lines().nth(line).unwrap().chars().position(|x| x == c).unwrap();
    assert!(at(2, '█') < at(0, '█'), "{text}");
}

#[test]
fn text_pictures_refuse_what_they_cannot_draw() {
    assert!(LineText::new().render(40, 5).unwrap_err().to_string().contains("nothing to draw"));
    assert!(LineText::new().series("a", &[f64::NAN]).render(40, 5).is_err());
    assert!(LineText::new().series("a", &[1.0]).render(5, 5).is_err());
    assert!(bars::<&str>(&[], 40).is_err() && bars(&[("a", f64::NAN)], 40).is_err() && bars(&[("a", 1.0)], 3).is_err());
    assert_eq!(spark(&[], 10), "");
    assert_eq!(spark(&[f64::NAN, 1.0], 10), " ▅");
    let text = LineText::new().series("a\u{1b}[31m", &[1.0, f64::NAN, 2.0]).render(40, 4).unwrap();
    assert!(!text.contains('\u{1b}') && text.contains("1 left out"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_is_wider_than_asked(
        values in prop::collection::vec(prop_oneof![5 => -1e4..1e4f64, 1 => any::<f64>()], 1..300),
        name in "[a-zé ]{0,80}",
        width in 20usize..120,
        height in 2usize..20,
        log in any::<bool>(),
        two in any::<bool>(),
    ) {
        let mut chart = LineText::new().series(&name, &values);
        if two { chart = chart.series("other", &values[..1]); }
        if log { chart = chart.log(); }
        if let Ok(text) = chart.render(width, height) {
            prop_assert!(text.lines().all(|line| line.chars().count() <= width), "{}", text);
        }
        let items: Vec<(&str, f64)> = values.iter().take(10).map(|v| (name.as_str(), *v)).collect();
        if let Ok(text) = bars(&items, width) {
            prop_assert!(text.lines().all(|line| line.chars().count() <= width), "{}", text);
        }
        prop_assert_eq!(spark(&values, width).chars().count(), values.len().min(width));
    }
}

fn report() -> Report {
    Report::new("Run <7> & more")
        .subtitle("a \"subtitle\"")
        .card("accuracy", "0.93")
        .card_with_note("loss", "0.21", "±0.02")
        .text("Before <all>.\n\nSecond paragraph.")
        .section("One")
        .table(&ReportTable::new(&["model", "score"]).row(&["tree", "−0.9 ± 0.1"]).row(&["net", "12%"]).row(&["short"]))
        .section("Two")
        .picture(&LineChart::new().series("a", &[1.0, 2.0], &[1.0, 2.0]).title("Curve"))
        .unwrap()
        .section("Three")
        .details("More", |body| Ok(body.text("hidden").preformatted("a < b\n  c")))
        .unwrap()
        .data("run", "{\"note\": \"</script><b>\"}")
}

#[test]
fn a_report_is_one_well_formed_page_without_links() {
    let html = report().to_html();
    assert_eq!(html, report().to_html());
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    // void elements closed, the page is also XML, so that a parser shows that all elements nest
    let page = html.replace("<!doctype html>\n", "");
    let mut parts = page.split("<meta ");
    let head = parts.next().unwrap().to_owned();
    let xml = parts.fold(head, |xml, part| xml + "<meta " + &part.replacen('>', "/>", 1));
    let document = roxmltree::Document::parse(&xml).unwrap();
    let count = |name: &str| document.descendants().filter(|n| n.tag_name().name() == name).count();
    assert_eq!((count("h1"), count("h2"), count("section"), count("svg"), count("table")), (1, 3, 3, 1, 1));
    assert_eq!((count("th"), count("td"), count("details"), count("li"), count("dt")), (5, 3, 1, 3, 2));
    let scopes = document.descendants().filter(|n| n.tag_name().name() == "th");
    assert!(scopes.clone().all(|n| n.attribute("scope").is_some()));
    for outside in ["href=\"http", "src=\"http", "url(", "@import", "<link"] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn what_a_report_is_given_is_escaped() {
    let html = report().to_html();
    assert!(html.contains("Run &lt;7&gt; &amp; more") && html.contains("Before &lt;all&gt;."));
    assert!(html.contains("a &lt; b\n  c"));
    assert_eq!(html.matches("</script>").count(), 1, "data cannot end its element");
    assert!(html.contains("\\u003c/script>"));
    assert!(html.contains("<td class=\"number\">−0.9 ± 0.1</td>") && html.contains("<td class=\"number\"></td>"));
}

#[test]
fn a_report_is_written_whole() {
    let path = std::env::temp_dir().join(format!("tove-report-{}.html", std::process::id()));
    let _ = std::fs::remove_file(&path);
    report().save(&path, WriteOptions::default()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), report().to_html());
    assert!(report().save(&path, WriteOptions::default()).is_err());
    std::fs::remove_file(&path).unwrap();
}
