//! Connects all modules: the handle that programs, the server and the Python module use.

mod audit;
mod check;
mod config;
mod doctor;
mod explore;
mod feedback;
mod handle;
mod judgements;
mod life;
#[cfg(feature = "parquet")]
mod parquet;
mod record;
mod review;
mod stages;
mod views;
mod wait;
mod waiters;
mod wiring;

pub use config::{EngineConfig, ModelReport};
pub use doctor::DoctorCheck;
pub use explore::{ViewColumns, ViewReply, ViewRequest};
pub use handle::Engine;
#[cfg(feature = "parquet")]
pub use parquet::ParquetOptions;
pub use stages::{ReadOutcome, ReadProblem, ReadRequest, ReadSource, Stages};
