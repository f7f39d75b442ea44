//! Lines of the interchange format: a file that is refused leaves nothing, and a graph that a file makes is
//! sound and makes the same graph again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyra_core::{Engine, EngineConfig};
use lyra_fuzz::shapes::{document, interchange};
use std::cell::RefCell;
use std::path::PathBuf;

struct Lab {
    runtime: tokio::runtime::Runtime,
    folder: PathBuf,
    empty: Engine,
}

thread_local! {
    static LAB: RefCell<Option<Lab>> = const { RefCell::new(None) };
}

fn graph(folder: &std::path::Path, name: &str) -> Engine {
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(folder.join(format!("{name}{ending}")));
    }
    Engine::open(EngineConfig::new(folder.join(name))).expect("a graph")
}

impl Lab {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("lyra-fuzz-import-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self {
            runtime: tokio::runtime::Builder::new_current_thread()
                .build()
                .expect("a runtime"),
            empty: graph(&folder, "a.db"),
            folder,
        }
    }

    fn check(&mut self, file: &[u8]) {
        let exported = |engine: &Engine| {
            let mut lines = Vec::new();
            engine.export_jsonl(&mut lines, None).expect("an export");
            String::from_utf8(lines).expect("UTF-8")
        };
        if let Err(error) = self.runtime.block_on(self.empty.import_jsonl(file)) {
            assert_eq!(
                error.kind(),
                lyra_core::ErrorKind::InvalidInput,
                "{error:?}"
            );
            assert_eq!(exported(&self.empty), "", "something of a bad file stays");
            return;
        }
        let first = exported(&self.empty);
        if first.is_empty() {
            return;
        }
        let report = self.empty.verify().expect("a look");
        assert!(report.ok, "{report:?}");
        let copy = graph(&self.folder, "b.db");
        self.runtime
            .block_on(copy.import_jsonl(first.as_bytes()))
            .expect("our own lines");
        assert_eq!(exported(&copy), first);
        let again = self.runtime.block_on(copy.import_jsonl(first.as_bytes()));
        assert_eq!(again.expect("our own lines").total_inserted, 0);
        drop(copy);
        self.empty = graph(&self.folder, "c.db");
        self.empty = graph(&self.folder, "a.db");
    }
}

fuzz_target!(|data: &[u8]| {
    let file = document(data, interchange);
    LAB.with_borrow_mut(|lab| lab.get_or_insert_with(Lab::new).check(&file));
});
