//! Two servers on one database, killed with SIGKILL at random moments while both work.
//!
//! `LYRA_CHAOS_KILLS=200 cargo test -p lyra-mcp --test mcp chaos` kills more often than the ordinary
//! run does; `LYRA_CHAOS_SEED` chooses other moments.

use crate::client::Client;
use crate::kill_resume::{PATIENCE, count, drain, verify};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Documents that each round queues for each of two tasks.
const DOCUMENTS_A_ROUND: usize = 2;
/// Milliseconds after which a server is killed at the latest.
const LATEST: u64 = 400;

fn setting(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var_os(name).and_then(|value| value.to_str()?.parse().ok());
    given.unwrap_or(otherwise)
}

/// Numbers that look random and are the same each time (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }
}

fn document(folder: &Path, number: usize) -> PathBuf {
    let subjects = ["coffee", "tea", "night work", "noise", "exercise", "salt"];
    let outcomes = ["sleep", "blood pressure", "falls", "memory", "weight"];
    let (subject, outcome) = (
        subjects[number % subjects.len()],
        outcomes[number % outcomes.len()],
    );
    let verb = ["increased", "reduced", "did not change"][number % 3];
    let text = format!(
        "# Cohort {number}\n\nCohort {number} followed {} adults for {} years. In this cohort {subject} {verb} \
         {outcome} (hazard ratio 1.{:02}). The result was the same in men and in women.\n",
        300 + number,
        1 + number % 9,
        number % 100
    );
    let path = folder.join(format!("cohort-{number}.md"));
    std::fs::write(&path, text).unwrap();
    path
}

/// What was asked for, and what was promised.
struct Research {
    db: PathBuf,
    corpus: PathBuf,
    /// Two tasks that read documents one by one, and one that searches.
    tasks: Vec<String>,
    /// Of the first two: what was asked for.
    files: Vec<Vec<String>>,
    /// Jobs that a server said are queued.
    promised: Vec<String>,
}

impl Research {
    fn new(folder: &Path, name: &str) -> Self {
        let corpus = folder.join("corpus");
        std::fs::create_dir_all(&corpus).unwrap();
        let mut research = Self {
            db: folder.join(name),
            corpus,
            tasks: Vec::new(),
            files: vec![Vec::new(); 2],
            promised: Vec::new(),
        };
        let mut client = research.connect();
        for hypothesis in [
            "Coffee increases blood pressure",
            "Noise disturbs sleep",
            "Salt makes one fall",
        ] {
            let budget = json!({"max_pages": 10_000, "max_seconds": 80_000});
            let task = client.ok(
                "create_task",
                json!({"hypothesis": hypothesis, "config": {"budget": budget}}),
            );
            research
                .tasks
                .push(task["task_id"].as_str().unwrap().to_owned());
        }
        research
    }

    fn connect(&self) -> Client {
        Client::connect(&self.db, &["--corpus", self.corpus.to_str().unwrap()])
    }

    /// Queues new documents and a search; those of the last call may be promised or not, for the
    /// server may be killed over it.
    fn queue(&mut self, client: &mut Client, round: usize) -> i64 {
        let per_round = 2 * DOCUMENTS_A_ROUND;
        for task in 0..2 {
            let first = round * per_round + task * DOCUMENTS_A_ROUND;
            let new = (first..first + DOCUMENTS_A_ROUND)
                .map(|n| format!("file://{}", document(&self.corpus, n).display()));
            self.files[task].extend(new);
        }
        let fresh = |files: &[String]| files[files.len() - DOCUMENTS_A_ROUND..].to_vec();
        let wish = json!({"task_id": self.tasks[0], "targets": fresh(&self.files[0])});
        let id = client.send_call("queue_targets", wish);
        // On a busy machine four workers and a `verify` may be before it at the lock.
        let reply = client.answer_within(id, PATIENCE).expect("an answer");
        self.promise(&reply["result"]["structuredContent"]);
        let search = format!(
            "salt falls {}",
            ["men", "women", "adults", "years"][round % 4]
        );
        client.send_call(
            "queue_targets",
            json!({"task_id": self.tasks[2], "targets": [format!("{search} {round}")]}),
        );
        client.send_call(
            "queue_targets",
            json!({"task_id": self.tasks[1], "targets": fresh(&self.files[1])}),
        )
    }

    fn promise(&mut self, queued: &Value) {
        let ids = queued["target_ids"].as_array().unwrap();
        let ids = ids.iter().map(|id| id.as_str().unwrap().to_owned());
        self.promised.extend(ids);
    }

    /// Asks again for everything, as somebody would whose jobs were given up; answers how many were.
    fn ask_again(&mut self, client: &mut Client) -> usize {
        let mut queued = 0;
        for (task, files) in self.files.iter().enumerate() {
            for some in files.chunks(50) {
                let again = json!({"task_id": self.tasks[task], "targets": some});
                let reply = client.ok("queue_targets", again);
                queued += usize::try_from(reply["queued_count"].as_u64().unwrap()).unwrap();
            }
        }
        queued
    }

