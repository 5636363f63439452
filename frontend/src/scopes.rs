//! Scopes of memory: which accesses `!alias.scope` and `!noalias` tell apart.
//!
//! A scope stands for the memory that one `noalias` pointer leads to, in one run of the function that had it as a parameter before it was inlined;
//! `llvm.experimental.noalias.scope.decl` says where that run starts. In a loop there are many, of which different turns may have each other's memory,
//! and whoever copies code would have to copy scopes with it. So scopes count that are declared once, outside of loops: they are the same throughout
//! the function.
//!
//! Two accesses are apart where one is to scopes of a domain all of which the other is not to.
//!
//! Source: LLVM language reference, "`noalias` and `alias.scope` Metadata", "`llvm.experimental.noalias.scope.decl` Intrinsic"; the rule for lists:
//! LLVM's ScopedNoAliasAA.

use crate::llvm::{InstRef, ValueRef};
use mir::analysis::{Csr, Dominators, Loops, Order};
use mir::ir::{AliasSet, AliasSets, Block, Function};
use rustc_hash::FxHashMap;

/// The lists of an access: of scopes that it is to, and of scopes that it is not to.
type Lists<'m> = (Option<ValueRef<'m>>, Option<ValueRef<'m>>);

/// What is known of a function's scopes.
#[derive(Default)]
pub(crate) struct Scopes<'m> {
    sets: FxHashMap<Lists<'m>, AliasSet>,
    /// The lists of each set, from the first behind [`AliasSet::ANY`].
    lists: Vec<Lists<'m>>,
    /// Where each scope is declared; `None` where it is in several places.
    declared: FxHashMap<ValueRef<'m>, Option<Block>>,
}

impl<'m> Scopes<'m> {
    /// Notes the scopes that `call` in `block` declares, if it declares any.
    pub fn note_declaration(&mut self, call: InstRef<'m>, block: Block) {
        let declares =
            call.callee().and_then(ValueRef::intrinsic_name) == Some("llvm.experimental.noalias.scope.decl");
        let Some(list) = call.operand(0).filter(|_| declares) else { return };
        for scope in list.node_operands().into_iter().flatten() {
            self.declared.entry(scope).and_modify(|place| *place = None).or_insert(Some(block));
        }
    }

    /// The set of an access with these lists.
    pub fn set(&mut self, scopes: Option<ValueRef<'m>>, others: Option<ValueRef<'m>>) -> AliasSet {
        if (scopes, others) == (None, None) || self.declared.is_empty() {
            return AliasSet::ANY;
        }
        let next = self.lists.len() + 1;
        *self.sets.entry((scopes, others)).or_insert_with(|| match u8::try_from(next) {
            Ok(number) if next < AliasSet::COUNT => {
                self.lists.push((scopes, others));
                AliasSet(number)
            }
            _ => AliasSet::ANY,
        })
    }

    /// Which sets have nothing in common, once `function` is read.
    pub fn apart(&self, function: &Function) -> AliasSets {
        let mut sets = AliasSets::default();
        if self.lists.is_empty() {
            return sets;
        }
        let graph = Csr::of_ir(function);
        let order = Order::reverse_post_order(&graph);
        let loops = Loops::new(&graph, &order, &Dominators::new(&graph, &order));
        if !loops.is_reducible() {
            return sets;
        }
        let runs_once = |scope: &ValueRef<'m>| {
            let place = self.declared.get(scope).copied().flatten();
            place.is_some_and(|block| loops.innermost(block.as_u32()).is_none())
        };
        // Domain by domain the scopes of a set, where all of them count.
        let members = |list: Option<ValueRef<'m>>| {
            let mut domains: Vec<(ValueRef<'m>, Vec<ValueRef<'m>>)> = Vec::new();
            for scope in list.into_iter().flat_map(ValueRef::node_operands).flatten() {
                let Some(domain) = scope.node_operands().get(1).copied().flatten() else { continue };
                match domains.iter_mut().find(|known| known.0 == domain) {
                    Some(known) => known.1.push(scope),
                    None => domains.push((domain, vec![scope])),
                }
            }
            domains
        };
        let told: Vec<_> =
            self.lists.iter().map(|&(scopes, others)| (members(scopes), members(others))).collect();
        let is_not_to = |set: &[(ValueRef<'m>, Vec<ValueRef<'m>>)],
                         others: &[(ValueRef<'m>, Vec<ValueRef<'m>>)]| {
            set.iter().any(|(domain, scopes)| {
                let known = others.iter().find(|other| other.0 == *domain);
                known.is_some_and(|(_, others)| {
                    scopes.iter().all(|scope| others.contains(scope) && runs_once(scope))
                })
            })
        };
        for (a, first) in (1u8..).zip(&told) {
            for (b, second) in (1u8..).zip(&told).skip(usize::from(a)) {
                if is_not_to(&first.0, &second.1) || is_not_to(&second.0, &first.1) {
                    sets.separate(AliasSet(a), AliasSet(b));
                }
            }
        }
        sets
    }
}

#[cfg(test)]
mod tests {
    use mir::ir::AliasSet;

    /// Pairs of sets that are apart in a function that declares scopes as it says.
    fn pairs(start: &str, turn: &str) -> Vec<(u8, u8)> {
        let text = format!(
            "declare void @llvm.experimental.noalias.scope.decl(metadata)
define amdgpu_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, i1 %c) {{
entry:
  {start}
  br label %loop
loop:
  {turn}
  %x = load i32, ptr addrspace(1) %a, !alias.scope !1, !noalias !2
  store i32 %x, ptr addrspace(1) %b, !alias.scope !2, !noalias !1
  store i32 %x, ptr addrspace(1) %b, !noalias !1
  store i32 %x, ptr addrspace(1) %b, !alias.scope !5
  br i1 %c, label %loop, label %exit
exit:
  ret void
}}
!0 = distinct !{{!0, !\"f\"}}
!1 = !{{!3}}
!2 = !{{!4}}
!3 = distinct !{{!3, !0, !\"a\"}}
!4 = distinct !{{!4, !0, !\"b\"}}
!5 = !{{!3, !4}}"
        );
        let module = crate::read_module(text.as_bytes(), "test.ll").unwrap();
        let function = module.functions.values().find(|function| function.name == "k").unwrap();
        function.alias_sets.pairs().map(|(AliasSet(a), AliasSet(b))| (a, b)).collect()
    }

    #[test]
    fn scopes_that_are_declared_once_tell_accesses_apart() {
        let declare =
            |list: u32| format!("call void @llvm.experimental.noalias.scope.decl(metadata !{list})\n  ");
        let (a, b) = (declare(1), declare(2));
        // To one and not to the other, and not to the one; what may be to both is apart from none.
        assert_eq!(pairs(&(a.clone() + &b), ""), [(1, 2), (1, 3)]);
        // That of one scope says it all; that of the other alone says less.
        assert_eq!(pairs(&a, &b), [(1, 2), (1, 3)]);
        assert_eq!(pairs(&b, &a), [(1, 2)]);
        // Another in each turn; twice; never.
        assert_eq!(pairs("", &(a.clone() + &b)), []);
        assert_eq!(pairs(&(a.clone() + &b + &a + &b), ""), []);
        assert_eq!(pairs("", ""), []);
    }
}
