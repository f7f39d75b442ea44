//! The flow diagram of PRISMA 2020 as SVG: one file that needs neither fonts nor the network.

use super::atom::xml;
use super::parts::{FlowBox, total};
use super::text::{BOXES, shortened};

const WIDTH: usize = 860;
/// Left edges of the two columns of boxes, and the width of a box.
const COLUMNS: [usize; 2] = [60, 470];
const BOX_WIDTH: usize = 350;
const LINE: usize = 19;
const PADDING: usize = 12;
const GAP: usize = 26;
/// Number of letter widths that fit on a line; wide characters take two.
const LETTERS: usize = 46;

/// Minimum heights of rows: rows that start a phase must fit its name.
const LEAST: [usize; 5] = [108, 0, 0, 0, 76];

const STYLE: &str = "text{font:14px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#1b1b1f}
.n{font-weight:600}.d{font-size:13px;fill:#45464f}.p{font-size:13px;font-weight:600;fill:#fff}
rect.b{fill:#fff;stroke:#5b5d72;stroke-width:1.2}rect.s{fill:#3f5f90}rect.g{fill:#f7f7fb}
path{stroke:#5b5d72;stroke-width:1.4;fill:none}#a path{fill:#5b5d72;stroke:none}
@media (prefers-color-scheme:dark){text{fill:#e4e4ec}.d{fill:#c2c3d0}rect.b{fill:#23242c;stroke:#9a9cb3}
rect.g{fill:#17181d}path{stroke:#9a9cb3}#a path{fill:#9a9cb3}}
@media print{text{fill:#000}rect.b{fill:#fff;stroke:#000}rect.g{fill:#fff}path{stroke:#000}}";

/// Lines of a box: its label with the number (marked true), and the details below.
struct Drawn {
    lines: Vec<(String, bool)>,
}

impl Drawn {
    fn height(&self) -> usize {
        self.lines.len() * LINE + 2 * PADDING - 6
    }
}

/// The boxes of the whole task.
pub(super) fn svg(hypothesis: &str, flow: &[FlowBox]) -> String {
    let boxes: Vec<Drawn> = BOXES
        .iter()
        .map(|(name, words, _)| drawn(flow, name, words))
        .collect();
    let mut body = String::new();
    let mut y = GAP;
    let mut tops = Vec::new();
    // A row is a box of the flow and, next to it, the box of what leaves the flow there.
    let rows: [(usize, Option<usize>); 5] = [
        (0, Some(1)),
        (2, Some(3)),
        (4, Some(5)),
        (6, Some(7)),
        (8, None),
    ];
    for (place, (main, side)) in rows.into_iter().enumerate() {
        let main_height = boxes[main].height();
        let height = side.map_or(0, |side| boxes[side].height());
        let height = height.max(main_height).max(LEAST[place]);
        put(&mut body, &boxes[main], COLUMNS[0], y, main_height);
        if let Some(side) = side {
            put(&mut body, &boxes[side], COLUMNS[1], y, boxes[side].height());
            let middle = y + main_height / 2;
            let level = middle.min(y + boxes[side].height() - 6);
            arrow(
                &mut body,
                (COLUMNS[0] + BOX_WIDTH, level),
                (COLUMNS[1], level),
            );
        }
        if place + 1 < rows.len() {
            let x = COLUMNS[0] + BOX_WIDTH / 2;
            arrow(&mut body, (x, y + main_height), (x, y + height + GAP));
        }
        tops.push(y);
        y += height + GAP;
    }
    for (title, from, to) in [
        ("Identification", 0, 1),
        ("Screening", 1, 4),
        ("Included", 4, 5),
    ] {
        let end = tops.get(to).copied().unwrap_or(y) - GAP;
        phase(&mut body, title, tops[from], end);
    }
    document(hypothesis, flow, (&body, y))
}

fn document(hypothesis: &str, flow: &[FlowBox], (body, height): (&str, usize)) -> String {
    let title = format!("Flow of the review: {hypothesis}");
    let numbers: Vec<String> = BOXES
        .iter()
        .map(|(name, words, _)| format!("{words}: {}", records(flow, name)))
        .collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-labelledby=\"flow-title flow-numbers\">\n\
         <title id=\"flow-title\">{}</title>\n<desc id=\"flow-numbers\">{}.</desc>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
         <rect class=\"g\" width=\"{WIDTH}\" height=\"{height}\"/>\n{body}</svg>\n",
        xml(&title),
        xml(&numbers.join(". ")),
    )
}

fn records(flow: &[FlowBox], name: &str) -> i64 {
    total(flow, name).map_or(0, |found| found.records)
}

fn drawn(flow: &[FlowBox], name: &str, words: &str) -> Drawn {
    let mut lines = vec![(format!("{words} (n = {})", records(flow, name)), true)];
    for (what, records) in total(flow, name).map(shortened).unwrap_or_default() {
        let told = format!("{what} (n = {records})");
        lines.extend(
            textwrap::wrap(&told, LETTERS)
                .into_iter()
                .map(|line| (line.into_owned(), false)),
        );
    }
    Drawn { lines }
}

fn put(body: &mut String, one: &Drawn, x: usize, y: usize, height: usize) {
    body.push_str(&format!(
        "<rect class=\"b\" x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{height}\" rx=\"4\"/>\n"
    ));
    for (place, (line, is_number)) in one.lines.iter().enumerate() {
        let class = if *is_number { "n" } else { "d" };
        body.push_str(&format!(
            "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>\n",
            x + PADDING,
            y + PADDING + 11 + place * LINE,
            xml(line)
        ));
    }
}

fn arrow(body: &mut String, from: (usize, usize), to: (usize, usize)) {
    body.push_str(&format!(
        "<path d=\"M{} {}L{} {}\" marker-end=\"url(#a)\"/>\n",
        from.0, from.1, to.0, to.1
    ));
}

/// The name of a phase, next to its boxes.
fn phase(body: &mut String, title: &str, top: usize, end: usize) {
    let (height, middle) = (end - top, (top + end) / 2);
    body.push_str(&format!(
        "<rect class=\"s\" x=\"20\" y=\"{top}\" width=\"26\" height=\"{height}\" rx=\"4\"/>\n\
         <text class=\"p\" x=\"33\" y=\"{middle}\" text-anchor=\"middle\" dominant-baseline=\"central\" \
         transform=\"rotate(-90 33 {middle})\">{title}</text>\n"
    ));
}
