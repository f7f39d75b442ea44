//! The views' formulas reimplemented as plainly as possible: loops over JSON rows, no SQL.

mod by_hand;
mod passages;

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::fixture::{Row, ask, assert_same_rows, catalog, graph_of, same};
use crate::store::views::ViewParams;

/// Rows of a graph (`{"claims": [{…}], …}`), with functions that compute the views' answers.
pub(super) struct Naive<'a> {
    pub(super) tables: &'a Value,
    pub(super) year: i64,
    pub(super) task: Option<&'a str>,
    pub(super) include_rejected: bool,
}

/// A fragment→claim edge with everything it refers to.
pub(super) struct Evidence<'a> {
    relation: &'a str,
    confidence: Option<f64>,
    fragment: &'a str,
    page: &'a str,
    year: Option<i64>,
}

fn text<'a>(row: &'a Value, column: &str) -> &'a str {
    row[column].as_str().unwrap_or_default()
}

fn row(value: Value) -> Row {
    let Value::Object(row) = value else {
        panic!("a row is an object")
    };
    row
}

/// `round` as in SQLite, whose result halfway between two decimals (4.425, which is not exactly an
/// `f64`) differs from that of `f64::round` and between releases.
fn round(x: f64, places: i32) -> f64 {
    thread_local! {
        static SQLITE: Connection = Connection::open_in_memory().unwrap();
    }
    SQLITE.with(|db| {
        db.query_row("SELECT round(?1, ?2)", (x, places), |row| row.get(0))
            .unwrap()
    })
}

