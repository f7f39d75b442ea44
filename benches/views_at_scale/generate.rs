//! Generates a graph of a given size as a JSONL interchange file: the same size gives the same bytes.
//!
//! It deliberately includes what makes views slow or fast: a few claims with hundreds of pieces of
//! evidence and many with none, pages that support many claims, pages that thousands cite, undated
//! and retracted works, pages without a work, pages that are known by name only.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

/// The size of the generated graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Edges of all relations; at least 1,000.
    pub(crate) edges: usize,
    /// Tasks among which the claims are distributed; the first has the most.
    pub(crate) tasks: usize,
}

/// The result of writing a file.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) lines: usize,
    pub(crate) bytes: u64,
    /// Id of the task with the most claims.
    pub(crate) largest_task: String,
    pub(crate) claims_of_largest_task: usize,
}

/// The newest year of publication in the file.
const NEWEST_YEAR: usize = 2026;
/// Seconds since 1970 of the first row: the start of 2026.
const FIRST_SECOND: usize = 1_767_225_600;
const SYLLABLES: [&str; 20] = [
    "ba", "cor", "den", "fi", "gal", "hu", "in", "kel", "lo", "mer", "nu", "pra", "qui", "ro",
    "sta", "tin", "ul", "ven", "xe", "zor",
];

/// SplitMix64 (Steele, Lea, Flood 2014): small, and random enough to generate a graph.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.0)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A number below `n`; lower numbers are more likely. With `power` 1, all are equally likely.
    fn skewed(&mut self, n: usize, power: f64) -> usize {
        ((self.unit().powf(power) * n as f64) as usize).min(n - 1)
    }

    fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }
}

