//! Pure functions over text: addresses, identifiers, segments, tokens, hashes.
