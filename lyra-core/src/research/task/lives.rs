//! Random histories of tasks, compared with a small model of SPEC.
//!
//! `LYRA_LIVES=10000 cargo test -p lyra-core --lib task::lives` runs more of them than the ordinary
//! test, and `LYRA_LIVES_SEED` sets another start. A history that fails is shortened as far as it
//! still fails, and printed.

mod model;
mod real;

use model::Model;
use real::Real;

/// One event. Its indexes are taken modulo the number of existing objects, so that any part of a
/// history is valid.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    /// A target is queued: in a task, for one of a few pages, with one of three priorities.
    Queue(usize, usize, usize),
    /// A worker tries to claim a job of a task.
    Claim(usize, usize),
    /// A worker's job succeeds: with this many pages that need a human, and whether it has no other
    /// results.
    Finish(usize, usize, bool),
    /// A worker's job fails.
    Fail(usize),
    /// A worker renews its lease.
    Renew(usize),
    /// A worker crashes; another one replaces it.
    Crash(usize),
    /// Time passes: a second, or longer than a lease.
    Pass(bool),
    /// Jobs whose worker has stopped responding are looked for.
    Sweep,
    /// A task is stopped: mode, scope.
    Stop(usize, usize, usize),
    /// A human answers: about an item, a domain or a task; the page was opened, not passed or
    /// skipped.
    Resolve(usize, usize, usize),
    /// A day passes without an answer by a human.
    Expire,
    /// A domain is blocked or unblocked.
    Block(usize, bool),
}

const TASKS: usize = 2;
const WORKERS: usize = 3;
const PAGES: usize = 5;
const DOMAINS: usize = 2;
const LONGEST: usize = 60;

/// Deterministic pseudo-random numbers (splitmix64).
struct SplitMix64(u64);

impl SplitMix64 {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % (sides as u64)).unwrap()
    }

    fn op(&mut self) -> Op {
        match self.roll(100) {
            0..20 => Op::Queue(self.roll(TASKS), self.roll(PAGES), self.roll(3)),
            20..48 => Op::Claim(self.roll(WORKERS), self.roll(TASKS)),
            48..64 => {
                let pages = [0, 0, 1, 2][self.roll(4)];
                Op::Finish(self.roll(WORKERS), pages, self.roll(3) > 0)
            }
            64..68 => Op::Fail(self.roll(WORKERS)),
            68..71 => Op::Renew(self.roll(WORKERS)),
            71..75 => Op::Crash(self.roll(WORKERS)),
            75..83 => Op::Pass(self.roll(3) == 0),
            83..87 => Op::Sweep,
            87..91 => Op::Stop(self.roll(TASKS), self.roll(3), self.roll(2)),
            91..98 => Op::Resolve(self.roll(8), self.roll(3), self.roll(4)),
            98 => Op::Expire,
            _ => Op::Block(self.roll(DOMAINS), self.roll(2) == 0),
        }
    }

    /// In some histories workers crash or fall behind all the time, in others every page needs a
    /// human.
    fn life(&mut self) -> Vec<Op> {
        let (length, mood) = (1 + self.roll(LONGEST), self.roll(3));
        let op = |_| match (mood, self.roll(2)) {
            (1, 0) => match self.roll(10) {
                0..4 => Op::Claim(self.roll(WORKERS), self.roll(TASKS)),
                4..6 => Op::Pass(true),
                6..9 => Op::Sweep,
                _ => Op::Crash(self.roll(WORKERS)),
            },
            (2, 0) => match self.roll(10) {
                0..4 => Op::Claim(self.roll(WORKERS), self.roll(TASKS)),
                4..8 => Op::Finish(self.roll(WORKERS), 1 + self.roll(2), self.roll(3) > 0),
                8 => Op::Resolve(self.roll(8), self.roll(3), self.roll(4)),
                _ => Op::Expire,
            },
            _ => self.op(),
        };
        (0..length).map(op).collect()
    }
}

/// Runs a history in the file and in the model, and compares the two after every step. At the end,
/// all work that was begun is finished.
fn live(real: &mut Real, life: &[Op]) -> Result<(), String> {
    real.begin();
    let mut model = Model::new();
    for (step, op) in life.iter().enumerate() {
        real.apply(*op, &model);
        model.apply(*op);
        compare(real, &model).map_err(|e| format!("step {step}, {op:?}: {e}"))?;
    }
    bring_to_an_end(real, &mut model)?;
    real.end();
    Ok(())
}

fn compare(real: &Real, model: &Model) -> Result<(), String> {
    for task in 0..TASKS {
        let (is, ought) = (real.state(task), model.state(task));
        if is != ought {
            return Err(format!("task {task}\n   is {is}\nought {ought}"));
        }
    }
    model.check()
}

/// Resumes both tasks, answers every page and runs every worker: nothing may be left over.
fn bring_to_an_end(real: &mut Real, model: &mut Model) -> Result<(), String> {
    let mut steps = vec![Op::Block(0, false), Op::Block(1, false), Op::Pass(true)];
    steps.extend((0..WORKERS).map(Op::Crash));
    // A separate page, so that there is a reason to resume.
    steps.extend((0..TASKS).map(|task| Op::Queue(task, PAGES, 0)));
    for round in 0..200 {
        for op in std::mem::take(&mut steps) {
            real.apply(op, model);
            model.apply(op);
            compare(real, model).map_err(|e| format!("at the end, {op:?}: {e}"))?;
        }
        if model.is_at_rest() {
            return real.nothing_is_left(model);
        }
        steps.extend([Op::Sweep, Op::Resolve(0, 2, 3), Op::Resolve(1, 2, 3)]);
        steps.extend([Op::Claim(0, round % TASKS), Op::Finish(0, 0, false)]);
    }
    Err("work never ends".to_owned())
}

/// Removes from the history all events without which it still fails.
fn shortened(real: &mut Real, mut life: Vec<Op>) -> (Vec<Op>, String) {
    let fails = |real: &mut Real, life: &[Op]| live(real, life).err();
    let mut error = fails(real, &life).unwrap_or_default();
    let mut at = life.len();
    while at > 0 {
        at -= 1;
        let mut without = life.clone();
        without.remove(at);
        if let Some(still) = fails(real, &without) {
            (life, error) = (without, still);
        }
    }
    (life, error)
}

fn setting(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var_os(name).and_then(|value| value.to_str()?.parse().ok());
    given.unwrap_or(otherwise)
}

#[test]
fn tasks_live_as_the_model_says() {
    let (lives, seed) = (setting("LYRA_LIVES", 200), setting("LYRA_LIVES_SEED", 1));
    let mut real = Real::new();
    let mut steps = 0;
    for number in 0..lives {
        let life = SplitMix64(
            seed.wrapping_add(number)
                .wrapping_mul(0xD1B5_4A32_D192_ED03),
        )
        .life();
        steps += life.len();
        if live(&mut real, &life).is_err() {
            let (life, error) = shortened(&mut real, life);
            panic!("life {number} of seed {seed}: {error}\nof {life:?}");
        }
        if number % 100 == 99 {
            real.verify();
        }
    }
    real.verify();
    eprintln!("{lives} lives, {steps} steps: {:?}", real.seen());
    for end in [
        "completed",
        "failed",
        "cancelled",
        "given up",
        "page opened",
        "nobody came",
        "late worker",
    ] {
        assert!(
            lives < 200 || real.seen().contains_key(end),
            "no life had: {end}"
        );
    }
}
