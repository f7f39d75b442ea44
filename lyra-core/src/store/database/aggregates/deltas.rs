//! Changes of the sums over many claims, and how they are written.

use super::lookup::shared;
use super::snapshot::{Bearing, EvidenceEdge, Snapshot, UNDATED};
use crate::error::Result;
use crate::store::database::SqliteResultExt;
use rusqlite::{Connection, OptionalExtension, params};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::rc::Rc;

/// Two sums of N numbers: one over the adopted claims and one over all claims.
type Sums<const N: usize> = [[i64; N]; 2];

/// Changes by key.
type ByKey<K, const N: usize> = HashMap<K, Sums<N>>;

/// The changes of the sums, computed claim by claim.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    names: HashSet<Rc<str>>,
    pages: ByKey<PageOfTask, 6>,
    years: ByKey<(Rc<str>, i64), 3>,
    eras: ByKey<(Rc<str>, i64), 3>,
    fragments: ByKey<(Rc<str>, i64), 1>,
    /// The year of each fragment, if the evidence of a counted claim contains it.
    fragment_years: HashMap<i64, i64>,
    gone: Vec<EvidenceRow>,
    come: Vec<EvidenceRow>,
}

impl Deltas {
    /// Subtracts what a claim had added and adds what it adds now.
    pub(super) fn exchange(
        &mut self,
        claim_seq: i64,
        before: Option<&Snapshot>,
        after: Option<&Snapshot>,
    ) {
        if let Some(before) = before {
            self.add(before, -1);
        }
        if let Some(after) = after {
            self.add(after, 1);
            for (_, fragment, _, year) in after.located() {
                self.fragment_years
                    .insert(fragment, year.unwrap_or(UNDATED));
            }
        }
        self.exchange_evidence(claim_seq, before, after);
    }

    /// Unchanged edges are not moved.
    fn exchange_evidence(
        &mut self,
        claim_seq: i64,
        before: Option<&Snapshot>,
        after: Option<&Snapshot>,
    ) {
        let rows = |snapshot: Option<&Snapshot>| -> HashSet<(String, u64, bool)> {
            let edges = |s: &Snapshot| -> Vec<_> {
                let row = |e: &EvidenceEdge| (e.0.clone(), order_of(e.2).to_bits(), s.is_adopted);
                s.verdicts().map(row).collect()
            };
            snapshot.map(edges).into_iter().flatten().collect()
        };
        let stay = match (before, after) {
            (Some(before), Some(after)) if before.task_id == after.task_id => {
                &rows(Some(before)) & &rows(Some(after))
            }
            _ => HashSet::new(),
        };
        for (snapshot, is_after) in [(before, false), (after, true)] {
            let Some(snapshot) = snapshot else { continue };
            let task = self.name(&snapshot.task_id);
            for edge in snapshot.verdicts() {
                let confidence = order_of(edge.2);
                let row = (edge.0.clone(), confidence.to_bits(), snapshot.is_adopted);
                if !stay.is_empty() && stay.contains(&row) {
                    continue;
                }
                let row = EvidenceRow {
                    task: Rc::clone(&task),
                    confidence,
                    edge: row.0,
                    claim_seq,
                    is_adopted: row.2,
                };
                if is_after {
                    self.come.push(row)
                } else {
                    self.gone.push(row)
                }
            }
        }
    }

    fn add(&mut self, claim: &Snapshot, sign: i64) {
        let task = self.name(&claim.task_id);
        let is_adopted = claim.is_adopted;
        for ((page, _), counts) in claim.pages.iter().zip(claim.page_counts()) {
            let page = self.name(page);
            add_to(
                &mut self.pages,
                (page, Rc::clone(&task)),
                counts,
                is_adopted,
                sign,
            );
        }
        for (year, counts) in claim.year_counts() {
            add_to(
                &mut self.years,
                (Rc::clone(&task), year),
                counts,
                is_adopted,
                sign,
            );
        }
        if let Some((decade, counts)) = claim.era_count() {
            add_to(
                &mut self.eras,
                (Rc::clone(&task), decade),
                counts,
                is_adopted,
                sign,
            );
        }
        for edge in &claim.evidence {
            if edge.1 != Bearing::Origin
                && let Some((fragment, _)) = edge.3
            {
                add_to(
                    &mut self.fragments,
                    (Rc::clone(&task), fragment),
                    [1],
                    is_adopted,
                    sign,
                );
            }
        }
    }

    /// Number of pending changes.
    pub(super) fn len(&self) -> usize {
        self.come.len() + self.gone.len() + self.pages.len() + self.fragments.len()
    }

    /// A shared copy of each id.
    fn name(&mut self, id: &str) -> Rc<str> {
        shared(&mut self.names, id)
    }

