//! Scoring, fusing and cutting ranked lists.