impl<'a> Naive<'a> {
    fn rows(&self, table: &str) -> &'a [Value] {
        self.tables[table].as_array().map_or(&[], Vec::as_slice)
    }

    fn find(&self, table: &str, key: &str, id: &str) -> &'a Value {
        self.rows(table)
            .iter()
            .find(|r| text(r, key) == id)
            .unwrap_or(&Value::Null)
    }

    fn claims(&self) -> Vec<&'a Value> {
        let adopted = |c: &Value| c["claim_adoption_status"] != "not_adopted";
        self.rows("claims")
            .iter()
            .filter(|c| self.task.is_none_or(|t| text(c, "task_id") == t))
            .filter(|c| self.include_rejected || adopted(c))
            .collect()
    }

    fn tasks(&self) -> BTreeSet<&'a str> {
        self.claims().iter().map(|c| text(c, "task_id")).collect()
    }

    fn edges_to(&self, claim: &Value) -> Vec<Evidence<'a>> {
        self.rows("edges")
            .iter()
            .filter(|e| e["source_type"] == "fragment" && e["target_type"] == "claim")
            .filter(|e| e["target_id"] == claim["id"])
            .map(|e| {
                let fragment = text(e, "source_id");
                let page = text(self.find("fragments", "id", fragment), "page_id");
                let work = text(self.find("pages", "id", page), "canonical_id");
                let year = self.find("works", "canonical_id", work)["year"].as_i64();
                let confidence = e["nli_edge_confidence"].as_f64();
                Evidence {
                    relation: text(e, "relation"),
                    confidence,
                    fragment,
                    page,
                    year,
                }
            })
            .collect()
    }

    fn evidence(&self, claim: &Value) -> Vec<Evidence<'a>> {
        let mut edges = self.edges_to(claim);
        edges.retain(|e| ["supports", "refutes", "neutral"].contains(&e.relation));
        edges
    }

    fn supports(&self, claim: &Value) -> Vec<Evidence<'a>> {
        let mut edges = self.edges_to(claim);
        edges.retain(|e| e.relation == "supports");
        edges
    }

    /// Citing and cited page of every citation.
    fn citations(&self) -> Vec<(&'a str, &'a str)> {
        self.rows("edges")
            .iter()
            .filter(|e| e["relation"] == "cites")
            .filter(|e| e["source_type"] == "page" && e["target_type"] == "page")
            .map(|e| (text(e, "source_id"), text(e, "target_id")))
            .collect()
    }

    fn about(&self, claim: &Value) -> Row {
        row(json!({
            "task_id": claim["task_id"], "claim_id": claim["id"], "claim_text": claim["claim_text"],
        }))
    }

    fn page_row(&self, task: &str, page: &str) -> Row {
        let page = self.find("pages", "id", page);
        let retracted =
            self.find("works", "canonical_id", text(page, "canonical_id"))["is_retracted"].as_i64();
        row(json!({
            "task_id": task, "page_id": page["id"], "url": page["url"], "title": page["title"],
            "domain": page["domain"], "is_retracted": retracted.unwrap_or(0),
        }))
    }

    /// Rows of a view, in any order; none for a view that is not recomputed here.
    pub(super) fn answer(&self, view: &str) -> Option<Vec<Row>> {
        let per_claim = |f: &dyn Fn(&Self, &Value) -> Option<Value>| {
            let rows = self.claims().into_iter().filter_map(|claim| {
                let mut about = self.about(claim);
                about.extend(row(f(self, claim)?));
                Some(about)
            });
            Some(rows.collect())
        };
        match view {
            "v_claim_evidence_summary" => per_claim(&|n, c| Some(n.summary(c))),
            "v_contradictions" => per_claim(&Self::contradiction),
            "v_unsupported_claims" => per_claim(&|n, c| {
                let none = n.evidence(c).is_empty();
                none.then(|| json!({"evidence_count": 0, "uncertainty": (1.0_f64 / 12.0).sqrt()}))
            }),
            "v_evidence_freshness" => per_claim(&Self::freshness),
            "v_emerging_consensus" => per_claim(&Self::consensus),
            "v_outdated_evidence" => per_claim(&|n, c| {
                let newest = n.supports(c).iter().filter_map(|e| e.year).max()?;
                Some(
                    json!({"newest_evidence_year": newest, "years_since_update": n.year - newest,
                    "retracted_evidence_count": n.retracted_of(c)}),
                )
            }),
            "v_claim_temporal_support" => per_claim(&Self::temporal),
            "v_evidence_timeline" => Some(self.timeline()),
            "v_controversy_by_era" => Some(self.eras()),
            "v_hub_pages" => Some(self.hubs()),
            "v_source_authority" => Some(self.authority()),
            "v_source_impact" => Some(self.impact()),
            "v_orphan_sources" => Some(self.orphans()),
            "v_citation_chains" => Some(self.chains()),
            "v_bibliographic_coupling" => Some(self.coupling()),
            "v_citation_clusters" => Some(self.clusters()),
            _ => None,
        }
    }

    fn summary(&self, claim: &Value) -> Value {
        let evidence = self.evidence(claim);
        let count = |r: &str| evidence.iter().filter(|e| e.relation == r).count();
        let weight = |r: &str| -> f64 {
            evidence
                .iter()
                .filter(|e| e.relation == r)
                .filter_map(|e| e.confidence)
                .sum()
        };
        let confidences: Vec<f64> = evidence
            .iter()
            .map(|e| e.confidence.unwrap_or(0.0))
            .collect();
        let (sw, rw) = (weight("supports"), weight("refutes"));
        let (alpha, beta) = (1.0 + sw, 1.0 + rw);
        let mean = round(alpha / (alpha + beta), 4);
        let variance = alpha * beta / ((alpha + beta).powi(2) * (alpha + beta + 1.0));
        let controversial = count("supports") > 0 && count("refutes") > 0;
        let voices = self.voices(&evidence);
        json!({
            "support_count": count("supports"), "refute_count": count("refutes"),
            "neutral_count": count("neutral"), "evidence_count": evidence.len(),
            "max_nli_edge_confidence": confidences.iter().copied().fold(0.0, f64::max),
            "avg_nli_edge_confidence":
                confidences.iter().sum::<f64>() / confidences.len().max(1) as f64,
            "support_weight": sw, "refute_weight": rw, "nli_claim_support_ratio": mean,
            "bayesian_truth_confidence": mean, "uncertainty": variance.sqrt(),
            "is_controversial": i32::from(controversial),
            "independent_sources": voices.0, "independent_confidence": round(voices.1, 4),
            "retracted_evidence_count": voices.2,
            "claim_adoption_status":
                claim.get("claim_adoption_status").cloned().unwrap_or_else(|| json!("adopted")),
        })
    }

    /// Number of independent sources, the mean with each source counted once, and the number of verdicts
    /// on retracted work.
    fn voices(&self, evidence: &[Evidence<'a>]) -> (usize, f64, usize) {
        let mut sources = BTreeSet::new();
        let mut retracted = 0;
        let mut weights = [0.0; 2];
        for (side, relation) in ["supports", "refutes"].into_iter().enumerate() {
            let mut sites: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
            for e in evidence.iter().filter(|e| e.relation == relation) {
                let page = self.find("pages", "id", e.page);
                let work = self.find("works", "canonical_id", text(page, "canonical_id"));
                if work["is_retracted"] == 1 {
                    retracted += 1;
                    continue;
                }
                let (source, site) = match (work.is_null(), text(page, "domain")) {
                    (false, _) => (text(work, "canonical_id"), text(work, "canonical_id")),
                    (true, "" | "local" | "doi.org") => (e.page, e.page),
                    (true, domain) => (e.page, domain),
                };
                sources.insert(source);
                let best = sites.entry(site).or_default().entry(source).or_insert(0.0);
                *best = e.confidence.unwrap_or(0.0).max(*best);
            }
            for of_site in sites.values() {
                let mut best: Vec<f64> = of_site.values().copied().collect();
                best.sort_by(|a, b| b.total_cmp(a));
                let discounted = best
                    .iter()
                    .zip(0_i32..)
                    .map(|(c, rank)| c * 0.5_f64.powi(rank));
                weights[side] += discounted.sum::<f64>();
            }
        }
        let mean = (1.0 + weights[0]) / (2.0 + weights[0] + weights[1]);
        (sources.len(), mean, retracted)
    }

    fn retracted_of(&self, claim: &Value) -> usize {
        self.voices(&self.evidence(claim)).2
    }

    fn is_retracted(&self, page: &str) -> i64 {
        let page = self.find("pages", "id", page);
        let work = self.find("works", "canonical_id", text(page, "canonical_id"));
        work["is_retracted"].as_i64().unwrap_or(0)
    }

    fn contradiction(&self, claim: &Value) -> Option<Value> {
        let mut evidence = self.evidence(claim);
        evidence.sort_by(|a, b| {
            let by_confidence = b.confidence.partial_cmp(&a.confidence).unwrap();
            by_confidence.then(a.fragment.cmp(b.fragment))
        });
        let of = |r: &str| -> Vec<&str> {
            evidence
                .iter()
                .filter(|e| e.relation == r)
                .map(|e| e.fragment)
                .collect()
        };
        let strongest = |r: &str| {
            let found = evidence.iter().find(|e| e.relation == r);
            found.map(|e| self.quote(e))
        };
        let (s, r) = (of("supports"), of("refutes"));
        (!s.is_empty() && !r.is_empty()).then(|| {
            json!({
                "support_count": s.len(), "refute_count": r.len(),
                "neutral_count": of("neutral").len(), "evidence_count": evidence.len(),
                "controversy_score": s.len().min(r.len()) as f64 / evidence.len() as f64,
                "strongest_support": strongest("supports"), "strongest_refutation": strongest("refutes"),
                "supporting_fragments": json!(s).to_string(),
                "refuting_fragments": json!(r).to_string(),
                "retracted_evidence_count": self.retracted_of(claim),
            })
        })
    }

    fn freshness(&self, claim: &Value) -> Option<Value> {
        let dated: Vec<(&str, i64)> = self
            .evidence(claim)
            .iter()
            .filter_map(|e| Some((e.relation, e.year?)))
            .collect();
        let recent = |r: &str| {
            dated
                .iter()
                .any(|(x, year)| *x == r && *year >= self.year - 2)
        };
        let total: i64 = dated.iter().map(|(_, year)| self.year - year).sum();
        (!dated.is_empty()).then(|| {
            json!({
                "avg_evidence_age": total as f64 / dated.len() as f64,
                "has_recent_support": i32::from(recent("supports")),
                "has_recent_refutation": i32::from(recent("refutes")),
                "dated_evidence_count": dated.len(),
                "retracted_evidence_count": self.retracted_of(claim),
            })
        })
    }

    fn consensus(&self, claim: &Value) -> Option<Value> {
        let supports = self.supports(claim);
        let years: BTreeSet<i64> = supports.iter().filter_map(|e| e.year).collect();
        let recent = supports
            .iter()
            .filter(|e| e.year.is_some_and(|y| y >= self.year - 2))
            .count();
        let older = supports.len() - recent;
        (!supports.is_empty()).then(|| {
            json!({
                "recent_support_count": recent, "older_support_count": older,
                "support_trend": recent as i64 - older as i64, "years_observed": years.len(),
                "undated_support_count": supports.iter().filter(|e| e.year.is_none()).count(),
                "retracted_evidence_count": self.retracted_of(claim),
            })
        })
    }

    fn temporal(&self, claim: &Value) -> Option<Value> {
        let years: BTreeSet<i64> = self.supports(claim).iter().filter_map(|e| e.year).collect();
        let (first, last) = (*years.first()?, *years.last()?);
        Some(json!({
            "earliest_year": first, "latest_year": last, "year_span": last - first,
            "temporal_consistency": round(years.len() as f64 / (last - first + 1) as f64, 4),
            "years_observed": years.len(),
            "retracted_evidence_count": self.retracted_of(claim),
        }))
    }

    fn timeline(&self) -> Vec<Row> {
        type Cell<'x> = (BTreeSet<&'x str>, BTreeSet<&'x str>, Vec<f64>);
        let mut cells: BTreeMap<(&str, Option<i64>), Cell<'_>> = BTreeMap::new();
        for claim in self.claims() {
            for e in self.evidence(claim) {
                let cell = cells.entry((text(claim, "task_id"), e.year)).or_default();
                cell.0.insert(e.fragment);
                cell.1.insert(text(claim, "id"));
                cell.2.push(e.confidence.unwrap_or(0.0));
            }
        }
        let rows = cells
            .into_iter()
            .map(|((task, year), (fragments, claims, confidences))| {
                row(json!({
                    "task_id": task, "year": year, "fragment_count": fragments.len(),
                    "claim_count": claims.len(),
                    "avg_confidence": confidences.iter().sum::<f64>() / confidences.len() as f64,
                }))
            });
        rows.collect()
    }

    fn eras(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for task in self.tasks() {
            // For each decade, the scores of the contested claims and the number of the others.
            let mut eras: BTreeMap<i64, (Vec<f64>, usize)> = BTreeMap::new();
            for claim in self
                .claims()
                .into_iter()
                .filter(|c| text(c, "task_id") == task)
            {
                let evidence = self.evidence(claim);
                let count = |r: &str| evidence.iter().filter(|e| e.relation == r).count();
                let (s, r) = (count("supports"), count("refutes"));
                let Some(newest) = evidence.iter().filter_map(|e| e.year).max() else {
                    continue;
                };
                if s + r == 0 {
                    continue;
                }
                let era = eras.entry(newest / 10 * 10).or_default();
                if s > 0 && r > 0 {
                    era.0.push(s.min(r) as f64 / evidence.len() as f64);
                } else {
                    era.1 += 1;
                }
            }
            let mut older: Option<f64> = None;
            for (decade, (scores, agreed)) in eras {
                let share = scores.len() as f64 / (scores.len() + agreed) as f64;
                let shift = older.is_some_and(|o| (share - o).abs() > 0.2 - 1e-9);
                older = Some(share);
                if !scores.is_empty() {
                    rows.push(row(json!({
                        "task_id": task, "decade": decade, "controversial_claims": scores.len(),
                        "avg_controversy_score": scores.iter().sum::<f64>() / scores.len() as f64,
                        "consensus_claims": agreed, "shift_detected": i32::from(shift),
                    })));
                }
            }
        }
        rows
    }

    /// For each task and page, the distinct claims to which the page has one of `relations`.
    fn by_page(&self, relations: &[&str]) -> BTreeMap<(&'a str, &'a str), BTreeSet<&'a str>> {
        let mut pages: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
        for claim in self.claims() {
            for e in self
                .edges_to(claim)
                .iter()
                .filter(|e| relations.contains(&e.relation))
            {
                pages
                    .entry((text(claim, "task_id"), e.page))
                    .or_default()
                    .insert(text(claim, "id"));
            }
        }
        pages
    }

    fn hubs(&self) -> Vec<Row> {
        let citations = self.citations();
        let rows = self
            .by_page(&["supports"])
            .into_iter()
            .map(|((task, page), claims)| {
                let mut hub = self.page_row(task, page);
                hub.extend(row(json!({
                    "claims_supported": claims.len(),
                    "citation_count": citations.iter().filter(|(a, _)| *a == page).count(),
                    "cited_by_count": citations.iter().filter(|(_, b)| *b == page).count(),
                })));
                hub
            });
        rows.collect()
    }

    fn authority(&self) -> Vec<Row> {
        let mut rows = self.hubs();
        for hub in &mut rows {
            let number = |c: &str| hub[c].as_f64().unwrap();
            let score = number("claims_supported")
                + 0.5 * number("cited_by_count")
                + 0.2 * number("citation_count");
            let page = self.find("pages", "id", hub["page_id"].as_str().unwrap());
            let work = self.find("works", "canonical_id", text(page, "canonical_id"));
            let year = work["year"].as_i64();
            let recency = year.map(|y| 1.0 / (1.0 + (self.year - y).max(0) as f64 / 5.0));
            hub.extend(row(json!({
                "year": year, "authority_score": score, "base_score": score,
                "recency_score": recency,
            })));
        }
        rows
    }

    fn impact(&self) -> Vec<Row> {
        let rows = self
            .by_page(&["origin"])
            .into_iter()
            .map(|((task, page), claims)| {
                let confidences: Vec<f64> = claims
                    .iter()
                    .filter_map(|c| self.find("claims", "id", c)["llm_claim_confidence"].as_f64())
                    .collect();
                let mean = (!confidences.is_empty())
                    .then(|| confidences.iter().sum::<f64>() / confidences.len() as f64);
                let in_task = self
                    .claims()
                    .into_iter()
                    .filter(|c| text(c, "task_id") == task);
                let supports: usize = in_task
                    .map(|c| self.supports(c).iter().filter(|e| e.page == page).count())
                    .sum();
                let generated = claims.len() as f64;
                let score =
                    generated + mean.unwrap_or(0.5) * generated * 0.5 + 0.3 * supports as f64;
                let mut impact = self.page_row(task, page);
                impact.extend(row(json!({
                    "claims_generated": claims.len(),
                    "avg_claim_confidence": mean.map(|m| round(m, 4)),
                    "claims_supported": supports, "impact_score": round(score, 2),
                })));
                impact
            });
        rows.collect()
    }

    fn orphans(&self) -> Vec<Row> {
        let citations = self.citations();
        let supporting = self.by_page(&["supports"]);
        let rows = self
            .by_page(&["supports", "refutes", "neutral"])
            .into_keys()
            .filter(|(_, page)| !citations.iter().any(|(_, cited)| cited == page))
            .map(|(task, page)| {
                let mut orphan = self.page_row(task, page);
                orphan.extend(row(json!({
                    "cited_by_count": 0,
                    "claims_supported": supporting.get(&(task, page)).map_or(0, BTreeSet::len),
                })));
                orphan
            });
        rows.collect()
    }

    fn title(&self, page: &str) -> &'a Value {
        &self.find("pages", "id", page)["title"]
    }

    fn chains(&self) -> Vec<Row> {
        let citations = self.citations();
        let mut rows = Vec::new();
        for (a, b) in &citations {
            for (_, c) in citations.iter().filter(|(b2, _)| b == b2) {
                if a != b && b != c && a != c {
                    rows.push(row(json!({
                        "citing_page": a, "citing_title": self.title(a),
                        "intermediate_page": b, "intermediate_title": self.title(b),
                        "cited_page": c, "cited_title": self.title(c),
                        "citing_is_retracted": self.is_retracted(a),
                        "intermediate_is_retracted": self.is_retracted(b),
                        "cited_is_retracted": self.is_retracted(c),
                    })));
                }
            }
        }
        rows
    }

    fn coupling(&self) -> Vec<Row> {
        let citations = self.citations();
        let of = |page: &str, out: bool| -> BTreeSet<&str> {
            let here = citations
                .iter()
                .filter(|(a, b)| if out { *a == page } else { *b == page });
            here.map(|(a, b)| if out { *b } else { *a }).collect()
        };
        let pages: BTreeSet<&str> = citations.iter().map(|(a, _)| *a).collect();
        let mut rows = Vec::new();
        for a in &pages {
            for b in pages.iter().filter(|b| a < *b) {
                let shared = of(a, true).intersection(&of(b, true)).count();
                if shared > 0 {
                    rows.push(row(json!({
                        "page_a": a, "page_a_title": self.title(a),
                        "page_b": b, "page_b_title": self.title(b), "coupling_strength": shared,
                        "co_citation_strength": of(a, false).intersection(&of(b, false)).count(),
                        "page_a_is_retracted": self.is_retracted(a),
                        "page_b_is_retracted": self.is_retracted(b),
                    })));
                }
            }
        }
        rows
    }

    fn clusters(&self) -> Vec<Row> {
        let mut citations = self.citations();
        citations.retain(|(a, b)| a != b);
        let mut label: BTreeMap<&str, &str> = citations
            .iter()
            .flat_map(|(a, b)| [(*a, *a), (*b, *b)])
            .collect();
        loop {
            let before = label.clone();
            for (a, b) in &citations {
                let smaller = label[a].min(label[b]);
                label.insert(a, smaller);
                label.insert(b, smaller);
            }
            if label == before {
                break;
            }
        }
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (page, root) in label {
            groups.entry(root).or_default().push(page);
        }
        let rows = groups.into_iter().map(|(root, pages)| {
            let inside = citations.iter().filter(|(a, _)| pages.contains(a)).count();
            row(json!({
                "cluster_id": root, "page_ids": json!(pages).to_string(),
                "internal_citations": inside, "cluster_size": pages.len(),
                "retracted_pages": pages.iter().map(|p| self.is_retracted(p)).sum::<i64>(),
            }))
        });
        rows.collect()
    }
}
