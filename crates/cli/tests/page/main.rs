//! The page of `tove serve` in a real browser.
//!
//! The pictures go to `target/tmp/page-*.png`, to be looked at.
#![allow(clippy::unwrap_used)]

mod browser;
#[path = "../common/mod.rs"]
mod common;

use browser::Browser;
use common::Place;
use common::server::{Server, credit, credit_rows};
use serde_json::{Value, json};

/// A browser on the page of a credit model, if one is installed.
fn opened(place: &Place) -> Option<(Browser, Server)> {
    if !Browser::is_installed() {
        println!("SKIPPED: browser not installed");
        return None;
    }
    let mut browser = Browser::start(&place.path("profile")).unwrap();
    credit(place, "LogisticRegression");
    let server = Server::start(place, "credit.tove", &[]);
    browser.look("light", 1100);
    browser.open(&format!("http://{}/", server.address));
    Some((browser, server))
}

/// Puts a value into a field as a person would leave it there.
fn fill(browser: &mut Browser, name: &str, value: &Value) {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let found = browser.value(&format!(
        "(() => {{ const f = document.querySelector(`[name=\"${{CSS.escape({0})}}\"]`); f.value = {1}; \
         f.dispatchEvent(new Event('input', {{bubbles: true}})); return f.value; }})()",
        json!(name),
        json!(text)
    ));
    assert_eq!(found, json!(text), "{name} does not take {text}");
}

/// What stands in the answer: (what, exact value).
fn answers(browser: &mut Browser) -> Vec<(String, String)> {
    let all = browser.value(
        "[...document.querySelectorAll('output [data-value]')].map(e => \
         [(e.closest('tr')?.cells[0] ?? e).textContent, e.dataset.value])",
    );
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.as_array().unwrap().iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}

#[test]
fn the_form_answers_as_predict_does() {
    let place = Place::new("page-answer");
    let Some((mut browser, _server)) = opened(&place) else { return };
    let rows = credit_rows();
    for row in [&rows[1], &rows[0]] {
        for (name, value) in row.as_object().unwrap() {
            fill(&mut browser, name, value);
        }
        browser.value("document.querySelector('output').replaceChildren()");
        browser.click("button[type=submit]");
        browser.until("document.querySelector('output .predicted') !== null");
        let names: Vec<&String> = row.as_object().unwrap().keys().collect();
        let cells: Vec<String> = names
            .iter()
            .map(|name| row[name.as_str()].as_str().map_or_else(|| row[name.as_str()].to_string(), str::to_owned))
            .collect();
        let header: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        let table = format!("{}\n{}\n", header.join(","), cells.join(","));
        let asked = place.run_with(&["predict", "credit.tove", "-", "--proba", "--json", "-q"], &table).ok().json();
        let shown = answers(&mut browser);
        assert_eq!(shown.len(), 3, "{shown:?}");
        assert!(shown[0].0.contains("predicted credit_risk"));
        assert_eq!(json!(shown[0].1), asked[0]["predicted credit_risk"]);
        for (name, value) in &shown[1..] {
            // The page keeps the number as the browser read it: the same bits.
            assert_eq!(value.parse::<f64>().unwrap(), asked[0][name.as_str()].as_f64().unwrap(), "{name}");
        }
    }
    for scheme in ["light", "dark"] {
        browser.look(scheme, 1100);
        let picture = browser.picture();
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 10_000);
        std::fs::write(format!("{}/page-{scheme}.png", env!("CARGO_TARGET_TMPDIR")), picture).unwrap();
    }
    browser.look("light", 380);
    assert_eq!(browser.value("document.documentElement.scrollWidth <= innerWidth"), true, "too wide for a telephone");
    let picture = browser.picture();
    std::fs::write(format!("{}/page-narrow.png", env!("CARGO_TARGET_TMPDIR")), picture).unwrap();
}

