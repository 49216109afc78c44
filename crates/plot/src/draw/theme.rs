//! Colors: one table for light and dark, and the style sheet made from it.
//!
//! The first seven series' colors follow Okabe and Ito's palette for all kinds of color vision, with its pale members darkened
//! on white and its dark members lightened on black until each stands out by at least 2.9 : 1; three more differ from them in
//! lightness. No picture relies on color alone: series also differ by dash and marker, whose numbers are such that the first 30
//! lines and the first 70 markers all look different. Heat is the opacity of one color over the background, so that it
//! reads in both modes; the text on a cell turns to the background's color where the cell is strong.

/// Which colors a picture takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Light or dark as the reader prefers (`prefers-color-scheme`), or as `data-theme` on the picture or the page around it says.
    #[default]
    Auto,
    /// Always light, with plain colors: for converters that do not know CSS variables.
    Light,
    /// Always dark, with plain colors.
    Dark,
}

/// Name, light color, dark color.
const COLORS: [(&str, &str, &str); 19] = [
    ("bg", "#ffffff", "#15181d"),
    ("ink", "#16181c", "#f0f2f4"),
    ("mute", "#5b626c", "#a3abb6"),
    ("grid", "#e3e6ea", "#2c323a"),
    ("axis", "#8b929c", "#6b7480"),
    ("c0", "#0072b2", "#5aaef0"),
    ("c1", "#d55e00", "#ff8a4c"),
    ("c2", "#009e73", "#2fc79a"),
    ("c3", "#c0609a", "#e59cc6"),
    ("c4", "#b07c00", "#f2c14e"),
    ("c5", "#3594c9", "#a0dcf5"),
    ("c6", "#6a6f77", "#b4bac3"),
    ("c7", "#5b3a9e", "#b79af0"),
    ("c8", "#7a4a1d", "#d9a877"),
    ("c9", "#004f52", "#7ed0cf"),
    ("heat", "#004a7a", "#6cb8f5"),
    ("cold", "#8a3800", "#ff9a62"),
    ("good", "#00805d", "#2fc79a"),
    ("bad", "#c43d00", "#ff8a4c"),
];

/// How many series have a color of their own.
pub(crate) const SERIES: usize = 10;
/// Opacity from which text on a heat cell takes the background's color.
pub(crate) const STRONG: f64 = 0.66;

const RULES: &str = "\
max-width:100%;height:auto}\
.tove-plot text{fill:var(--ink)}.tove-plot .mute{fill:var(--mute)}\
.tove-plot .bg{fill:var(--bg)}.tove-plot .on{fill:var(--bg)}\
.tove-plot .halo{paint-order:stroke;stroke:var(--bg);stroke-width:3px;stroke-linejoin:round}\
.tove-plot .grid{stroke:var(--grid);stroke-width:1}.tove-plot .axis{stroke:var(--axis);stroke-width:1;fill:none}\
.tove-plot .guide{stroke:var(--mute);stroke-width:1.2;stroke-dasharray:5 4;fill:none}\
.tove-plot .cutline{stroke:var(--bg);stroke-width:2.5;fill:none}\
.tove-plot .inkline{stroke:var(--ink);stroke-width:1.4;fill:none}.tove-plot .inkfill{fill:var(--ink)}\
.tove-plot .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}\
.tove-plot .thin{fill:none;stroke-width:1;stroke-linejoin:round}\
.tove-plot .dot{stroke:var(--bg);stroke-width:.8}\
.tove-plot .heat{fill:var(--heat)}.tove-plot .cold{fill:var(--cold)}\
.tove-plot .good{fill:var(--good)}.tove-plot .bad{fill:var(--bad)}\
.tove-plot .goodline{stroke:var(--good);fill:none}.tove-plot .badline{stroke:var(--bad);fill:none}\
.tove-plot image{image-rendering:pixelated}";

fn variables(dark: bool) -> String {
    COLORS.iter().map(|(name, l, d)| format!("--{name}:{};", if dark { d } else { l })).collect()
}

