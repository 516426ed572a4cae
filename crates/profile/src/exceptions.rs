//! Arcs that C++ exceptions add. Every call that may throw ends a block with two arcs, "returned"
//! and "threw"; `(N, 0)` on such a pair is no condition and no candidate.

/// One arc as a line-based format lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedArc {
    /// Times taken; `None`: never reached.
    pub(crate) taken: Option<u64>,
    /// The format marks it as the way of an exception.
    pub(crate) throws: bool,
}

/// The counts of `arcs` without both halves of each throw pair.
///
/// The formats list pairs side by side but do not link them. A list that does not fall into pairs
/// cannot be told apart, so nothing of it is kept: unknown is better than a guess.
pub(crate) fn without_throw_pairs(arcs: &[ListedArc]) -> Vec<Option<u64>> {
    if !arcs.iter().any(|a| a.throws) {
        return arcs.iter().map(|a| a.taken).collect();
    }
    let mut kept = Vec::new();
    for pair in arcs.chunks(2) {
        match pair {
            [a, b] if !a.throws && !b.throws => kept.extend([a.taken, b.taken]),
            [a, b] if a.throws != b.throws => {}
            _ => return Vec::new(),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arc(taken: u64, throws: bool) -> ListedArc {
        ListedArc { taken: Some(taken), throws }
    }

    #[test]
    fn both_halves_of_a_throw_pair_go() {
        let (n, t) = (false, true);
        assert_eq!(without_throw_pairs(&[arc(9, n), arc(0, t)]), []);
        assert_eq!(without_throw_pairs(&[arc(0, t), arc(9, n)]), []);
        assert_eq!(
            without_throw_pairs(&[arc(3, n), arc(4, n), arc(7, n), arc(0, t)]),
            [Some(3), Some(4)]
        );
    }

    #[test]
    fn a_list_that_does_not_pair_is_unknown() {
        assert_eq!(without_throw_pairs(&[arc(1, false), arc(2, false), arc(0, true)]), []);
        assert_eq!(without_throw_pairs(&[arc(0, true), arc(0, true)]), []);
    }
}
