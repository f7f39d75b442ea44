//! Converts pieces of lines from file order to lines in reading order.

use super::bidi::is_mostly_rtl;
use super::line::PdfLine;

/// Minimum number of rows that a gap must cross to separate two columns.
const ROWS: usize = 6;

/// Two pieces of a line that both have this many characters belong to different columns.
const PROSE: usize = 30;

/// Joins the pieces of each line. If a file draws two columns row by row, each column is read
/// separately.
pub(super) fn in_reading_order(pieces: Vec<PdfLine>) -> Vec<PdfLine> {
    let Some(gutter) = gutter(&pieces) else {
        return joined(pieces);
    };
    let (mut out, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        if piece.right <= gutter {
            left.push(piece);
        } else if piece.left >= gutter {
            right.push(piece);
        } else {
            out.append(&mut left);
            out.append(&mut right);
            out.push(piece);
        }
    }
    out.append(&mut left);
    out.append(&mut right);
    joined(out)
}

/// Whether `next` is on the same line as `piece`, to its right.
fn is_beside(piece: &PdfLine, next: &PdfLine) -> bool {
    let size = piece.size.max(next.size);
    (piece.base - next.base).abs() < 0.5 * size && next.left > piece.right - 0.3 * size
}

/// Whether it is on the same line, to its left.
fn is_before(piece: &PdfLine, next: &PdfLine) -> bool {
    let size = piece.size.max(next.size);
    (piece.base - next.base).abs() < 0.5 * size && next.right < piece.left + 0.3 * size
}

/// The position that most gaps between neighbours cross, if there is prose on both sides of it.
fn gutter(pieces: &[PdfLine]) -> Option<f64> {
    let pairs: Vec<(&PdfLine, &PdfLine)> = pieces
        .windows(2)
        .map(|pair| (&pair[0], &pair[1]))
        .filter(|(a, b)| is_beside(a, b))
        .filter(|(a, b)| a.text.chars().count() >= 15 && b.text.chars().count() >= 15)
        .collect();
    if pairs.len() < ROWS {
        return None;
    }
    let crossing = |x: f64| {
        pairs
            .iter()
            .filter(|(a, b)| a.right <= x && x <= b.left)
            .count()
    };
    let best = pairs
        .iter()
        .map(|(_, b)| b.left - 0.1)
        .max_by_key(|x| crossing(*x))?;
    let across = pieces
        .iter()
        .filter(|p| p.left < best - p.size && p.right > best + p.size)
        .count();
    (crossing(best) >= ROWS.max(pairs.len() / 2) && across * 2 < crossing(best)).then_some(best)
}

fn joined(pieces: Vec<PdfLine>) -> Vec<PdfLine> {
    let is_prose = |line: &PdfLine| line.text.chars().count() >= PROSE;
    let mut out: Vec<PdfLine> = Vec::new();
    for piece in pieces {
        let Some(line) = out.last_mut() else {
            out.push(piece);
            continue;
        };
        let rtl = is_mostly_rtl(&line.text) && is_mostly_rtl(&piece.text);
        let beside = is_beside(line, &piece);
        if !(rtl && is_before(line, &piece) || beside && !(is_prose(line) && is_prose(&piece))) {
            out.push(piece);
            continue;
        }
        if piece.text.len() > line.text.len() {
            line.size = piece.size;
        }
        line.text = if rtl && beside {
            format!("{} {}", piece.text, line.text)
        } else {
            format!("{} {}", line.text, piece.text)
        };
        line.left = line.left.min(piece.left);
        line.right = line.right.max(piece.right);
    }
    out
}