    fn drain(&self, client: &mut Client) {
        for task in &self.tasks {
            let mut status = drain(client, task);
            // Nothing was asked of it.
            if status["status"] == "created" {
                continue;
            }
            // Vectors that a killed server left out are filled in, which no milestone waits for.
            while status["waiting_for"] != json!([]) {
                status = client.ok("get_status", json!({"task_id": task, "wait": 5}));
            }
            assert_eq!(status["progress"]["searches"]["running"], 0, "{status}");
        }
    }

    /// What each of the first two tasks found.
    fn finds(&self, client: &mut Client) -> Vec<i64> {
        let of = |task: &String| {
            ["task_pages", "claims"]
                .map(|table| format!("SELECT count(*) FROM {table} WHERE task_id = '{task}'"))
        };
        let questions = self.tasks[..2].iter().flat_map(of);
        questions.map(|sql| count(client, &sql)).collect()
    }
}

/// Nothing that was promised is lost, nothing was done twice, nothing is left lying about.
fn check_the_books(research: &Research, client: &mut Client) {
    let promised: BTreeSet<&String> = research.promised.iter().collect();
    assert_eq!(
        promised.len(),
        research.promised.len(),
        "a job was promised twice"
    );
    for ids in research.promised.chunks(40) {
        let list = ids.iter().map(|id| format!("'{id}'")).collect::<Vec<_>>();
        let sql = format!(
            "SELECT count(*) FROM jobs WHERE id IN ({})",
            list.join(", ")
        );
        assert_eq!(
            usize::try_from(count(client, &sql)),
            Ok(ids.len()),
            "a job is lost"
        );
    }
    for (sql, what) in [
        (
            "SELECT count(*) FROM jobs WHERE state NOT IN ('completed', 'failed')
               AND coalesce(error_message, '') <> 'another job like it waits already'",
            "jobs are not over",
        ),
        (
            "SELECT count(*) FROM jobs WHERE state = 'failed' AND error_message NOT LIKE 'given up: its worker stopped 3 times%'",
            "jobs failed by themselves",
        ),
        (
            "SELECT count(*) FROM jobs WHERE attempts > 3",
            "jobs were tried too often",
        ),
        (
            "SELECT count(*) FROM (SELECT 1 FROM event_log WHERE action = 'job_completed' GROUP BY subject_id
               HAVING count(*) > 1)",
            "jobs were done twice",
        ),
        (
            "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE kind = 'target_queue' AND state = 'completed'
               GROUP BY task_id, dedup_key HAVING count(*) > 1)",
            "targets were done twice",
        ),
        (
            "SELECT count(*) FROM jobs WHERE state = 'completed' AND id NOT IN (
               SELECT subject_id FROM event_log WHERE action = 'job_completed' AND subject_id IS NOT NULL)",
            "jobs were done without a record",
        ),
        (
            "SELECT count(*) FROM queries WHERE status = 'running'",
            "searches are under way that nobody runs",
        ),
        (
            "SELECT count(*) FROM jobs j WHERE cause_id IS NOT NULL AND NOT EXISTS (
               SELECT 1 FROM jobs c WHERE c.id = j.cause_id)",
            "jobs have a cause that is not there",
        ),
    ] {
        let rows = sql.replacen("count(*)", "*", 1);
        assert_eq!(count(client, sql), 0, "{what}: {}", client.ok("query_sql", json!({"sql": rows})));
    }
}

#[test]
fn servers_that_are_killed_at_any_moment_lose_nothing_and_do_nothing_twice() {
    let kills = setting("LYRA_CHAOS_KILLS", 8);
    let mut dice = Dice(setting("LYRA_CHAOS_SEED", 1));
    let folder = tempfile::tempdir().unwrap();
    let mut research = Research::new(folder.path(), "chaos.db");
    let mut servers = [research.connect(), research.connect()];
    let began = Instant::now();
    for round in 0..usize::try_from(kills).unwrap() {
        let at = usize::try_from(dice.roll(2)).unwrap();
        let last = research.queue(&mut servers[at], round);
        // Sometimes so soon that the last call is not answered.
        std::thread::sleep(Duration::from_millis(dice.roll(LATEST)));
        if let Some(reply) = servers[at].answer_within(last, Duration::ZERO) {
            research.promise(&reply["result"]["structuredContent"]);
        }
        // Dropping a client kills its server with SIGKILL. Now and then the other one dies, too.
        let both = dice.roll(8) == 0;
        for place in (0..2).filter(|place| *place == at || both) {
            let alive = research.connect();
            drop(std::mem::replace(&mut servers[place], alive));
        }
        verify(&research.db);
        if round % 20 == 19 {
            eprintln!("{} kills after {:?}", round + 1, began.elapsed());
        }
    }
    let killing = began.elapsed();
    let mut client = research.connect();
    research.drain(&mut client);
    check_the_books(&research, &mut client);
    let given_up = research.ask_again(&mut client);
    research.drain(&mut client);
    check_the_books(&research, &mut client);
    let found = research.finds(&mut client);
    drop((client, servers));
    verify(&research.db);
    eprintln!(
        "{kills} kills in {killing:?}; {} targets promised, {given_up} given up and asked for again; found {found:?}",
        research.promised.len()
    );

    // The same without anybody being killed.
    let mut calm = Research::new(folder.path(), "calm.db");
    calm.files.clone_from(&research.files);
    let mut client = calm.connect();
    calm.ask_again(&mut client);
    calm.drain(&mut client);
    assert_eq!(calm.finds(&mut client), found);
}
