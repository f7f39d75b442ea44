//! Vectors of length 1, as the embedder port requires.

/// Normalises a vector to length 1; returns false if that is impossible (zeros, or not finite), and
/// leaves the vector unchanged.
///
/// ```
/// let mut vector = [3.0, 4.0];
/// assert!(lyra_core::models::normalise(&mut vector));
/// assert_eq!(vector, [0.6, 0.8]);
/// ```
pub fn normalise(vector: &mut [f32]) -> bool {
    let squares: f64 = vector.iter().map(|v| f64::from(*v).powi(2)).sum();
    if !squares.is_finite() || squares <= 0.0 {
        return false;
    }
    let length = squares.sqrt();
    for value in vector {
        #[allow(clippy::cast_possible_truncation, reason = "a value of a unit vector")]
        let scaled = (f64::from(*value) / length) as f32;
        *value = scaled;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_direction_is_not_normalised() {
        let mut vector = [3.0, 4.0];
        assert!(normalise(&mut vector));
        assert_eq!(vector, [0.6, 0.8]);
        for mut bad in [[0.0, 0.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0]] {
            assert!(!normalise(&mut bad));
        }
        // A very small or very large vector keeps its direction.
        for scale in [1e-30_f32, 1e30] {
            let mut vector = [3.0 * scale, 4.0 * scale];
            assert!(normalise(&mut vector));
            assert!((vector[0] - 0.6).abs() < 1e-6);
        }
    }
}
