//! What functions take over the whole call graph: a kernel's descriptor counts what everything below it takes.
//!
//! Registers are the most of any function that may run, stack is the most along any chain of calls. Functions that call each other are one node
//! of the graph (strongly connected components, found without recursion), whose stack has no bound: it counts once, plus what is
//! assumed for it, and the kernel's metadata says that its stack is dynamic. So does a call of what nobody knows.
//!
//! A compiler asks for the functions of a module, where what other objects define is not known; a linker for those of the program. What it
//! needs for that is in a section of the objects, [`RESOURCES_SECTION`], a list of [`Node`]s in MessagePack, for objects whose kernels call what
//! they do not define, or that define what others may call.
//!
//! Cost: linear in functions and calls.
//!
//! Source: AMDGPU usage guide, `.uses_dynamic_stack`; the sizes that llc assumes.

use crate::{Diagnostic, Result};
use serde::{Deserialize, Serialize};

/// Name of the section of an object that holds what its functions take; not part of linked objects (`SHF_EXCLUDE`).
pub const RESOURCES_SECTION: &str = ".gcnc.resources";

/// Stack bytes assumed where a bound is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assumed {
    /// For a call of an unknown function, and for a recursion.
    pub call_bytes: u32,
    /// For objects of variable size of a function.
    pub object_bytes: u32,
}

impl Assumed {
    /// What serves most programs, where nobody adds to it.
    pub const STATIC: Self = Self { call_bytes: 16384, object_bytes: 4096 };
    /// Nothing: the runtime adds its own limit where the descriptor says that the stack is dynamic.
    pub const BY_RUNTIME: Self = Self { call_bytes: 0, object_bytes: 0 };

    /// What code objects of `version` count on amdhsa. Source: usage guide, `.uses_dynamic_stack` (V5 and later).
    pub fn of_version(version: u8) -> Self {
        if version >= 5 { Self::BY_RUNTIME } else { Self::STATIC }
    }
}

/// What the user wants assumed in place of [`Assumed::of_version`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AssumedWish {
    /// For a call of an unknown function, and for a recursion, in bytes.
    pub call_bytes: Option<u32>,
    /// For objects of variable size of a function, in bytes.
    pub object_bytes: Option<u32>,
}

impl AssumedWish {
    /// `usual` where nothing else is wanted.
    pub fn or(self, usual: Assumed) -> Assumed {
        Assumed {
            call_bytes: self.call_bytes.unwrap_or(usual.call_bytes),
            object_bytes: self.object_bytes.unwrap_or(usual.object_bytes),
        }
    }
}

/// Most stack bytes that the largest frame of the program adds to that.
const MAX_KNOWN_BYTES: u32 = 65536;
/// VGPRs that a callee which is not known may take: what is left to each of 1024 work-items, LLVM's default for functions. Of SGPRs it may take all.
const ASSUMED_VGPRS: u32 = 64;

/// Whom a function calls.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Callee {
    /// A node of the same list.
    Node(u32),
    /// Another object's function.
    Symbol(String),
    /// It cannot be told.
    Unknown,
}

/// What a function itself takes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Node {
    /// Its symbol; empty where other objects cannot name it.
    pub symbol: String,
    /// Nobody calls it.
    pub is_kernel: bool,
    /// Numbered SGPRs, VGPRs.
    pub sgprs: u32,
    /// VGPRs.
    pub vgprs: u32,
    /// Whether VCC is used.
    pub vcc: bool,
    /// Whether FLAT_SCRATCH is set up or used.
    pub flat_scratch: bool,
    /// Stack bytes of its frame.
    pub frame_bytes: u32,
    /// Stack bytes of the arguments that it passes, where its callees do not count them.
    pub argument_bytes: u32,
    /// Whether its frame has objects whose size is not known.
    pub dynamic_frame: bool,
    /// LDS bytes.
    pub lds_bytes: u32,
    /// Whom it calls, in any order.
    pub callees: Vec<Callee>,
}

/// What a function and everything that it calls takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Need {
    /// Numbered SGPRs.
    pub sgprs: u32,
    /// VGPRs.
    pub vgprs: u32,
    /// Whether VCC is used.
    pub vcc: bool,
    /// Whether FLAT_SCRATCH is set up or used.
    pub flat_scratch: bool,
    /// Stack bytes along the deepest chain of calls.
    pub stack_bytes: u32,
    /// Something below has no known bound.
    pub dynamic: bool,
    /// LDS bytes.
    pub lds_bytes: u32,
}

impl Need {
    fn join(&mut self, other: &Self) {
        self.sgprs = self.sgprs.max(other.sgprs);
        self.vgprs = self.vgprs.max(other.vgprs);
        self.vcc |= other.vcc;
        self.flat_scratch |= other.flat_scratch;
        self.stack_bytes = self.stack_bytes.max(other.stack_bytes);
        self.dynamic |= other.dynamic;
        self.lds_bytes = self.lds_bytes.max(other.lds_bytes);
    }