/// The style sheet of pictures in a theme, without the `<style>` element.
pub(crate) fn style_sheet(theme: Theme) -> String {
    let mut rules = RULES.to_owned();
    for i in 0..SERIES {
        rules.push_str(&format!(".tove-plot .f{i}{{fill:var(--c{i})}}.tove-plot .s{i}{{stroke:var(--c{i})}}"));
    }
    if theme == Theme::Auto {
        let (light, dark) = (variables(false), variables(true));
        return format!(
            ".tove-plot{{{light}{rules}\
             @media(prefers-color-scheme:dark){{.tove-plot{{{dark}}}}}\
             [data-theme=light] .tove-plot,.tove-plot[data-theme=light]{{{light}}}\
             [data-theme=dark] .tove-plot,.tove-plot[data-theme=dark]{{{dark}}}\
             @media print{{.tove-plot.tove-plot.tove-plot{{{light}}}}}"
        );
    }
    for (name, light, dark) in COLORS {
        rules = rules.replace(&format!("var(--{name})"), if theme == Theme::Dark { dark } else { light });
    }
    format!(".tove-plot{{{rules}")
}

/// The look of the i-th series: color, dash and marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look(pub usize);

impl Look {
    pub fn stroke(self) -> String {
        format!("s{}", self.0 % SERIES)
    }

    pub fn fill(self) -> String {
        format!("f{}", self.0 % SERIES)
    }

    /// The dash pattern, empty for a full line.
    pub fn dash(self) -> &'static str {
        ["", "7 4", "2 4", "9 4 2 4", "12 3", "4 3"][self.0 % 6]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channels(hex: &str) -> [f64; 3] {
        [1, 3, 5].map(|i| f64::from(u8::from_str_radix(&hex[i..i + 2], 16).unwrap()) / 255.0)
    }

    fn luminance(color: [f64; 3]) -> f64 {
        let linear = color.map(|c| if c <= 0.03928 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    fn color(name: &str, dark: bool) -> [f64; 3] {
        let (_, light_hex, dark_hex) = COLORS.iter().find(|c| c.0 == name).unwrap();
        channels(if dark { dark_hex } else { light_hex })
    }

    #[test]
    fn lines_and_text_stand_out_from_the_background() {
        for dark in [false, true] {
            let background = color("bg", dark);
            for (name, ..) in COLORS.iter().filter(|c| c.0.starts_with('c')) {
                assert!(contrast(color(name, dark), background) >= 2.9, "{name} dark {dark}");
            }
            for name in ["ink", "mute", "good", "bad"] {
                assert!(contrast(color(name, dark), background) >= 4.5, "{name} dark {dark}");
            }
        }
    }

    #[test]
    fn text_reads_on_cells_of_any_strength() {
        for dark in [false, true] {
            for heat in ["heat", "cold"] {
                for i in 0..=100 {
                    let opacity = f64::from(i) / 100.0;
                    let (over, under) = (color(heat, dark), color("bg", dark));
                    let cell = [0, 1, 2].map(|i| over[i] * opacity + under[i] * (1.0 - opacity));
                    let text = color(if opacity >= STRONG { "bg" } else { "ink" }, dark);
                    assert!(contrast(cell, text) >= 3.5, "{heat} {opacity} dark {dark}: {}", contrast(cell, text));
                }
            }
        }
    }

    #[test]
    fn lines_and_markers_do_not_repeat_early() {
        let lines: std::collections::BTreeSet<_> = (0..30).map(|i| (Look(i).stroke(), Look(i).dash())).collect();
        assert_eq!(lines.len(), 30);
        let markers: std::collections::BTreeSet<_> = (0..70).map(|i| (Look(i).fill(), i % 7)).collect();
        assert_eq!(markers.len(), 70);
    }

    #[test]
    fn fixed_themes_have_no_variables() {
        assert!(!style_sheet(Theme::Light).contains("var(") && !style_sheet(Theme::Dark).contains("var("));
        assert!(style_sheet(Theme::Auto).contains("prefers-color-scheme"));
    }
}
