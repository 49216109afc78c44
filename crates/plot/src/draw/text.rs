//! Text of pictures: escaping, an estimate of its width, and cutting.
//!
//! The width of a text is Σ w(c) · size with a small table of widths w in em, a little wider than the usual sans-serif
//! faces, so that a text takes at most the room that was kept for it.

/// Text for an XML or HTML element or attribute: markup is escaped, characters that XML forbids become U+FFFD.
///
/// ```
/// assert_eq!(tove_plot::escape("a < \"b\" & c\u{1}"), "a &lt; &quot;b&quot; &amp; c\u{FFFD}");
/// ```
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

fn em(c: char) -> f64 {
    match c {
        ' ' | '\t' | '\n' => 0.32,
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 0.41,
        'm' | 'M' | 'W' | 'w' | '@' | '%' | '…' => 0.98,
        '0'..='9' | 'a'..='z' => 0.63,
        'A'..='Z' => 0.75,
        '⁰' | '¹' | '²' | '³' | '⁴'..='⁹' | '⁻' => 0.46,
        '\u{300}'..='\u{36F}' | '\u{200B}'..='\u{200F}' => 0.0,
        '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}' => 1.05,
        '\u{FE30}'..='\u{FE6F}' | '\u{FF00}'..='\u{FFE6}' => 1.05,
        '\u{1F000}'.. => 1.3,
        _ => 0.84,
    }
}

/// An estimate from above of a text's width in pixels at a font size in pixels.
pub fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// The text cut to a width, with an ellipsis, if it is wider.
pub(crate) fn truncate(text: &str, size: f64, room: f64) -> Option<String> {
    if text_width(text, size) <= room {
        return None;
    }
    let (mut left, mut out) = (room - text_width("…", size), String::new());
    for c in text.chars() {
        left -= em(c) * size;
        if left < 0.0 {
            break;
        }
        out.push(c);
    }
    let kept = out.trim_end().len();
    out.truncate(kept);
    out.push('…');
    Some(out)
}

/// The text in lines of at most a width; a word that is wider alone is cut.
pub(crate) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = truncate(word, size, room).unwrap_or_else(|| word.to_owned());
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(&word, size) + 0.32 * size <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_text_fits_and_short_text_is_left_alone() {
        assert_eq!(truncate("short", 12.0, 100.0), None);
        let cut = truncate("a very long label indeed", 12.0, 80.0).unwrap();
        assert!(cut.ends_with('…') && text_width(&cut, 12.0) <= 80.0 && cut.starts_with("a very"));
        assert_eq!(truncate("wide", 12.0, 1.0).unwrap(), "…");
    }

    #[test]
    fn wrapped_lines_fit_and_keep_every_word() {
        let text = "the quick brown fox jumps over the lazy dog";
        let lines = wrap(text, 11.0, 90.0);
        assert!(lines.len() > 2 && lines.iter().all(|line| text_width(line, 11.0) <= 90.0));
        assert_eq!(lines.join(" "), text);
        assert!(wrap("  ", 11.0, 90.0).is_empty());
    }
}
