//! The claims on which sources contradict each other, as reports show them.

use super::Reader;
use crate::error::Result;
use crate::store::database::Statements;
use serde::Serialize;

/// A claim that takes a side on the hypothesis, supported or stated by one passage and refuted by
/// another.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Contradiction {
    /// The claim.
    pub claim_id: String,
    /// The confidence of the less sure of the two verdicts.
    pub confidence: f64,
    /// The surest verdict for the claim; the edge to the passage that states it if there is none.
    pub supporting_edge_id: String,
    /// The surest verdict against it.
    pub refuting_edge_id: String,
}

impl Reader<'_> {
    /// The contradictions of a task, the surest first. A verdict does not count if a claim from the
    /// same passage takes a side on the hypothesis that it would exclude: a passage that supports
    /// the hypothesis hardly refutes a claim that supports it, too. A human's verdict always counts.
    /// The source that states a claim counts for it if no passage supports it and another source
    /// refutes it, according to a human, to an agent, or to the claim that was read in the refuting
    /// passage, if that takes the opposite side on the hypothesis. A refutation alone, by the built-in
    /// judge, is too often wrong for that.
    pub(crate) fn contradictions(&self, task_id: &str) -> Result<Vec<Contradiction>> {
        let sql = "WITH placed AS (
               SELECT c.id AS claim_id, h.relation AS stance, h.confidence AS sure FROM claims c
                 JOIN hypothesis_stances h ON h.claim_id = c.id AND h.task_id = c.task_id
               WHERE c.task_id = ?1 AND c.claim_adoption_status = 'adopted' AND h.relation <> 'neutral'
             ), verdicts AS MATERIALIZED (
               SELECT p.claim_id, e.relation, e.id AS edge_id, e.source_id, e.nli_edge_confidence AS sure,
                 CASE WHEN e.edge_human_corrected OR e.judge_id GLOB 'agent:*' THEN 1.0
                   ELSE min(p.sure, (
                     SELECT max(h.confidence) FROM edges o
                       JOIN claims c ON c.id = o.target_id AND c.task_id = ?1 AND c.claim_adoption_status = 'adopted'
                       JOIN hypothesis_stances h ON h.claim_id = c.id AND h.relation NOT IN ('neutral', p.stance)
                     WHERE o.source_id = e.source_id AND o.relation = 'origin')) END AS opposed
               FROM placed p
                 JOIN edges e ON e.target_id = p.claim_id AND e.relation IN ('supports', 'refutes')
               WHERE e.edge_human_corrected OR NOT EXISTS (
                 SELECT 1 FROM edges o
                   JOIN claims c ON c.id = o.target_id AND c.task_id = ?1 AND c.claim_adoption_status = 'adopted'
                   JOIN hypothesis_stances h ON h.claim_id = c.id AND h.relation <> 'neutral'
                 WHERE o.source_id = e.source_id AND o.relation = 'origin'
                   AND (h.relation = p.stance) = (e.relation = 'refutes'))
             ), passages AS (
               SELECT claim_id, relation, edge_id, sure FROM verdicts
               UNION ALL
               SELECT v.claim_id, 'supports', o.id, v.opposed FROM verdicts v
                 JOIN edges o ON o.target_id = v.claim_id AND o.relation = 'origin'
                 JOIN fragments own ON own.id = o.source_id
                 JOIN fragments other ON other.id = v.source_id AND other.page_id <> own.page_id
               WHERE v.relation = 'refutes' AND v.opposed IS NOT NULL
                 AND v.claim_id NOT IN (SELECT claim_id FROM verdicts WHERE relation = 'supports')
             ), sides AS (
               SELECT claim_id, relation, edge_id, coalesce(sure, 0) AS sure,
                 row_number() OVER (PARTITION BY claim_id, relation ORDER BY sure DESC, edge_id) AS place
               FROM passages
             )
             SELECT pro.claim_id, min(pro.sure, con.sure), pro.edge_id, con.edge_id
             FROM sides pro JOIN sides con ON con.claim_id = pro.claim_id
             WHERE pro.relation = 'supports' AND pro.place = 1 AND con.relation = 'refutes' AND con.place = 1
             ORDER BY 2 DESC, 1";
        self.db.all(sql, [task_id], |r| {
            Ok(Contradiction {
                claim_id: r.get(0)?,
                confidence: r.get(1)?,
                supporting_edge_id: r.get(2)?,
                refuting_edge_id: r.get(3)?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::store::graph::EvidenceGraph;

    /// Claim `c`, read in fragment `own`, supports the hypothesis; `pro` supports it and `con` refutes
    /// it. `stance` is that of the claim read in `con`.
    fn graph(stance: &str) -> (tempfile::TempDir, EvidenceGraph) {
        let folder = tempfile::tempdir().unwrap();
        let clock = std::sync::Arc::new(crate::clock::ManualClock::new(1_700_000_000_000));
        let graph = EvidenceGraph::open(&folder.path().join("a.db"), clock).unwrap();
        let mut lines = vec![
            r#"{"type":"task","id":"task_1","hypothesis":"Tea helps sleep","status":"exploring"}"#
                .to_owned(),
        ];
        for id in ["own", "pro", "con"] {
            lines.push(format!(r#"{{"type":"page","id":"p_{id}","url":"https://{id}.example/","domain":"{id}.example"}}"#));
            lines.push(format!(r#"{{"type":"fragment","id":"{id}","page_id":"p_{id}","text_content":"Words of {id}."}}"#));
        }
        for (claim, fragment, stance) in [("c", "own", "supports"), ("other", "con", stance)] {
            lines.push(format!(
                r#"{{"type":"claim","id":"{claim}","task_id":"task_1","claim_text":"{claim}"}}"#
            ));
            lines.push(format!(r#"{{"type":"edge","id":"e_{claim}","source_type":"fragment","source_id":"{fragment}","target_type":"claim","target_id":"{claim}","relation":"origin"}}"#));
            lines.push(format!(r#"{{"type":"hypothesis_stance","claim_id":"{claim}","task_id":"task_1","relation":"{stance}","confidence":0.9,"judge_id":"judge"}}"#));
        }
        for (fragment, relation, sure) in [("pro", "supports", 0.6), ("con", "refutes", 0.8)] {
            lines.push(format!(r#"{{"type":"edge","id":"e_{fragment}","source_type":"fragment","source_id":"{fragment}","target_type":"claim","target_id":"c","relation":"{relation}","nli_edge_confidence":{sure},"judge_id":"judge"}}"#));
        }
        let now = graph.clock().now();
        crate::store::graph::import_jsonl(graph.database(), &now, lines.join("\n").as_bytes())
            .unwrap();
        (folder, graph)
    }

    #[test]
    fn a_humans_verdict_counts_whatever_the_stances_say() {
        let (_folder, graph) = graph("supports");
        let correct = "UPDATE edges SET edge_human_corrected = 1 WHERE id = 'e_con'";
        graph
            .database()
            .write(|c| Ok(c.execute(correct, []).unwrap()))
            .unwrap();
        let found = graph.read(|r| r.contradictions("task_1")).unwrap();
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn the_source_of_a_claim_is_a_side_if_more_than_a_refutation_speaks_against_it() {
        let (_folder, graph) = graph("neutral");
        let run = |sql: &str| {
            let done = graph.database().write(|c| Ok(c.execute(sql, []).unwrap()));
            done.unwrap();
        };
        run("DELETE FROM edges WHERE id = 'e_pro'");
        assert_eq!(graph.read(|r| r.contradictions("task_1")).unwrap(), []);
        // The claim of the refuting passage takes the opposite side, with a confidence of 0.9.
        for (stance, expected) in [("refutes", 1), ("supports", 0), ("neutral", 0)] {
            run(&format!(
                "UPDATE hypothesis_stances SET relation = '{stance}' WHERE claim_id = 'other'"
            ));
            let found = graph.read(|r| r.contradictions("task_1")).unwrap();
            assert_eq!(found.len(), expected, "{stance}");
            for one in found {
                assert_eq!(
                    (one.supporting_edge_id.as_str(), one.confidence),
                    ("e_c", 0.8)
                );
            }
        }
        run("UPDATE edges SET edge_human_corrected = 1 WHERE id = 'e_con'");
        let found = graph.read(|r| r.contradictions("task_1")).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].supporting_edge_id, "e_c");
        assert_eq!(
            (found[0].refuting_edge_id.as_str(), found[0].confidence),
            ("e_con", 0.8)
        );
        // A source that contradicts only itself is not in dispute.
        run("UPDATE fragments SET page_id = 'p_own' WHERE id = 'con'");
        assert_eq!(graph.read(|r| r.contradictions("task_1")).unwrap(), []);
    }

    #[test]
    fn a_passage_of_the_same_side_contradicts_nothing() {
        for (stance, expected) in [("refutes", 1), ("neutral", 1), ("supports", 0)] {
            let (_folder, graph) = graph(stance);
            let found = graph.read(|r| r.contradictions("task_1")).unwrap();
            assert_eq!(found.len(), expected, "{stance}");
            for one in found {
                assert_eq!((one.claim_id.as_str(), one.confidence), ("c", 0.6));
                assert_eq!(one.supporting_edge_id, "e_pro");
                assert_eq!(one.refuting_edge_id, "e_con");
            }
        }
    }
}
