//! Combines the vectors of a text's tokens into one vector.

/// How the vectors of a text's tokens are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// Their mean.
    Mean,
    /// The first one.
    Cls,
    /// The greatest value in each dimension.
    Max,
    /// The last one that is not padding.
    LastToken,
}

impl Pooling {
    /// Pools the first `tokens` rows of `rows`, each of `width` values; the rest is padding.
    pub(super) fn pool(self, rows: &[f32], width: usize, tokens: usize) -> Vec<f32> {
        let mut used = rows.chunks_exact(width).take(tokens);
        let copy = |row: Option<&[f32]>| row.map_or_else(|| vec![0.0; width], <[f32]>::to_vec);
        match self {
            Self::Cls => copy(used.next()),
            Self::LastToken => copy(used.next_back()),
            Self::Max => {
                let mut most = copy(used.next());
                for row in used {
                    most.iter_mut().zip(row).for_each(|(m, v)| *m = m.max(*v));
                }
                most
            }
            // The length of the sum does not matter: the vector is brought to length 1 afterwards.
            Self::Mean => {
                let mut sum = copy(used.next());
                for row in used {
                    sum.iter_mut().zip(row).for_each(|(s, v)| *s += v);
                }
                sum
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_has_no_part_in_a_vector() {
        let rows = [1.0, -5.0, 3.0, 1.0, 99.0, 99.0];
        for (pooling, tokens, expected) in [
            (Pooling::Mean, 2, [4.0, -4.0]),
            (Pooling::Cls, 2, [1.0, -5.0]),
            (Pooling::Max, 2, [3.0, 1.0]),
            (Pooling::LastToken, 2, [3.0, 1.0]),
            (Pooling::LastToken, 1, [1.0, -5.0]),
            (Pooling::Max, 1, [1.0, -5.0]),
            (Pooling::Mean, 0, [0.0, 0.0]),
        ] {
            assert_eq!(
                pooling.pool(&rows, 2, tokens),
                expected,
                "{pooling:?} {tokens}"
            );
        }
    }
}
