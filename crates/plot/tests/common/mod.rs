//! Looks at SVG as a reader would: where things are, how much room texts take.
#![allow(dead_code)]

use roxmltree::{Document, Node};
use tove_plot::text_width;

/// A rectangle: left, top, right, bottom.
pub type Bounds = [f64; 4];

pub fn number(node: Node, name: &str) -> Option<f64> {
    node.attribute(name).map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text:?} is no number")))
}

/// The elements that are seen.
pub fn elements<'a>(document: &'a Document) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(|n| n.is_element())
}

/// Elements that carry data.
pub fn marks(svg: &str) -> usize {
    let document = Document::parse(svg).unwrap();
    elements(&document).filter(|n| n.attribute("class").is_some_and(|c| c.split(' ').any(|c| c == "mark"))).count()
}

/// The visible text of an element, without its tooltip.
pub fn words(node: Node) -> String {
    node.children().filter(|c| c.is_text()).filter_map(|c| c.text()).collect()
}

/// Where a text stands, by the estimate of widths.
pub fn text_bounds(node: Node) -> Bounds {
    let (x, y, size) = (number(node, "x").unwrap(), number(node, "y").unwrap(), number(node, "font-size").unwrap());
    let width = text_width(&words(node), size);
    let start = match node.attribute("text-anchor") {
        Some("middle") => -width / 2.0,
        Some("end") => -width,
        _ => 0.0,
    };
    let (up, down) = (0.75 * size, 0.2 * size);
    if node.attribute("transform").is_some() {
        // turned by -90 degrees about its own place: right becomes up
        return [x - up, y - start - width, x + down, y - start];
    }
    [x + start, y - up, x + start + width, y + down]
}

/// The points that an element touches.
pub fn points(node: Node) -> Vec<(f64, f64)> {
    let get = |name: &str| number(node, name).unwrap_or(0.0);
    let pairs = |text: &str| {
        let numbers: Vec<f64> =
            text.split([' ', ',']).filter(|t| !t.is_empty()).map(|t| t.parse::<f64>().unwrap()).collect();
        numbers.chunks(2).map(|p| (p[0], p[1])).collect::<Vec<_>>()
    };
    match node.tag_name().name() {
        "rect" | "image" => {
            vec![(get("x"), get("y")), (get("x") + get("width"), get("y") + get("height"))]
        }
        "circle" => {
            vec![(get("cx") - get("r"), get("cy") - get("r")), (get("cx") + get("r"), get("cy") + get("r"))]
        }
        "line" => vec![(get("x1"), get("y1")), (get("x2"), get("y2"))],
        "polyline" | "polygon" => pairs(node.attribute("points").unwrap()),
        "path" => path_points(node.attribute("d").unwrap()),
        "text" => {
            let [left, top, right, bottom] = text_bounds(node);
            vec![(left, top), (right, bottom)]
        }
        _ => Vec::new(),
    }
}

fn path_points(d: &str) -> Vec<(f64, f64)> {
    let (mut at, mut out) = ((0.0, 0.0), Vec::new());
    for part in d
        .split_inclusive(|c: char| c.is_ascii_digit())
        .collect::<String>()
        .replace('Z', "")
        .split_inclusive(['M', 'L', 'H', 'V'])
        .scan('M', |command, text| {
            let (numbers, next) = match text.chars().last() {
                Some(c) if c.is_ascii_uppercase() => (&text[..text.len() - 1], c),
                _ => (text, *command),
            };
            let item = (*command, numbers.to_owned());
            *command = next;
            Some(item)
        })
    {
        let numbers: Vec<f64> = part.1.split(',').filter(|t| !t.is_empty()).map(|t| t.parse().unwrap()).collect();
        match (part.0, &numbers[..]) {
            (_, []) => continue,
            ('M' | 'L', [x, y]) => at = (*x, *y),
            ('H', [x]) => at.0 = *x,
            ('V', [y]) => at.1 = *y,
            other => panic!("path part {other:?}"),
        }
        out.push(at);
    }
    out
}

/// Checks what must hold for every picture: well-formed, named, no NaN, all inside, texts apart from each other.
pub fn check(name: &str, svg: &str) {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{name}: {error}"));
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"), "{name}");
    assert!(root.attribute("aria-label").is_some_and(|l| !l.is_empty()), "{name}");
    let (width, height) = (number(root, "width").unwrap(), number(root, "height").unwrap());
    assert_eq!(root.attribute("viewBox"), Some(format!("0 0 {width} {height}").as_str()), "{name}");
    let mut texts: Vec<(String, Bounds)> = Vec::new();
    for node in elements(&document) {
        for attribute in node.attributes().filter(|a| !["aria-label", "href"].contains(&a.name())) {
            let value = attribute.value();
            assert!(!value.contains("NaN") && !value.contains("inf"), "{name}: {}={value}", attribute.name());
        }
        for size in ["width", "height", "r"] {
            assert!(number(node, size).is_none_or(|v| v >= 0.0), "{name}: negative {size}");
        }
        if node.attribute("fill-opacity").is_some() {
            assert!((0.0..=1.0).contains(&number(node, "fill-opacity").unwrap()), "{name}");
        }
        // what stands in a window is cut off at its edge
        if node.ancestors().skip(1).any(|a| a.has_tag_name("svg") && a != root && a.tag_name().name() == "svg") {
            continue;
        }
        for (x, y) in points(node) {
            let inside = (-0.5..=width + 0.5).contains(&x) && (-0.5..=height + 0.5).contains(&y);
            assert!(
                inside,
                "{name}: ({x}, {y}) of {:?} {:?} outside {width} × {height}",
                node.tag_name().name(),
                words(node)
            );
        }
        if node.tag_name().name() == "text" && !words(node).is_empty() {
            texts.push((words(node), text_bounds(node)));
        }
    }
    for (i, (a, p)) in texts.iter().enumerate() {
        for (b, q) in &texts[i + 1..] {
            let apart = p[2] <= q[0] + 0.5 || q[2] <= p[0] + 0.5 || p[3] <= q[1] + 0.5 || q[3] <= p[1] + 0.5;
            assert!(apart, "{name}: {a:?} {p:?} and {b:?} {q:?} overlap");
        }
    }
}