    /// Of the function alone, without its stack.
    fn of(node: &Node) -> Self {
        Self {
            sgprs: node.sgprs,
            vgprs: node.vgprs,
            vcc: node.vcc,
            flat_scratch: node.flat_scratch,
            stack_bytes: 0,
            dynamic: false,
            lds_bytes: node.lds_bytes,
        }
    }

    /// What is assumed of a callee that nobody knows: as much as any function of `nodes`, and what the convention lets it change.
    fn unknown(nodes: &[Node], numbered_sgprs: u32, assumed: Assumed) -> Self {
        let mut need = Self::default();
        let mut largest = 0;
        for node in nodes.iter().filter(|node| !node.is_kernel) {
            need.join(&Self { lds_bytes: 0, ..Self::of(node) });
            largest = largest.max(node.frame_bytes);
        }
        // A call through a pointer is most likely one of a function of this program.
        let largest = largest.min(MAX_KNOWN_BYTES);
        let more = if largest > assumed.call_bytes / 4 { largest } else { 0 };
        Self {
            sgprs: numbered_sgprs,
            vgprs: need.vgprs.max(ASSUMED_VGPRS),
            vcc: true,
            flat_scratch: true,
            stack_bytes: if assumed.call_bytes == 0 { 0 } else { assumed.call_bytes + more },
            dynamic: true,
            lds_bytes: 0,
        }
    }
}

/// [`needs_with`] what is assumed where nobody adds to it.
pub fn needs(nodes: &[Node], numbered_sgprs: u32) -> Vec<Need> {
    needs_with(nodes, numbered_sgprs, Assumed::STATIC)
}

/// What each of `nodes` takes with all below it. `numbered_sgprs` are those of the processor, `assumed` stands for stacks without a bound.
///
/// Every [`Callee::Node`] is an index of `nodes`; symbols count as unknown.
pub fn needs_with(nodes: &[Node], numbered_sgprs: u32, assumed: Assumed) -> Vec<Need> {
    let unknown = Need::unknown(nodes, numbered_sgprs, assumed);
    let edges: Vec<Vec<u32>> = nodes
        .iter()
        .map(|node| {
            let known = |callee: &Callee| match *callee {
                Callee::Node(index) if (index as usize) < nodes.len() => Some(index),
                _ => None,
            };
            node.callees.iter().filter_map(known).collect()
        })
        .collect();
    let mut needs: Vec<Need> = vec![Need::default(); nodes.len()];
    let mut component_of = vec![u32::MAX; nodes.len()];
    for (id, component) in components(&edges).into_iter().enumerate() {
        component.iter().for_each(|&member| component_of[member as usize] = id as u32);
        let mut all = Need::default();
        let mut own_stack = 0u32;
        let mut cyclic = component.len() > 1;
        for &member in &component {
            let node = &nodes[member as usize];
            own_stack = own_stack.saturating_add(node.frame_bytes);
            all.join(&Need::of(node));
            if node.dynamic_frame {
                own_stack = own_stack.saturating_add(assumed.object_bytes);
                all.dynamic = true;
            }
            // Arguments are stored whether or not the callee, which counts them to its frame, reads them.
            all.stack_bytes = all.stack_bytes.max(node.argument_bytes);
            for &callee in &edges[member as usize] {
                cyclic |= callee == member;
                if component_of[callee as usize] != id as u32 {
                    all.join(&needs[callee as usize]);
                }
            }
            if edges[member as usize].len() < node.callees.len() {
                all.join(&unknown);
            }
        }
        if cyclic {
            own_stack = own_stack.saturating_add(assumed.call_bytes);
            all.dynamic = true;
        }
        all.stack_bytes = all.stack_bytes.saturating_add(own_stack);
        for member in component {
            needs[member as usize] = all;
        }
    }
    needs
}

/// The contents of [`RESOURCES_SECTION`].
pub fn to_bytes(nodes: &[Node]) -> Result<Vec<u8>> {
    rmp_serde::to_vec(nodes).map_err(|e| Diagnostic::defect(format!("cannot write resources: {e}")))
}

/// Reads the contents of [`RESOURCES_SECTION`]: one list, or several where a linker that does not know the section has joined objects.
///
/// # Errors
/// Bytes that are none, or callees that are no node ([`crate::ErrorKind::Malformed`]).
pub fn from_bytes(bytes: &[u8]) -> Result<Vec<Node>> {
    let bad = |why: &dyn std::fmt::Display| {
        Diagnostic::malformed(format!("{RESOURCES_SECTION} is unreadable: {why}"))
    };
    let mut rest = bytes;
    let mut nodes: Vec<Node> = Vec::new();
    loop {
        let mut list: Vec<Node> = rmp_serde::from_read(&mut rest).map_err(|e| bad(&e))?;
        let (base, count) = (nodes.len() as u32, list.len() as u32);
        for callee in list.iter_mut().flat_map(|node| &mut node.callees) {
            match callee {
                Callee::Node(index) if *index < count => *index += base,
                Callee::Node(_) => return Err(bad(&"a callee that is not listed")),
                Callee::Symbol(_) | Callee::Unknown => {}
            }
        }
        nodes.extend(list);
        if rest.is_empty() {
            return Ok(nodes);
        }
    }
}

