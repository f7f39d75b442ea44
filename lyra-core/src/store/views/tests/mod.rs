//! The built-in views on a real schema: reference answers, hand-checked rows, random graphs recomputed
//! naively, query plans, hostile values, and the headers.

mod catalog;
mod fixture;
mod golden;
mod naive;
mod plans;
mod random;