    /// Writes the changes.
    pub(super) fn apply(mut self, db: &Connection) -> Result<()> {
        self.apply_evidence(db)?;
        let of_years = apply_fragments(db, &self.fragments, &self.fragment_years)?;
        apply_pages(db, changed(&self.pages))?;
        apply_years(db, changed(&self.years), of_years)?;
        apply_eras(db, changed(&self.eras))
    }

    fn apply_evidence(&mut self, db: &Connection) -> Result<()> {
        // Sorted, so that adjacent rows of the table are written consecutively.
        self.gone.sort_unstable_by(EvidenceRow::order);
        self.come.sort_unstable_by(EvidenceRow::order);
        let mut delete = db
            .prepare_cached(
                "DELETE FROM stat_evidence
                 WHERE task_id = ?1 AND confidence = ?2 AND edge_id = ?3 AND claim_seq = ?4",
            )
            .db()?;
        for row in &self.gone {
            delete
                .execute(params![row.task, row.confidence, row.edge, row.claim_seq])
                .db()?;
        }
        let mut insert = db
            .prepare_cached("INSERT OR REPLACE INTO stat_evidence VALUES (?1, ?2, ?3, ?4, ?5)")
            .db()?;
        for row in &self.come {
            insert
                .execute(params![
                    row.task,
                    row.confidence,
                    row.edge,
                    row.claim_seq,
                    row.is_adopted
                ])
                .db()?;
        }
        Ok(())
    }
}

/// A row of `stat_evidence`.
#[derive(Debug)]
struct EvidenceRow {
    task: Rc<str>,
    confidence: f64,
    edge: String,
    claim_seq: i64,
    is_adopted: bool,
}

impl EvidenceRow {
    fn order(a: &Self, b: &Self) -> Ordering {
        (a.task.cmp(&b.task))
            .then(b.confidence.total_cmp(&a.confidence))
            .then_with(|| a.edge.cmp(&b.edge))
    }
}

/// The sort position of an edge among those of its task.
fn order_of(confidence: Option<f64>) -> f64 {
    confidence.unwrap_or(-1.0)
}

fn add_to<K: Hash + Eq, const N: usize>(
    sums: &mut ByKey<K, N>,
    key: K,
    counts: [i64; N],
    is_adopted: bool,
    sign: i64,
) {
    let [adopted, all] = sums.entry(key).or_insert([[0; N]; 2]);
    for (i, count) in counts.into_iter().enumerate() {
        all[i] += sign * count;
        adopted[i] += sign * count * i64::from(is_adopted);
    }
}

/// Sorted by key, so that adjacent rows of the table are written consecutively.
fn sorted<K: Ord, const N: usize>(sums: &ByKey<K, N>) -> Vec<(&K, &Sums<N>)> {
    let mut rows: Vec<_> = sums.iter().collect();
    rows.sort_unstable_by_key(|(key, _)| *key);
    rows
}

/// The changes that are not zero.
fn changed<K: Ord, const N: usize>(sums: &ByKey<K, N>) -> Vec<(&K, &Sums<N>)> {
    let mut rows = sorted(sums);
    rows.retain(|(_, sums)| **sums != [[0; N]; 2]);
    rows
}

/// A page and a task.
type PageOfTask = (Rc<str>, Rc<str>);

/// Changes of the number of fragments, adopted and all, by task and year.
type FragmentYears = HashMap<(Rc<str>, i64), [i64; 2]>;

/// Also processes unchanged numbers, because the year may have changed.
fn apply_fragments(
    db: &Connection,
    fragments: &ByKey<(Rc<str>, i64), 1>,
    years: &HashMap<i64, i64>,
) -> Result<FragmentYears> {
    let mut find = db
        .prepare_cached(
            "SELECT year, edges, edges_all FROM stat_task_fragments WHERE task_id = ?1 AND fragment_seq = ?2",
        )
        .db()?;
    let mut store = db
        .prepare_cached("INSERT OR REPLACE INTO stat_task_fragments VALUES (?1, ?2, ?3, ?4, ?5)")
        .db()?;
    let mut delete = db
        .prepare_cached("DELETE FROM stat_task_fragments WHERE task_id = ?1 AND fragment_seq = ?2")
        .db()?;
    let mut changes = FragmentYears::new();
    let mut note = |task: &Rc<str>, year: i64, sign: i64, edges: [i64; 2]| {
        let change = changes.entry((Rc::clone(task), year)).or_default();
        change[0] += sign * i64::from(edges[0] > 0);
        change[1] += sign * i64::from(edges[1] > 0);
    };
    for ((task, fragment), [[adopted], [all]]) in sorted(fragments) {
        let stored: Option<(i64, i64, i64)> = find
            .query_row(params![task, fragment], |r| {
                Ok((r.get(0)?, r.get(1)?, r.get(2)?))
            })
            .optional()
            .db()?;
        let (old_year, edges, edges_all) = stored.unwrap_or((UNDATED, 0, 0));
        let year = years.get(fragment).copied().unwrap_or(old_year);
        let now = [edges + adopted, edges_all + all];
        note(task, old_year, -1, [edges, edges_all]);
        note(task, year, 1, now);
        if now == [0, 0] {
            delete.execute(params![task, fragment]).db()?;
        } else {
            store
                .execute(params![task, fragment, year, now[0], now[1]])
                .db()?;
        }
    }
    Ok(changes)
}

