//! Stopping a task whose job hangs on a slow web server: three modes, two scopes, from the process
//! that runs the job and from another; and going on afterwards.

use lyra_core::ports::ManualClock;
use lyra_core::{
    Engine, EngineConfig, QueueOptions, StatusDetail, StopMode, StopReport, StopRequest, StopScope,
    TaskConfig,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A site whose pages under /slow come when it is told to send them, and not before.
struct SlowSite {
    address: SocketAddr,
    release: watch::Sender<bool>,
}

impl SlowSite {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (release, released) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, released.clone()));
            }
        });
        Self { address, release }
    }

    fn url(&self, path: &str) -> serde_json::Value {
        format!("http://{}{path}", self.address).into()
    }
}

async fn answer(mut stream: TcpStream, mut released: watch::Receiver<bool>) {
    let mut head = [0; 4096];
    let length = stream.read(&mut head).await.unwrap_or(0);
    let head = String::from_utf8_lossy(&head[..length]).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    if path.starts_with("/slow") && released.wait_for(|go| *go).await.is_err() {
        return;
    }
    let (status, body) = match path {
        "/robots.txt" => ("404 Not Found", String::new()),
        "/closed" => (
            "401 Unauthorized",
            "<html><body>Log in.</body></html>".to_owned(),
        ),
        _ => ("200 OK", page(path)),
    };
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(reply.as_bytes()).await;
}

fn page(path: &str) -> String {
    let text = "Coffee drinkers were followed for ten years. In this cohort coffee increased blood \
                pressure by three millimetres of mercury. The result was the same in men and women.";
    format!(
        "<html><head><title>{path}</title></head><body><article><h1>{path}</h1><p>{text} {text}</p><p>Its authors call it {path}.</p></article></body></html>"
    )
}

/// Counts by kind and state: targets, verification, citations; of each queued, running, completed,
/// failed.
type Phases = [[usize; 4]; 3];

struct Stage {
    site: SlowSite,
    /// Runs the jobs, one at a time.
    works: Engine,
    /// Another handle on the same file, which knows nothing of the first.
    looks_on: Engine,
    task: String,
    _folder: tempfile::TempDir,
}

