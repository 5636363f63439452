//! What a call of a function changes: the registers that its code, and that of all functions below it, writes and does not restore.
//!
//! A caller that knows this keeps values in the other registers, whatever the convention lets a callee change. Every register that an
//! instruction writes counts, implicit ones included; of calls what they change; of inline assembly what it says that it clobbers, and what
//! its instructions write. Prolog and epilog see to the registers that the convention lets the caller rely on, so these are left out.
//!
//! The code is looked at twice: while indexed moves name the whole tuple and assembly its clobbers, and when nothing is inserted any more.
//! Text with labels or data may do anything, so a function with such text changes what the convention says.
//!
//! Cost: linear in the code.

use mir::machine::{Function, PReg, RegSet};

/// What the code of a function writes, at the stages at which it has been looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes {
    written: RegSet,
    unknown: bool,
}

impl Changes {
    /// Adds what the allocated code of `f` writes.
    pub fn note(&mut self, f: &Function) {
        self.unknown |= f.asm_sites.iter().any(|site| site.opaque);
        for &block in &f.layout {
            for inst in &f.blocks[block].insts {
                inst.for_each_access(|access| {
                    if access.write {
                        self.written.insert_tuple(access.first, access.dwords);
                    }
                });
            }
        }
    }

    /// What callers of `f`, which has been looked at, must expect to be changed; `None` where only the convention says it.
    pub fn of(&self, f: &Function) -> Option<RegSet> {
        let graphics = f.saves_as_graphics();
        // A jump to a function of the other convention would leave what that one lets it change.
        let strange = f.calls.iter().any(|site| site.tail && site.graphics != graphics);
        if self.unknown || strange || !f.call_conv.is_callable() {
            // The convention would be too little for callers of a function that saves less.
            return f.saves_from.map(|_| all_but_saved(f));
        }
        let changed = f.calls.iter().fold(self.written, |all, site| all.union(site.changed()));
        Some(changed.iter().filter(|&reg| !f.saves(reg)).collect())
    }
}

/// Numbered SGPRs, VCC and VGPRs that `f` does not save.
fn all_but_saved(f: &Function) -> RegSet {
    let all = (0..=PReg::VCC_HI.0).map(PReg).chain((0..PReg::VGPRS).map(PReg::vgpr));
    all.filter(|&reg| !f.saves(reg)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::abi::call::changed_by_convention;
    use mir::machine::parse_function;

    fn changes(header: &str, body: &str) -> Option<RegSet> {
        let text = format!("function f, device, waited\n{header}mbb0:\n{body}  wave end\n");
        let f = parse_function(&text, "test").expect("the text is right");
        let mut changes = Changes::default();
        changes.note(&f);
        changes.of(&f)
    }

    fn tuples(set: Option<RegSet>) -> Vec<(PReg, u8)> {
        set.expect("it is known").tuples().collect()
    }

    /// s40 is the callee's, s36 and v41 are restored, v[3:4] is a pair, the carry goes to VCC, and EXEC is none of them.
    #[test]
    fn what_is_written_and_not_restored() {
        let body = "  s40 = s_mov_b32 s36\n  s36 = s_mov_b32 0\n  v41 = v_mov_b32 v0\n  v[3:4] = v_lshlrev_b64 1, v[0:1]\n  \
            v5, vcc = v_add_co_u32 v0, v1\n  exec = s_mov_b64 -1\n";
        let found = tuples(changes("", body));
        assert_eq!(found, [(PReg::sgpr(40), 1), (PReg::VCC_LO, 2), (PReg::vgpr(3), 3)]);
    }

    /// Which element is written only the run tells.
    #[test]
    fn an_indexed_move_writes_the_tuple() {
        let found = tuples(changes("", "  v[0:3] = indexed_write v5, s4\n"));
        assert_eq!(found, [(PReg::vgpr(0), 4)]);
    }

    #[test]
    fn calls_change_what_their_sites_say() {
        let call = "  s[30:31] = call s[4:5], 0\n";
        let known = tuples(changes("  call 0: changes v7, vcc\n", call));
        assert_eq!(known, [(PReg::sgpr(30), 2), (PReg::VCC_LO, 2), (PReg::vgpr(7), 1)]);
        let unknown = changes("  call 0:\n", call);
        assert_eq!(unknown.as_ref(), Some(changed_by_convention(false)));
    }

    /// What is restored is stack and frame pointer, and v[248:255].
    #[test]
    fn what_a_function_that_saves_little_changes() {
        let body =
            "  s36 = s_mov_b32 0\n  v41 = v_mov_b32 v0\n  v250 = v_mov_b32 v0\n  s32 = s_add_u32 s32, 64\n";
        let found = tuples(changes("  saves_from v248\n", body));
        assert_eq!(found, [(PReg::sgpr(36), 1), (PReg::vgpr(41), 1)]);
        let unknown = changes("  saves_from v248\n  asm 0: \"x: s_branch x\" opaque ()\n", "");
        let unknown = unknown.expect("callers must know");
        let kept = [PReg::sgpr(32), PReg::sgpr(33), PReg::sgpr(0), PReg::vgpr(248), PReg::vgpr(255)];
        assert!(kept.iter().all(|&reg| !unknown.contains(reg)));
        assert!([PReg::sgpr(34), PReg::VCC_LO, PReg::vgpr(247)].iter().all(|&reg| unknown.contains(reg)));
    }

    #[test]
    fn a_jump_to_the_other_convention_is_not_looked_through() {
        assert_eq!(changes("  call 0: graphics tail\n", "  s[30:31] = call s[4:5], 0\n"), None);
        assert_eq!(changes("  asm 0: \"x: s_branch x\" opaque ()\n", ""), None);
    }
}
