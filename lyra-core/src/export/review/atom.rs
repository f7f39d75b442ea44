//! The changes as an Atom feed (RFC 4287).

use super::parts::Review;
use crate::security::display::harmless;

/// Prefix of the ids: a tag URI (RFC 4151), which need not be resolved.
const AUTHORITY: &str = "tag:lyra-evidence,2026";

pub(super) fn feed(review: &Review) -> String {
    let task = name_of(&review.task_id);
    let began = review.runs.first().map(|run| run.began_at.as_str());
    let newest = review.log.first().map(|event| event.at.as_str());
    let updated = newest.or(began).unwrap_or("1970-01-01T00:00:00.000Z");
    let mut feed = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <id>{AUTHORITY}:{task}</id>\n<title>{}</title>\n<updated>{}</updated>\n\
         <author><name>lyra-mcp</name></author>\n<generator version=\"{}\">Lyra</generator>\n",
        xml(&review.hypothesis),
        xml(updated),
        env!("CARGO_PKG_VERSION"),
    );
    for event in &review.log {
        let link = event.url.as_deref().filter(|url| url.starts_with("http"));
        let link = link.map(|url| format!("<link href=\"{}\"/>\n", xml(url)));
        feed.push_str(&format!(
            "<entry>\n<id>{AUTHORITY}:{task}/{}</id>\n<title>{}: {}</title>\n<updated>{}</updated>\n\
             <category term=\"{}\"/>\n{}<content type=\"text\">{}{}</content>\n</entry>\n",
            name_of(&event.id),
            xml(event.kind.replace('_', " ").as_str()),
            xml(&event.title),
            xml(&event.at),
            xml(&event.kind),
            link.unwrap_or_default(),
            xml(&event.cause),
            event.url.as_ref().map(|url| format!("\n{}", xml(url))).unwrap_or_default(),
        ));
    }
    feed.push_str("</feed>\n");
    feed
}

/// Encodes an id for use in an address.
fn name_of(id: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~:".contains(&b);
    let written = id.bytes().map(|b| match is_plain(b) {
        true => char::from(b).to_string(),
        false => format!("%{b:02X}"),
    });
    written.collect()
}

/// Escapes text for use in elements and attributes. Characters that XML 1.0 cannot represent are
/// replaced, and so are invisible ones.
pub(super) fn xml(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in harmless(text).chars() {
        match c {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\u{FFFE}' | '\u{FFFF}' => written.push('\u{FFFD}'),
            c => written.push(c),
        }
    }
    written
}