fn apply_pages(db: &Connection, rows: Vec<(&PageOfTask, &Sums<6>)>) -> Result<()> {
    let mut add = db
        .prepare_cached(include_str!("../sql/add_to_task_page.sql"))
        .db()?;
    let mut drop_empty = db
        .prepare_cached(
            "DELETE FROM stat_task_pages WHERE page_id = ?1 AND task_id = ?2
               AND evidence_count_all = 0 AND claims_generated_all = 0",
        )
        .db()?;
    // A page from which a claim of the task was extracted is not a candidate for it.
    let mut candidate = db
        .prepare_cached("INSERT OR IGNORE INTO stale_task_pages VALUES (?1, ?2)")
        .db()?;
    for ((page, task), [a, all]) in rows {
        add.execute(params![
            page, task, a[0], a[1], a[2], a[3], a[4], a[5], all[0], all[1], all[2], all[3], all[4],
            all[5],
        ])
        .db()?;
        if all[2] < 0 || all[3] < 0 {
            drop_empty.execute(params![page, task]).db()?;
        }
        if all[3] != 0 {
            candidate.execute(params![task, page]).db()?;
        }
    }
    Ok(())
}

fn apply_years(
    db: &Connection,
    rows: Vec<(&(Rc<str>, i64), &Sums<3>)>,
    mut fragments: FragmentYears,
) -> Result<()> {
    let mut add = db
        .prepare_cached(
            "INSERT INTO stat_years VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (task_id, year) DO UPDATE SET
               fragment_count = fragment_count + excluded.fragment_count,
               claim_count = claim_count + excluded.claim_count,
               edge_count = edge_count + excluded.edge_count,
               confidence_sum = confidence_sum + excluded.confidence_sum,
               fragment_count_all = fragment_count_all + excluded.fragment_count_all,
               claim_count_all = claim_count_all + excluded.claim_count_all,
               edge_count_all = edge_count_all + excluded.edge_count_all,
               confidence_sum_all = confidence_sum_all + excluded.confidence_sum_all",
        )
        .db()?;
    let mut drop_empty = db
        .prepare_cached(
            "DELETE FROM stat_years WHERE task_id = ?1 AND year = ?2 AND edge_count_all = 0",
        )
        .db()?;
    let mut write = |task: &str, year: i64, fragments: [i64; 2], [a, all]: &Sums<3>| {
        add.execute(params![
            task,
            year,
            fragments[0],
            a[0],
            a[1],
            a[2],
            fragments[1],
            all[0],
            all[1],
            all[2],
        ])?;
        drop_empty.execute(params![task, year])
    };
    for (key, sums) in rows {
        let of_fragments = fragments.remove(key).unwrap_or_default();
        write(&key.0, key.1, of_fragments, sums).db()?;
    }
    for ((task, year), of_fragments) in fragments.iter().filter(|(_, n)| **n != [0, 0]) {
        write(task, *year, *of_fragments, &[[0; 3]; 2]).db()?;
    }
    Ok(())
}

fn apply_eras(db: &Connection, rows: Vec<(&(Rc<str>, i64), &Sums<3>)>) -> Result<()> {
    let mut add = db
        .prepare_cached(
            "INSERT INTO stat_eras VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (task_id, decade) DO UPDATE SET
               decided = decided + excluded.decided,
               controversial = controversial + excluded.controversial,
               controversy_sum = controversy_sum + excluded.controversy_sum,
               decided_all = decided_all + excluded.decided_all,
               controversial_all = controversial_all + excluded.controversial_all,
               controversy_sum_all = controversy_sum_all + excluded.controversy_sum_all",
        )
        .db()?;
    let mut drop_empty = db
        .prepare_cached(
            "DELETE FROM stat_eras WHERE task_id = ?1 AND decade = ?2 AND decided_all = 0",
        )
        .db()?;
    for ((task, decade), [a, all]) in rows {
        add.execute(params![
            task, decade, a[0], a[1], a[2], all[0], all[1], all[2]
        ])
        .db()?;
        drop_empty.execute(params![task, decade]).db()?;
    }
    Ok(())
}
