//! Enumerations. Each value has one name, used in the database, in JSON and in files.

use crate::error::Error;

/// Declares an enum whose variants each have one public name.
macro_rules! closed_set {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$vmeta])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The public name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(Error::invalid(format!("{text:?} is not one of {}", [$($text),+].join(", ")))),
                }
            }
        }

        impl rusqlite::types::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(rusqlite::types::ToSqlOutput::from(self.as_str()))
            }
        }

        impl rusqlite::types::FromSql for $name {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
                value.as_str()?.parse().map_err(|e: Error| rusqlite::types::FromSqlError::other(e))
            }
        }
    };
}

closed_set! {
    /// The relation that an edge states between its two ends.
    Relation {
        /// The claim was read in this fragment.
        Origin = "origin",
        /// The fragment makes the claim more credible.
        Supports = "supports",
        /// The fragment makes the claim less credible.
        Refutes = "refutes",
        /// The fragment was compared with the claim and neither supports nor refutes it.
        Neutral = "neutral",
        /// The page cites the other page.
        Cites = "cites",
    }
}

impl Relation {
    /// Whether this is the verdict of a stance judge (supports, refutes or neutral).
    pub const fn is_nli(self) -> bool {
        matches!(self, Self::Supports | Self::Refutes | Self::Neutral)
    }
}

closed_set! {
    /// The kind of node at the end of an edge.
    NodeKind {
        /// A claim.
        Claim = "claim",
        /// A fragment of a page's text.
        Fragment = "fragment",
        /// A page.
        Page = "page",
    }
}

closed_set! {
    /// A person's screening decision on a source.
    ScreeningDecision {
        /// The source belongs to the evidence of the task.
        Include = "include",
        /// The source does not belong to it.
        Exclude = "exclude",
    }
}

closed_set! {
    /// The status of a task.
    TaskStatus {
        /// Nothing was queued yet.
        Created = "created",
        /// Work is queued or running, or can be.
        Exploring = "exploring",
        /// Stopped; queueing targets resumes the task.
        Paused = "paused",
        /// Failed, with the reason in `error_message`.
        Failed = "failed",
    }
}

closed_set! {
    /// Kinds of background work.
    JobKind {
        /// Research one target (query, URL, DOI).
        TargetQueue = "target_queue",
        /// Judge claims against fragments of other sources.
        VerifyNli = "verify_nli",
        /// Turn references into `cites` edges.
        CitationGraph = "citation_graph",
        /// Fill in missing embeddings.
        Embed = "embed",
    }
}

impl JobKind {
    /// The default priority of a job; lower numbers run first.
    pub const fn default_priority(self) -> i64 {
        match self {
            Self::TargetQueue => 25,
            Self::Embed => 40,
            Self::VerifyNli => 45,
            Self::CitationGraph => 50,
        }
    }
}

closed_set! {
    /// The state of a job.
    JobState {
        /// Waits for a worker.
        Queued = "queued",
        /// A worker holds its lease.
        Running = "running",
        /// Waits for a human to pass a challenge.
        AwaitingAuth = "awaiting_auth",
        /// Done.
        Completed = "completed",
        /// Failed, with the reason in `error_message`.
        Failed = "failed",
        /// Cancelled before it was done.
        Cancelled = "cancelled",
    }
}

closed_set! {
    /// The urgency that a client gives its targets.
    Priority {
        /// Before the others.
        High = "high",
        /// The usual.
        Medium = "medium",
        /// When no other target waits.
        Low = "low",
    }
}

impl Priority {
    /// The number by which the queue is sorted; lower numbers run first.
    pub const fn value(self) -> i64 {
        match self {
            Self::High => 10,
            Self::Medium => 50,
            Self::Low => 90,
        }
    }
}

closed_set! {
    /// The status of a search.
    QueryStatus {
        /// Running.
        Running = "running",
        /// Enough independent sources.
        Satisfied = "satisfied",
        /// Some sources, but not enough.
        Partial = "partial",
        /// No new results, or no results at all.
        Exhausted = "exhausted",
        /// Every provider failed.
        Failed = "failed",
        /// The time budget ran out.
        Timeout = "timeout",
    }
}

closed_set! {
    /// The kind of statement that a claim makes.
    ClaimType {
        /// Something that can be verified.
        Fact = "fact",
        /// A judgement.
        Opinion = "opinion",
        /// Something about the future.
        Prediction = "prediction",
    }
}

closed_set! {
    /// Whether a claim is counted.
    AdoptionStatus {
        /// It is counted.
        Adopted = "adopted",
        /// A human rejected it: it leaves views, search and verification.
        NotAdopted = "not_adopted",
    }
}

closed_set! {
    /// The kind of document part that a fragment is.
    FragmentType {
        /// Running text.
        Paragraph = "paragraph",
        /// A heading.
        Heading = "heading",
        /// A list or list item.
        List = "list",
        /// A table, one row per line.
        Table = "table",
        /// A block quotation.
        Quote = "quote",
        /// A figure's caption.
        Figure = "figure",
        /// Program text.
        Code = "code",
        /// An abstract.
        Abstract = "abstract",
    }
}

closed_set! {
    /// The kind of object that an embedding belongs to.
    EmbeddingTarget {
        /// A fragment.
        Fragment = "fragment",
        /// A claim.
        Claim = "claim",
    }
}

closed_set! {
    /// Why a page belongs to a task.
    TaskPageReason {
        /// A search of local documents or of the web found it.
        Search = "search",
        /// A search of a catalogue of scholarly works found it.
        AcademicApi = "academic_api",
        /// A page of the task cites it.
        CitationChase = "citation_chase",
        /// The user asked for it.
        Manual = "manual",
    }
}
