//! Drives the real binary over standard input and output with raw JSON-RPC, as a client does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop where it stands"
)]
#![allow(clippy::too_many_lines, reason = "cases of a test are a table")]

mod app;
mod chaos;
mod cli;
mod client;
mod concurrency;
mod connector;
mod docs;
mod embedders;
mod feedback;
mod hostile;
#[cfg(target_os = "linux")]
mod hostile_documents;
mod http;
#[cfg(feature = "http")]
mod human;
mod init;
mod injection;
mod judgements;
mod judges;
mod kill_resume;
mod merge;
mod models;
mod pack;
mod privacy;
mod protocol;
mod read_only;
mod records;
#[cfg(feature = "http")]
mod replay;
mod research;
mod review;
mod search_while_written;
mod shell;
mod sql_and_views;
mod tools;