fn mixed(seed: u64) -> u64 {
    let x = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Ids are scattered like those of a real graph, which are hashes: ids in row order would make
/// every index look faster.
fn id(prefix: &str, number: usize) -> String {
    format!("{prefix}{:016x}", mixed(number as u64 + 1))
}

fn task_id(number: usize) -> String {
    format!("task_{:08x}", mixed(number as u64 + 1) >> 32)
}

fn time(row: usize) -> String {
    let second = i64::try_from(FIRST_SECOND + row).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(second).map_or_else(|e| e.to_string(), |t| t.to_string())
}

/// Confidences are multiples of 1/1024: their sums are exact in any order, so that two ways of
/// computing a view can be compared row by row.
fn confidence(random: &mut Random) -> f64 {
    (512 + random.below(512)) as f64 / 1024.0
}

fn text(random: &mut Random, least_words: usize, most_words: usize) -> String {
    let words = least_words + random.below(most_words - least_words + 1);
    let word = |random: &mut Random| {
        let number = random.skewed(8_000, 3.0);
        let syllable = |place: usize| SYLLABLES[number / place % 20];
        format!("{}{}{}", syllable(1), syllable(20), syllable(400))
    };
    let words: Vec<String> = (0..words).map(|_| word(random)).collect();
    format!("{}.", words.join(" "))
}

struct Page {
    task: usize,
    /// The index of its work.
    work: Option<usize>,
    /// A page that is known by name only has no text, and therefore no fragments.
    is_fetched: bool,
}

struct Fragment {
    start: usize,
    end: usize,
}

struct Generator<W: Write> {
    out: W,
    random: Random,
    shape: Shape,
    pages: Vec<Page>,
    fragments: Vec<Fragment>,
    /// The indexes of the fragments of each task's pages.
    fragments_of: Vec<Vec<usize>>,
    lines: usize,
    edges: usize,
}

/// Writes the file.
pub(crate) fn write(path: &Path, shape: Shape) -> Result<Written> {
    let mut generator = Generator {
        out: BufWriter::new(File::create(path)?),
        random: Random(0x1CE_B00DA),
        shape,
        pages: Vec::new(),
        fragments: Vec::new(),
        fragments_of: vec![Vec::new(); shape.tasks],
        lines: 0,
        edges: 0,
    };
    generator.tasks()?;
    generator.pages_and_works()?;
    generator.page_texts_and_fragments()?;
    let task_of_claim = generator.claims()?;
    generator.citations()?;
    generator.origins_and_verdicts(&task_of_claim)?;
    generator.task_pages()?;
    generator.out.flush()?;
    Ok(Written {
        lines: generator.lines,
        bytes: path.metadata()?.len(),
        largest_task: task_id(0),
        claims_of_largest_task: task_of_claim.iter().filter(|task| **task == 0).count(),
    })
}

impl<W: Write> Generator<W> {
    /// Writes one line: the type, then the fields in JSON syntax.
    fn line(&mut self, tag: &str, fields: &str) -> Result<()> {
        self.lines += 1;
        writeln!(self.out, "{{\"type\":\"{tag}\",{fields}}}")
    }

    /// The first task is the largest: with n tasks it has about 2/n of everything.
    fn any_task(&mut self) -> usize {
        let n = self.shape.tasks;
        self.random.below(n).min(self.random.below(n))
    }

    fn tasks(&mut self) -> Result<()> {
        for number in 0..self.shape.tasks {
            let hypothesis = text(&mut self.random, 8, 14);
            let task = task_id(number);
            self.line(
                "task",
                &format!("\"id\":\"{task}\",\"hypothesis\":\"{hypothesis}\""),
            )?;
        }
        Ok(())
    }

    fn pages_and_works(&mut self) -> Result<()> {
        let mut works = 0;
        for number in 0..self.shape.edges / 20 {
            let work = match self.random.unit() {
                // A preprint and its published version are two pages of one work.
                x if x < 0.03 && works > 0 => Some(works - 1),
                x if x < 0.85 => {
                    self.work(works)?;
                    works += 1;
                    Some(works - 1)
                }
                _ => None,
            };
            let page = Page {
                task: self.any_task(),
                work,
                is_fetched: number == 0 || self.random.chance(0.85),
            };
            self.page(number, &page)?;
            self.pages.push(page);
        }
        Ok(())
    }

    fn work(&mut self, number: usize) -> Result<()> {
        let random = &mut self.random;
        let year = match random.chance(0.1) {
            true => String::new(),
            false => format!("\"year\":{},", NEWEST_YEAR - random.skewed(42, 1.7)),
        };
        let retracted = u8::from(random.chance(0.02));
        let (venue, authors) = (random.skewed(120, 2.0), random.below(5));
        let title = text(random, 6, 12);
        let doi = format!("10.5555/w{number}");
        let fields = format!(
            "\"canonical_id\":\"doi:{doi}\",\"title\":\"{title}\",{year}\"venue\":\"Journal {venue}\",\
             \"doi\":\"{doi}\",\"is_retracted\":{retracted},\"source_api\":\"openalex\""
        );
        self.line("work", &fields)?;
        for position in 0..authors {
            let name = self.random.below(20_000);
            let fields = format!(
                "\"canonical_id\":\"doi:{doi}\",\"position\":{position},\"name\":\"Author {name}\""
            );
            self.line("work_author", &fields)?;
        }
        Ok(())
    }

    fn page(&mut self, number: usize, page: &Page) -> Result<()> {
        let site = self.random.skewed(400, 2.0);
        let (url, domain) = match self.random.chance(0.03) {
            true => (format!("file:///corpus/{number}.pdf"), "local".to_owned()),
            false => (
                format!("https://www.site{site}.org/articles/{number}"),
                format!("site{site}.org"),
            ),
        };
        let title = text(&mut self.random, 6, 12);
        let mut fields = format!(
            "\"id\":\"{}\",\"url\":\"{url}\",\"domain\":\"{domain}\",\"title\":\"{title}\"",
            id("page_", number)
        );
        if let Some(work) = page.work {
            fields += &format!(",\"canonical_id\":\"doi:10.5555/w{work}\"");
        }
        if page.is_fetched {
            fields += &format!(",\"fetched_at\":\"{}\"", time(number));
        }
        self.line("page", &fields)
    }

    fn page_texts_and_fragments(&mut self) -> Result<()> {
        let fetched: Vec<usize> = (0..self.pages.len())
            .filter(|page| self.pages[*page].is_fetched)
            .collect();
        let wanted = self.shape.edges / 5;
        for (place, page) in fetched.iter().enumerate() {
            // Fragments are divided evenly; the first pages get the remainder.
            let count = wanted / fetched.len() + usize::from(place < wanted % fetched.len());
            let texts: Vec<String> = (0..count).map(|_| text(&mut self.random, 12, 30)).collect();
            let page_id = id("page_", *page);
            let whole = texts.join("\\n\\n");
            self.line(
                "page_text",
                &format!("\"page_id\":\"{page_id}\",\"text\":\"{whole}\""),
            )?;
            let mut start = 0;
            for (position, text) in texts.iter().enumerate() {
                let number = self.fragments.len();
                let end = start + text.len();
                let fields = format!(
                    "\"id\":\"{}\",\"page_id\":\"{page_id}\",\"position\":{position},\
                     \"text_content\":\"{text}\",\"heading_context\":\"Section {}\",\
                     \"char_start\":{start},\"char_end\":{end}",
                    id("frag_", number),
                    position / 2
                );
                self.line("fragment", &fields)?;
                self.fragments_of[self.pages[*page].task].push(number);
                self.fragments.push(Fragment { start, end });
                start = end + 2;
            }
        }
        Ok(())
    }

    /// Writes the claims; returns the task of each.
    fn claims(&mut self) -> Result<Vec<usize>> {
        let mut tasks = Vec::new();
        for number in 0..self.shape.edges / 10 {
            let task = self.any_task();
            let words = text(&mut self.random, 8, 18);
            let mut fields = format!(
                "\"id\":\"{}\",\"task_id\":\"{}\",\"claim_text\":\"{words}\",\"created_at\":\"{}\"",
                id("claim_", number),
                task_id(task),
                time(number)
            );
            if self.random.chance(0.95) {
                fields += &format!(",\"llm_claim_confidence\":{}", confidence(&mut self.random));
            }
            if self.random.chance(0.02) {
                fields += ",\"claim_adoption_status\":\"not_adopted\",\
                           \"claim_rejection_reason\":\"Not what the source says.\"";
            }
            self.line("claim", &fields)?;
            tasks.push(task);
        }
        Ok(tasks)
    }

    /// 8 % of the edges. Cited pages are cited again: seven of ten citations go to the target of an
    /// earlier one, so that the citation counts of pages follow a power law.
    fn citations(&mut self) -> Result<()> {
        let citing: Vec<usize> = (0..self.pages.len())
            .filter(|page| self.pages[*page].is_fetched)
            .collect();
        let mut pairs = HashSet::new();
        let mut targets: Vec<usize> = Vec::new();
        while pairs.len() < self.shape.edges * 8 / 100 {
            let source = citing[self.random.below(citing.len())];
            let target = match !targets.is_empty() && self.random.chance(0.7) {
                true => targets[self.random.below(targets.len())],
                false => self.random.below(self.pages.len()),
            };
            if source == target || !pairs.insert((source, target)) {
                continue;
            }
            targets.push(target);
            let ends = [("page", id("page_", source)), ("page", id("page_", target))];
            self.edge("cites", &ends, ",\"citation_source\":\"reference_list\"")?;
        }
        Ok(())
    }

    /// One origin per claim, and verdicts for the rest of the edges.
    fn origins_and_verdicts(&mut self, task_of_claim: &[usize]) -> Result<()> {
        let claims = task_of_claim.len();
        let verdicts = self.shape.edges - self.edges - claims;
        // One claim in eight is never compared with anything; of the others, some are much debated.
        let mut by_interest: Vec<usize> = (0..claims).collect();
        for last in (1..claims).rev() {
            by_interest.swap(last, self.random.below(last + 1));
        }
        let mut evidence = vec![0_usize; claims];
        for _ in 0..verdicts {
            let place = self.random.skewed(claims * 7 / 8, 1.5);
            evidence[by_interest[place]] += 1;
        }
        for (claim, count) in evidence.into_iter().enumerate() {
            self.edges_of_claim(claim, task_of_claim[claim], count)?;
        }
        Ok(())
    }

    fn edges_of_claim(&mut self, claim: usize, task: usize, verdicts: usize) -> Result<()> {
        let origin = self.fragment_for(task, 1.0);
        let Fragment { start, end } = self.fragments[origin];
        let claim_end = ("claim", id("claim_", claim));
        let quote = format!(
            ",\"quote_start\":{start},\"quote_end\":{}",
            end.min(start + 80)
        );
        let ends = [("fragment", id("frag_", origin)), claim_end.clone()];
        self.edge("origin", &ends, &quote)?;
        let mut taken = HashSet::from([origin]);
        // Most claims are supported; one in six is disputed.
        let refuting = if self.random.chance(0.16) { 0.4 } else { 0.04 };
        while taken.len() <= verdicts {
            let fragment = self.fragment_for(task, 2.0);
            if !taken.insert(fragment) {
                continue;
            }
            let relation = match self.random.unit() {
                x if x < refuting => "refutes",
                x if x < 0.7 => "supports",
                _ => "neutral",
            };
            let mut rest = format!(",\"nli_label\":\"{relation}\",\"judge_id\":\"bench\"");
            if self.random.chance(0.99) {
                rest += &format!(",\"nli_edge_confidence\":{}", confidence(&mut self.random));
            }
            let ends = [("fragment", id("frag_", fragment)), claim_end.clone()];
            self.edge(relation, &ends, &rest)?;
        }
        Ok(())
    }

    /// Four out of five pieces of evidence come from the task's own pages.
    fn fragment_for(&mut self, task: usize, skew: f64) -> usize {
        let own = self.fragments_of[task].len();
        if own > 0 && self.random.chance(0.8) {
            let place = self.random.skewed(own, skew);
            return self.fragments_of[task][place];
        }
        self.random.skewed(self.fragments.len(), skew)
    }

    fn edge(&mut self, relation: &str, ends: &[(&str, String); 2], rest: &str) -> Result<()> {
        let [(source_type, source), (target_type, target)] = ends;
        let number = self.edges;
        self.edges += 1;
        let fields = format!(
            "\"id\":\"{}\",\"source_type\":\"{source_type}\",\"source_id\":\"{source}\",\
             \"target_type\":\"{target_type}\",\"target_id\":\"{target}\",\
             \"relation\":\"{relation}\",\"created_at\":\"{}\"{rest}",
            id("edge_", number),
            time(number)
        );
        self.line("edge", &fields)
    }

    /// Fetched pages belong to the task that found them, one in five also to a second task.
    fn task_pages(&mut self) -> Result<()> {
        for number in 0..self.pages.len() {
            let Page {
                task, is_fetched, ..
            } = self.pages[number];
            if !is_fetched {
                continue;
            }
            let mut tasks = vec![task];
            let other = self.any_task();
            if other != task && self.random.chance(0.2) {
                tasks.push(other);
            }
            for task in tasks {
                let depth = self.random.skewed(3, 2.0);
                let reason = if depth == 0 {
                    "search"
                } else {
                    "citation_chase"
                };
                let fields = format!(
                    "\"task_id\":\"{}\",\"page_id\":\"{}\",\"reason\":\"{reason}\",\"depth\":{depth}",
                    task_id(task),
                    id("page_", number)
                );
                self.line("task_page", &fields)?;
            }
        }
        Ok(())
    }
}