/// Strongly connected components of a graph, each after all that it leads to. Source: R. Tarjan, 1972, with a stack of its own.
pub fn components(edges: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const NEW: u32 = u32::MAX;
    let mut number = vec![NEW; edges.len()];
    let mut low = vec![0u32; edges.len()];
    let mut open = vec![false; edges.len()];
    let mut stack: Vec<u32> = Vec::new();
    let mut out = Vec::new();
    let mut next = 0;
    for root in 0..edges.len() as u32 {
        if number[root as usize] != NEW {
            continue;
        }
        let mut walk: Vec<(u32, usize)> = vec![(root, 0)];
        while let Some((node, at)) = walk.last_mut() {
            let n = *node as usize;
            if *at == 0 {
                number[n] = next;
                low[n] = next;
                next += 1;
                open[n] = true;
                stack.push(*node);
            }
            if let Some(&to) = edges[n].get(*at) {
                *at += 1;
                let t = to as usize;
                if number[t] == NEW {
                    walk.push((to, 0));
                } else if open[t] {
                    low[n] = low[n].min(number[t]);
                }
                continue;
            }
            let node = *node;
            walk.pop();
            if let Some(&(parent, _)) = walk.last() {
                low[parent as usize] = low[parent as usize].min(low[n]);
            }
            if low[n] == number[n] {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    open[member as usize] = false;
                    component.push(member);
                    if member == node {
                        break;
                    }
                }
                out.push(component);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_come_after_what_they_lead_to() {
        // 0 -> 1 <-> 2 -> 3, 3 -> 3, 4 alone.
        let edges = vec![vec![1], vec![2], vec![1, 3], vec![3], vec![]];
        let mut found = components(&edges);
        found.iter_mut().for_each(|c| c.sort_unstable());
        assert_eq!(found, [vec![3], vec![1, 2], vec![0], vec![4]]);
    }

    fn node(frame_bytes: u32, vgprs: u32, callees: &[Callee]) -> Node {
        Node { frame_bytes, vgprs, callees: callees.to_vec(), ..Node::default() }
    }

    #[test]
    fn registers_are_the_most_and_stack_adds_up() {
        let call = |index| Callee::Node(index);
        let nodes = [node(16, 4, &[call(1), call(2)]), node(32, 40, &[]), node(64, 8, &[])];
        let needs = needs(&nodes, 100);
        assert_eq!((needs[0].stack_bytes, needs[0].vgprs, needs[0].dynamic), (80, 40, false));
        assert_eq!((needs[2].stack_bytes, needs[2].vgprs), (64, 8));
    }

    #[test]
    fn what_is_not_known_is_assumed() {
        let nodes = [node(16, 4, &[Callee::Symbol("f".into())]), node(8, 80, &[Callee::Node(1)])];
        let by_runtime = needs_with(&nodes, 100, Assumed::BY_RUNTIME);
        assert_eq!(
            by_runtime.iter().map(|n| (n.stack_bytes, n.dynamic)).collect::<Vec<_>>(),
            [(16, true), (8, true)]
        );
        let needs = needs(&nodes, 100);
        assert_eq!(
            (needs[0].stack_bytes, needs[0].vgprs, needs[0].sgprs),
            (16 + Assumed::STATIC.call_bytes, 80, 100)
        );
        assert_eq!((needs[1].stack_bytes, needs[1].dynamic), (8 + Assumed::STATIC.call_bytes, true));
        assert!(needs[0].dynamic && needs[0].vcc && needs[0].flat_scratch);
    }

    #[test]
    fn sections_read_back() {
        let nodes = vec![
            node(16, 4, &[Callee::Symbol("f".into()), Callee::Unknown]),
            node(8, 80, &[Callee::Node(0)]),
        ];
        assert_eq!(from_bytes(&to_bytes(&nodes).expect("writable")), Ok(nodes));
        let wrong = vec![node(1, 1, &[Callee::Node(7)])];
        assert!(from_bytes(&to_bytes(&wrong).expect("writable")).is_err());
        assert!(from_bytes(&[0xc1]).is_err());
    }

    #[test]
    fn lists_behind_each_other_are_one() {
        let first = vec![node(16, 4, &[Callee::Node(1)]), node(8, 80, &[])];
        let second = vec![node(4, 3, &[Callee::Symbol("f".into()), Callee::Node(0)])];
        let bytes = |nodes: &[Node]| to_bytes(nodes).expect("writable");
        let both = [bytes(&first), bytes(&second)].concat();
        let moved = node(4, 3, &[Callee::Symbol("f".into()), Callee::Node(2)]);
        assert_eq!(from_bytes(&both), Ok(vec![first[0].clone(), first[1].clone(), moved]));
        assert!(from_bytes(&[both.as_slice(), &[0xc1]].concat()).is_err());
        // An index counts from its own list, and may not leave it.
        let outside = bytes(&[node(1, 1, &[Callee::Node(1)])]);
        assert!(from_bytes(&[bytes(&first), outside].concat()).is_err());
    }
}
