//! Converts positions in a draft to lines and columns.

/// Converts positions in the draft to line and column, both from 1.
pub(super) struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    pub(super) fn of(text: &str) -> Self {
        let breaks = text.chars().enumerate().filter(|(_, c)| *c == '\n');
        let mut starts = vec![0];
        starts.extend(breaks.map(|(at, _)| at + 1));
        Self { starts }
    }

    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= at);
        (line, at - self.starts[line - 1] + 1)
    }
}
