//! The byte budget: a reply that is too large loses rows from its end, and reports that.

use crate::error::ToolError;
use serde_json::{Map, Value, json};

/// Maximum size of one reply, in bytes of JSON. Tens of thousands of tokens in one reply are the
/// most common complaint of users of graph tools; this is about 12,000.
pub(crate) const REPLY_BYTES: usize = 48 * 1024;

/// Room for the fields that are added when rows are cut.
const MARGIN: usize = 64;

/// Cuts the lists named in `lists`, longest first, until `body` fits `budget` bytes. A list is an
/// array, or an object of arrays, of which the longest array loses its last items.
///
/// `offset` is the start of the page, for tools that page: the reply then says where to continue.
pub(crate) fn fit(
    body: &mut Map<String, Value>,
    lists: &[&str],
    offset: Option<u64>,
    budget: usize,
) -> Result<(), ToolError> {
    let size = json_size(body);
    if size <= budget {
        return Ok(());
    }
    let mut excess = size + MARGIN - budget;
    let mut sizes: Vec<(&str, usize)> = lists
        .iter()
        .filter_map(|name| Some((*name, json_size(body.get(*name)?))))
        .collect();
    while excess > 0 {
        // The longest list at this point: a long list must not cost a shorter one its rows.
        let left = sizes.iter_mut().filter(|(name, _)| !is_empty(&body[*name]));
        let Some((name, of_list)) = left.max_by_key(|(_, size)| *size) else {
            return Err(too_large(size, budget));
        };
        let Some(item) = body.get_mut(*name).and_then(pop) else {
            break;
        };
        let freed = json_size(&item) + 1;
        *of_list = of_list.saturating_sub(freed);
        excess = excess.saturating_sub(freed);
        if is_empty(&body[*name]) && offset.is_some() {
            // Not even one row fits: with an empty page, the caller would request it forever.
            return Err(too_large(size, budget));
        }
    }
    body.insert("truncated".into(), json!(true));
    let kept = body.get("rows").and_then(Value::as_array).map(Vec::len);
    if let (Some(kept), Some(offset)) = (kept, offset) {
        body.insert("row_count".into(), json!(kept));
        body.insert("next_offset".into(), json!(offset + kept as u64));
    }
    Ok(())
}

fn is_empty(list: &Value) -> bool {
    match list {
        Value::Array(items) => items.is_empty(),
        Value::Object(groups) => groups.values().all(is_empty),
        _ => true,
    }
}

fn pop(list: &mut Value) -> Option<Value> {
    match list {
        Value::Array(items) => items.pop(),
        Value::Object(groups) => {
            let length = |group: &Value| group.as_array().map_or(0, Vec::len);
            pop(groups.values_mut().max_by_key(|group| length(group))?)
        }
        _ => None,
    }
}

fn too_large(size: usize, budget: usize) -> ToolError {
    ToolError::invalid(format!(
        "the reply would take {size} bytes; at most {budget} bytes are sent"
    ))
    .with_hint("ask for less: fewer columns, substr() of long texts, or a smaller limit")
}

/// Size of the compact JSON in bytes, counted without storing it.
pub(crate) fn json_size(value: &impl serde::Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rows: usize, width: usize) -> Map<String, Value> {
        let rows: Vec<Value> = (0..rows)
            .map(|i| json!({"i": i, "t": "x".repeat(width)}))
            .collect();
        let count = rows.len();
        let body = json!({"ok": true, "rows": rows, "row_count": count, "truncated": false});
        body.as_object().expect("an object").clone()
    }

    #[test]
    fn a_reply_that_fits_is_left_alone() {
        let mut body = page(3, 10);
        let before = body.clone();
        fit(&mut body, &["rows"], Some(0), 10_000).expect("fits");
        assert_eq!(body, before);
    }

    #[test]
    fn rows_are_cut_from_the_end_and_paging_goes_on_there() {
        for budget in [1_000, 5_000, 20_000] {
            let mut body = page(200, 100);
            fit(&mut body, &["rows"], Some(400), budget).expect("can be cut");
            let kept = body["rows"].as_array().expect("rows").len();
            assert!(json_size(&body) <= budget, "{budget}");
            assert!(kept > 0 && kept < 200);
            assert_eq!(body["rows"][kept - 1]["i"], json!(kept - 1));
            assert_eq!(body["row_count"], json!(kept));
            assert_eq!(body["next_offset"], json!(400 + kept));
            assert_eq!(body["truncated"], json!(true));
            // Only as much is cut as necessary: one more row would not have fitted.
            assert!(
                json_size(&body) + 2 * 130 > budget,
                "{budget}: {}",
                json_size(&body)
            );
        }
    }

    #[test]
    fn one_row_that_is_too_large_is_an_error() {
        let error = fit(&mut page(1, 5_000), &["rows"], Some(0), 1_000).expect_err("too large");
        assert_eq!(error.code.as_str(), "INVALID_PARAMS");
        let mut no_list = page(0, 0);
        no_list.insert("hypothesis".into(), json!("x".repeat(2_000)));
        fit(&mut no_list, &["rows"], None, 1_000).expect_err("nothing to cut");
    }

    #[test]
    fn lists_of_an_unpaged_reply_are_cut_the_longest_first() {
        let list = |n: usize| vec![json!("x".repeat(100)); n];
        let body = json!({"ok": true, "long": list(30), "short": list(2), "longer": list(29)});
        let mut body = body.as_object().expect("an object").clone();
        fit(&mut body, &["long", "short", "longer"], None, 1_000).expect("can be cut");
        assert!(json_size(&body) <= 1_000);
        let kept = |name: &str| body[name].as_array().map_or(0, Vec::len);
        assert_eq!(kept("short"), 2);
        assert!(kept("long") >= 2 && kept("long").abs_diff(kept("longer")) <= 1);
        assert!(!body.contains_key("next_offset"));
    }

    #[test]
    fn groups_are_cut_like_lists() {
        let list = |n: usize| vec![json!("x".repeat(100)); n];
        let body =
            json!({"ok": true, "groups": {"a.org": list(30), "b.org": list(3), "c.org": list(25)}});
        let mut body = body.as_object().expect("an object").clone();
        fit(&mut body, &["items", "groups"], None, 1_500).expect("can be cut");
        assert!(json_size(&body) <= 1_500);
        assert_eq!(body["truncated"], json!(true));
        let kept = |name: &str| body["groups"][name].as_array().map_or(0, Vec::len);
        assert_eq!(kept("b.org"), 3);
        assert!(kept("a.org") > 3 && kept("a.org").abs_diff(kept("c.org")) <= 1);
    }

    #[test]
    fn sizes_are_exact() {
        let body = page(3, 10);
        assert_eq!(
            json_size(&body),
            serde_json::to_string(&body).expect("JSON").len()
        );
    }
}
