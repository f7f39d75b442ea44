//! The boxes of a review from the stored tables alone, by loops.

use super::{Boxes, rows};
use lyra_core::Engine;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What one record is, as the tables of the log have it.
struct Record {
    wave: i64,
    key: String,
    stage: i64,
    page: String,
}

/// The records of a task from the stored tables alone, without any view.
fn recorded(engine: &Engine, task: &str) -> Vec<Record> {
    let mut records = Vec::new();
    let pages: HashMap<String, (String, Option<String>)> =
        rows(engine, "SELECT url, id, canonical_id FROM pages")
            .into_iter()
            .map(|row| {
                let text = |n: usize| row[n].as_str().map(str::to_owned);
                (text(0).unwrap(), (text(1).unwrap(), text(2)))
            })
            .collect();
    let canonical = |page: &str| {
        pages
            .values()
            .find(|(id, _)| id == page)
            .and_then(|p| p.1.clone())
    };
    let hits = format!(
        "SELECT j.wave, s.url, s.found_by, s.fetch_status, s.canonical_id, s.page_id
         FROM jobs j JOIN queries q ON q.cause_id = j.id JOIN serp_items s ON s.query_id = q.id
         WHERE j.task_id = '{task}'"
    );
    for row in rows(engine, &hits) {
        let url = row[1].as_str().unwrap();
        let by_url = pages.get(url).map(|(id, _)| id.clone());
        let page = row[5].as_str().map(str::to_owned).or(by_url);
        let work = row[4].as_str().map(str::to_owned);
        let key = page
            .as_deref()
            .and_then(canonical)
            .or(work)
            .or_else(|| page.clone());
        let found_by: Vec<String> = serde_json::from_str(row[2].as_str().unwrap()).unwrap();
        for _ in found_by {
            records.push(Record {
                wave: row[0].as_i64().unwrap(),
                key: key.clone().unwrap_or_else(|| url.to_owned()),
                stage: match row[3].as_str().unwrap() {
                    "fetched" => 3,
                    "failed" | "needs_auth" => 2,
                    _ => 1,
                },
                page: page.clone().unwrap_or_default(),
            });
        }
    }
    let targets = format!(
        "SELECT wave, input_json, output_json FROM jobs WHERE task_id = '{task}' AND kind = 'target_queue'"
    );
    for row in rows(engine, &targets) {
        let input: Value = serde_json::from_str(row[1].as_str().unwrap()).unwrap();
        let Some(url) = input["target"]["url"].as_str() else {
            continue;
        };
        let output: Value = row[2]
            .as_str()
            .map_or(Value::Null, |o| serde_json::from_str(o).unwrap());
        let page = output["page_id"].as_str().unwrap_or_default().to_owned();
        let is_read = !page.is_empty();
        let key = canonical(&page).or(is_read.then(|| page.clone()));
        records.push(Record {
            wave: row[0].as_i64().unwrap(),
            key: key.unwrap_or_else(|| url.to_owned()),
            stage: if is_read { 3 } else { 2 },
            page,
        });
    }
    records
}

/// The boxes once more, by loops.
pub(super) fn recounted(engine: &Engine, task: &str, out: &BTreeSet<String>) -> Boxes {
    let telling: BTreeSet<String> = rows(
        engine,
        &format!(
            "SELECT DISTINCT f.page_id FROM claims c JOIN edges e ON e.target_id = c.id JOIN fragments f ON f.id = e.source_id
             WHERE c.task_id = '{task}' AND c.claim_adoption_status = 'adopted' AND e.relation <> 'neutral'"
        ),
    )
    .into_iter()
    .map(|row| row[0].as_str().unwrap().to_owned())
    .collect();
    let records = recorded(engine, task);
    let mut boxes = Boxes::new();
    let last = records.iter().map(|r| r.wave).max().unwrap();
    for wave in (1..=last).map(Some).chain([None]) {
        let of_wave: Vec<&Record> = records
            .iter()
            .filter(|r| wave.is_none_or(|w| r.wave == w))
            .collect();
        let read_before = |r: &Record| {
            wave.is_some_and(|w| {
                records
                    .iter()
                    .any(|o| o.wave < w && o.key == r.key && o.stage == 3)
            })
        };
        let mut best: BTreeMap<&str, &Record> = BTreeMap::new();
        for record in of_wave.iter().filter(|r| !read_before(r)) {
            let known = best.entry(&record.key).or_insert(record);
            if known.stage < record.stage {
                *known = record;
            }
        }
        let mut add = |name: &str, n: usize| {
            boxes.insert((wave, name.to_owned()), i64::try_from(n).unwrap());
        };
        let of = |test: &dyn Fn(&Record) -> bool| best.values().filter(|r| test(r)).count();
        let is_out = |r: &Record| out.contains(&r.key);
        add("identified", of_wave.len());
        add("duplicates", of_wave.len() - best.len());
        add("screened", best.len());
        let excluded = of(&|r| r.stage == 1 || (r.stage == 2 && is_out(r)));
        add("records_excluded", excluded);
        add("sought", best.len() - excluded);
        add("not_retrieved", of(&|r| r.stage == 2 && !is_out(r)));
        add("assessed", of(&|r| r.stage == 3));
        let included = of(&|r| r.stage == 3 && !is_out(r) && telling.contains(&r.page));
        add("reports_excluded", of(&|r| r.stage == 3) - included);
        add("included", included);
    }
    boxes
}