#[test]
fn wrong_input_is_explained_beside_the_form() {
    let place = Place::new("page-wrong");
    let Some((mut browser, server)) = opened(&place) else { return };
    let error = "document.querySelector('output .error')?.textContent ?? ''";
    // Something that is no number at all.
    for typed in ["1e", "--"] {
        browser.click("[name=duration]");
        browser.value("document.querySelector('[name=duration]').value = ''");
        browser.write(typed);
        browser.click("button[type=submit]");
        browser.until(&format!("({error}) !== ''"));
        let text = browser.value(error);
        assert!(text.as_str().unwrap().contains("duration: give a number"), "{typed}: {text}");
        assert_eq!(browser.value("document.activeElement.name"), "duration");
        assert_eq!(browser.value("document.activeElement.getAttribute('aria-invalid')"), "true");
        browser.click("button[type=reset]");
        assert_eq!(browser.value(error), "");
    }
    // A fraction is a number, also where all training rows had whole ones.
    browser.click("[name=age]");
    browser.write("30.5");
    browser.click("button[type=submit]");
    browser.until("document.querySelector('output table') !== null");
    drop(server);
    browser.click("button[type=reset]");
    browser.click("button[type=submit]");
    browser.until(&format!("({error}).includes('does not answer')"));
}

#[test]
fn the_keyboard_is_enough_and_everything_has_a_label() {
    let place = Place::new("page-keys");
    let Some((mut browser, _server)) = opened(&place) else { return };
    let unlabeled = browser.value(
        "[...document.querySelectorAll('input, select')].filter(f => f.labels.length !== 1 || \
         f.labels[0].textContent !== f.name).map(f => f.name)",
    );
    assert_eq!(unlabeled, json!([]));
    assert_eq!(browser.value("document.querySelectorAll('input, select').length"), 20);
    assert_eq!(browser.value("document.documentElement.lang"), "en");
    // Tab goes through the link, all fields in order, and the buttons.
    browser.key("Tab");
    assert_eq!(browser.value("document.activeElement.tagName"), "A");
    let names = browser.value("[...document.querySelectorAll('input, select')].map(f => f.name)");
    for name in names.as_array().unwrap() {
        browser.key("Tab");
        assert_eq!(&browser.value("document.activeElement.name"), name);
        if name == "duration" {
            browser.write("24");
        }
    }
    browser.key("Tab");
    assert_eq!(browser.value("document.activeElement.textContent"), "Predict");
    // The focus can be seen.
    assert_ne!(browser.value("getComputedStyle(document.activeElement).outlineStyle"), "none");
    browser.key("Enter");
    browser.until("document.querySelector('output .predicted') !== null");
    assert_eq!(browser.value("document.querySelector('[name=duration]').value"), "24");
    let note = browser.value("document.querySelector('output .note').textContent");
    assert!(note.as_str().unwrap().contains("19 of 20"), "{note}");
}

/// Contrast as the accessibility guidelines define it; 4.5 is what they ask of text.
#[test]
fn text_stands_out_in_light_and_dark() {
    let place = Place::new("page-contrast");
    let Some((mut browser, _server)) = opened(&place) else { return };
    browser.click("button[type=submit]");
    browser.until("document.querySelector('output .note') !== null");
    let contrast = "(() => {
        const channels = text => text.match(/[\\d.]+/g).map(Number);
        const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
            .map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
            .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
        const behind = e => { for (; e; e = e.parentElement) {
            const c = channels(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; }
            return [255, 255, 255]; };
        return [...document.querySelectorAll('h1, p, label, input, select, button, th, td, a')]
            .filter(e => e.textContent.trim() !== '').map(e => {
            const [a, b] = [light(channels(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
            return [e.tagName + '.' + e.className, (a + .05) / (b + .05)]; })
            .filter(([, ratio]) => !(ratio >= 4.5)); })()";
    let backgrounds: Vec<Value> = ["light", "dark"]
        .iter()
        .map(|scheme| {
            browser.look(scheme, 1100);
            assert_eq!(browser.value(contrast), json!([]), "{scheme}");
            browser.value("getComputedStyle(document.body).backgroundColor")
        })
        .collect();
    assert_ne!(backgrounds[0], backgrounds[1]);
}

#[test]
fn an_example_row_of_typical_values_is_predicted() {
    let place = Place::new("page-example");
    let Some((mut browser, _server)) = opened(&place) else { return };
    browser.click("#example");
    let empty = "[...document.querySelectorAll('form [name]')].filter(field => field.value === '').length";
    assert_eq!(browser.value(empty), 0);
    let status = "document.querySelector('[name=status]').value";
    assert_eq!(browser.value(status), "A14");
    browser.click("button[type=submit]");
    browser.until("document.querySelector('output .predicted') !== null");
    assert_eq!(browser.value("document.querySelector('output .note')"), Value::Null);
}
