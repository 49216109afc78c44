//! The frame of a report: head, style, cards, contents, sections.

use super::Report;
use crate::draw::text::escape;
use crate::draw::theme::{Theme, style_sheet};
use std::fmt::Write as _;

const STYLE: &str = "\
:root{color-scheme:light dark;--page:#fff;--text:#1c1f24;--soft:#5b626c;--edge:#dfe3e8;--card:#f6f7f9;--link:#005a91}\
@media(prefers-color-scheme:dark){:root{--page:#15181d;--text:#e6e8eb;--soft:#a3abb6;--edge:#323943;--card:#1d2229;--link:#6cb8f5}}\
*{box-sizing:border-box}\
body{margin:0;background:var(--page);color:var(--text);font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\
main{max-width:72rem;margin:0 auto;padding:2rem 1.25rem 3rem}\
h1{font-size:1.8rem;line-height:1.2;margin:0 0 .25rem;overflow-wrap:anywhere}\
h2{font-size:1.25rem;margin:2.5rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--edge);overflow-wrap:anywhere}\
p{max-width:60rem;margin:.6rem 0;overflow-wrap:anywhere}a{color:var(--link)}\
.soft{color:var(--soft)}\
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(10.5rem,1fr));gap:.75rem;margin:1.5rem 0}\
.cards>div{background:var(--card);border:1px solid var(--edge);border-radius:.5rem;padding:.75rem 1rem;overflow-wrap:anywhere}\
.cards dt{color:var(--soft);font-size:.85rem}\
.cards dd{margin:0;font-size:1.5rem;font-weight:600;font-variant-numeric:tabular-nums}\
.cards dd.note{font-size:.8rem;font-weight:400;color:var(--soft)}\
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;list-style:none;padding:0;margin:1rem 0}\
.figures{display:flex;flex-wrap:wrap;gap:.75rem;margin:.75rem 0}\
figure{flex:1 1 30rem;min-width:0;max-width:100%;margin:0;padding:.25rem;border:1px solid var(--edge);border-radius:.5rem;overflow-x:auto}\
figure svg,figure img{display:block;max-width:100%;height:auto;margin:0 auto}\
.scroll{overflow-x:auto;margin:1rem 0}\
table{border-collapse:collapse;min-width:60%;font-size:.92rem;font-variant-numeric:tabular-nums}\
caption{text-align:left;color:var(--soft);padding-bottom:.4rem}\
th,td{padding:.35rem .8rem;border-bottom:1px solid var(--edge);text-align:left;vertical-align:top}\
thead th{border-bottom:2px solid var(--edge);white-space:nowrap}tbody th{font-weight:500}\
.number{text-align:right;white-space:nowrap}\
pre{background:var(--card);border:1px solid var(--edge);border-radius:.5rem;padding:.75rem 1rem;overflow-x:auto;font-size:.85rem;line-height:1.4}\
details{border:1px solid var(--edge);border-radius:.5rem;padding:.5rem 1rem;margin:1rem 0}\
summary{cursor:pointer;font-weight:500}\
footer{margin-top:3rem;padding-top:.75rem;border-top:1px solid var(--edge);font-size:.8rem;color:var(--soft)}\
@media print{main{orphans:1;widows:1}p,pre{orphans:3;widows:3}:root{color-scheme:light;--page:#fff;--text:#000;--soft:#444;--edge:#bbb;--card:#fff;--link:#000}\
main{max-width:none;padding:0}nav{display:none}h2,h3{break-after:avoid}figure,tr,.cards>div{break-inside:avoid}\
details::details-content{content-visibility:visible;block-size:auto}}";

pub(super) fn page(report: &Report) -> String {
    let title = escape(&report.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <title>{title}</title>\n<style>{STYLE}{}</style>\n</head>\n<body>\n<main>\n<header>\n<h1>{title}</h1>\n",
        style_sheet(Theme::Auto)
    );
    if !report.subtitle.is_empty() {
        let _ = writeln!(out, "<p class=\"soft\">{}</p>", escape(&report.subtitle));
    }
    out.push_str("</header>\n");
    cards(&mut out, report);
    contents(&mut out, report);
    for (i, (heading, body)) in report.sections.iter().enumerate() {
        if i == 0 {
            out.push_str(&body.html);
        } else {
            let heading = escape(heading);
            let _ = writeln!(
                out,
                "<section aria-labelledby=\"s{i}\">\n<h2 id=\"s{i}\">{heading}</h2>\n{}</section>",
                body.html
            );
        }
    }
    for (name, json) in &report.data {
        // inside JSON a < occurs only in strings, where it may be written so; thus no text can end the element
        let json = json.replace('<', "\\u003c");
        let _ = writeln!(out, "<script type=\"application/json\" id=\"{}\">{json}</script>", escape(name));
    }
    let _ = write!(out, "<footer>Written by tove {}.</footer>\n</main>\n</body>\n</html>\n", env!("CARGO_PKG_VERSION"));
    out
}

fn cards(out: &mut String, report: &Report) {
    if report.cards.is_empty() {
        return;
    }
    out.push_str("<dl class=\"cards\">\n");
    for (name, value, note) in &report.cards {
        let _ = write!(out, "<div><dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
        if !note.is_empty() {
            let _ = write!(out, "<dd class=\"note\">{}</dd>", escape(note));
        }
        out.push_str("</div>\n");
    }
    out.push_str("</dl>\n");
}

fn contents(out: &mut String, report: &Report) {
    if report.sections.len() < 4 {
        return;
    }
    out.push_str("<nav aria-label=\"Contents\"><ul>\n");
    for (i, (heading, _)) in report.sections.iter().enumerate().skip(1) {
        let _ = writeln!(out, "<li><a href=\"#s{i}\">{}</a></li>", escape(heading));
    }
    out.push_str("</ul></nav>\n");
}
