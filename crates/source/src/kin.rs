//! Who stands beside whom in a syntax tree.
//!
//! The tree itself finds a node's parent and neighbours by searching from the root, which is
//! quadratic over a long function. Here one pass notes them for all nodes.

use std::collections::HashMap;

use tree_sitter::Node;

/// Parents and neighbours of the named nodes of one tree.
pub(crate) struct Kin<'n> {
    of: HashMap<usize, Place<'n>>,
}

#[derive(Clone, Copy)]
struct Place<'n> {
    parent: Node<'n>,
    previous: Option<Node<'n>>,
    next: Option<Node<'n>>,
    /// The parent's last child.
    last: Node<'n>,
}

impl<'n> Kin<'n> {
    /// Notes all nodes below `root`.
    pub(crate) fn new(root: Node<'n>) -> Self {
        let mut of = HashMap::new();
        let mut todo = vec![root];
        while let Some(parent) = todo.pop() {
            let mut cursor = parent.walk();
            let children: Vec<Node> = parent.named_children(&mut cursor).collect();
            let Some(last) = children.last().copied() else { continue };
            for (i, child) in children.iter().enumerate() {
                let previous = i.checked_sub(1).map(|p| children[p]);
                let next = children.get(i + 1).copied();
                of.insert(child.id(), Place { parent, previous, next, last });
            }
            todo.extend(children);
        }
        Self { of }
    }

    pub(crate) fn parent(&self, node: Node) -> Option<Node<'n>> {
        self.of.get(&node.id()).map(|p| p.parent)
    }

    /// The nearest node before it that is no comment.
    pub(crate) fn previous(&self, node: Node) -> Option<Node<'n>> {
        self.beside(node, |place| place.previous)
    }

    /// The nearest node after it that is no comment.
    pub(crate) fn next(&self, node: Node) -> Option<Node<'n>> {
        self.beside(node, |place| place.next)
    }

    /// The last of a node and its neighbours, comments included.
    pub(crate) fn last(&self, node: Node) -> Option<Node<'n>> {
        self.of.get(&node.id()).map(|p| p.last)
    }

    fn beside(
        &self,
        node: Node,
        step: impl Fn(&Place<'n>) -> Option<Node<'n>>,
    ) -> Option<Node<'n>> {
        let mut at = self.of.get(&node.id()).and_then(&step);
        while let Some(comment) = at.filter(|n| n.kind() == "comment") {
            at = self.of.get(&comment.id()).and_then(&step);
        }
        at
    }
}