impl Stage {
    /// One page is read, its verification and citations wait; one page hangs, one waits.
    async fn new(patience: Duration) -> Self {
        let site = SlowSite::new().await;
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let mut config = EngineConfig::new(folder.path().join("g.db"));
            config.allow_private_hosts = true;
            config.workers = 1;
            config.stop_patience = patience;
            Engine::open(config).unwrap()
        };
        let (works, looks_on) = (open(), open());
        let task = works
            .create_task("Coffee increases blood pressure", TaskConfig::default())
            .unwrap();
        let urgent = QueueOptions {
            priority: lyra_core::store::model::Priority::High,
            ..QueueOptions::default()
        };
        let pages = ["/quick", "/slow/1", "/slow/2"].map(|path| site.url(path));
        works.queue_targets(&task.id, &pages, &urgent).unwrap();
        let _ = works.start_workers(Arc::new(|error| panic!("{error}")));
        let stage = Self {
            site,
            works,
            looks_on,
            task: task.id,
            _folder: folder,
        };
        stage
            .reach([[1, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
            .await;
        stage
    }

    fn phases(&self) -> Phases {
        let status = self.works.status(&self.task, StatusDetail::Summary);
        let phases = status.unwrap().progress.jobs_by_phase;
        [phases.exploration, phases.verification, phases.citation]
            .map(|c| [c.queued, c.running, c.completed, c.failed])
    }

    async fn reach(&self, wanted: Phases) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.phases() != wanted {
            assert!(Instant::now() < end, "{:?}, not {wanted:?}", self.phases());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn stop(&self, mode: StopMode, scope: StopScope, by: &Engine) -> (StopReport, Duration) {
        let began = Instant::now();
        let request = StopRequest {
            mode,
            scope,
            ..StopRequest::default()
        };
        let report = by.stop_task(&self.task, &request).await.unwrap();
        assert_eq!(report.final_status.as_str(), "paused");
        let status = self
            .works
            .status(&self.task, StatusDetail::Summary)
            .unwrap();
        assert_eq!(status.status.as_str(), "paused");
        (report, began.elapsed())
    }

    /// The server comes back to life and the task is resumed: everything is done, once.
    async fn resume(&self, already_read: usize) {
        let _ = self.site.release.send(true);
        let pages = ["/slow/1", "/slow/2"].map(|path| self.site.url(path));
        let report = self
            .looks_on
            .queue_targets(&self.task, &pages, &QueueOptions::default());
        assert_eq!(report.unwrap().queued_count, 2 - already_read);
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let status = self.works.status(&self.task, StatusDetail::Full).unwrap();
            assert_eq!(status.status.as_str(), "exploring");
            if status.waiting_for.is_empty() {
                assert_eq!(status.metrics.total_pages, 3);
                assert_eq!(status.recent_errors, Some(Vec::new()));
                assert!(status.milestones.citation_chase_ready);
                break;
            }
            assert!(Instant::now() < end, "{status:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let verified = self.works.verify().unwrap();
        assert!(verified.ok, "{verified:?}");
    }
}

/// (cancelled, still running) of targets, verification, citations; none if out of scope.
fn counts(report: &StopReport) -> [Option<(usize, usize)>; 3] {
    ["target_queue", "verify_nli", "citation_graph"]
        .map(|kind| report.jobs.get(kind).map(|c| (c.cancelled, c.running)))
}

async fn check(mode: StopMode, scope: StopScope, from_elsewhere: bool) {
    let name = format!("{mode:?} {scope:?} from elsewhere: {from_elsewhere}");
    let patience = match mode {
        StopMode::Graceful => Duration::from_secs(1),
        _ => Duration::from_secs(60),
    };
    let stage = Stage::new(patience).await;
    let by = match from_elsewhere {
        true => &stage.looks_on,
        false => &stage.works,
    };
    let (report, took) = stage.stop(mode, scope, by).await;
    let [targets, verification, citations] = counts(&report);
    let (cancelled, running) = targets.unwrap();
    match mode {
        StopMode::Graceful => {
            assert_eq!((cancelled, running), (1, 1), "{name}: {report:?}");
            assert!(took >= patience, "{name}: {took:?}");
            assert!(
                report.summary.contains("1 still running after 1 s"),
                "{name}: {report:?}"
            );
        }
        StopMode::Immediate => {
            assert_eq!(cancelled, 2, "{name}: {report:?}");
            assert!(took < Duration::from_secs(10), "{name}: {took:?}");
        }
        StopMode::Full => {
            assert_eq!((cancelled, running), (2, 0), "{name}: {report:?}");
            assert!(took < Duration::from_secs(20), "{name}: {took:?}");
            assert!(
                report.summary.contains("none still running"),
                "{name}: {report:?}"
            );
        }
    }
    let is_left_running = mode == StopMode::Graceful;
    let targets = [0, usize::from(is_left_running), 1, 0];
    match scope {
        StopScope::AllJobs => {
            assert_eq!(
                (verification, citations),
                (Some((1, 0)), Some((1, 0))),
                "{name}"
            );
            stage.reach([targets, [0; 4], [0; 4]]).await;
        }
        StopScope::TargetQueueOnly => {
            assert_eq!((verification, citations), (None, None), "{name}");
            // They go on as soon as a worker is free.
            if !is_left_running {
                stage.reach([targets, [0, 0, 1, 0], [0, 0, 1, 0]]).await;
            }
        }
    }
    if is_left_running {
        // The job that was left running ends in its own time; nothing follows what was stopped.
        let _ = stage.site.release.send(true);
        let end = Instant::now() + Duration::from_secs(60);
        while stage.phases()[0] != [0, 0, 2, 0] {
            assert!(Instant::now() < end, "{name}: {:?}", stage.phases());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if scope == StopScope::AllJobs {
            assert_eq!(stage.phases()[1..], [[0; 4], [0; 4]], "{name}");
        }
    }
    stage.resume(usize::from(is_left_running)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_mode_and_scope_stops_what_it_says_and_can_be_resumed() {
    let mut checks = JoinSet::new();
    for mode in [StopMode::Graceful, StopMode::Immediate, StopMode::Full] {
        for scope in [StopScope::AllJobs, StopScope::TargetQueueOnly] {
            for from_elsewhere in [false, true] {
                checks.spawn(check(mode, scope, from_elsewhere));
            }
        }
    }
    while let Some(checked) = checks.join_next().await {
        checked.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graceful_stop_lets_a_job_finish_and_returns_when_it_has() {
    let stage = Stage::new(Duration::from_secs(60)).await;
    let release = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let _ = stage.site.release.send(true);
    };
    let stop = stage.stop(StopMode::Graceful, StopScope::AllJobs, &stage.looks_on);
    let ((report, took), ()) = tokio::join!(stop, release);
    assert_eq!(counts(&report), [Some((1, 0)), Some((1, 0)), Some((1, 0))]);
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert!(report.summary.contains("none still running"), "{report:?}");
    assert_eq!(stage.phases(), [[0, 0, 2, 0], [0; 4], [0; 4]]);
    stage.resume(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_nobody_opens_is_given_up_by_the_next_run() {
    let (site, folder) = (SlowSite::new().await, tempfile::tempdir().unwrap());
    let clock = Arc::new(ManualClock::new(1_700_000_000_000));
    let mut config = EngineConfig::new(folder.path().join("g.db"));
    config.allow_private_hosts = true;
    config.clock = Arc::clone(&clock) as _;
    let engine = Engine::open(config).unwrap();
    let task = engine
        .create_task("Coffee increases blood pressure", TaskConfig::default())
        .unwrap();
    let targets = [site.url("/closed")];
    let options = QueueOptions::default();
    engine.queue_targets(&task.id, &targets, &options).unwrap();
    let status = engine.run(&task.id, None).await.unwrap();
    assert_eq!(status.pending_auth_count, 1, "{status:?}");
    assert!(!status.milestones.target_queue_drained);
    clock.advance(25 * 60 * 60 * 1_000);
    let status = engine.run(&task.id, None).await.unwrap();
    assert_eq!(status.pending_auth_count, 0, "{status:?}");
    assert_eq!(status.progress.jobs_by_phase.exploration.failed, 1);
    assert!(status.milestones.citation_chase_ready);
    let status = engine.status(&task.id, StatusDetail::Full).unwrap();
    let errors = status.recent_errors.unwrap();
    assert!(
        errors[0].error.starts_with("nobody passed the login gate"),
        "{errors:?}"
    );
}
