//! Undefined bits through vector arithmetic.
//!
//! The common case, that no active lane reads any, has been seen when sources are fetched. Otherwise operations that move or
//! combine bits ([`Op::transparent`]) are computed again with other values in the place of undefined bits, and the bits that
//! change are undefined; of all other operations the whole result is.

use super::valu::{Env, In, ZERO};
use super::{Exec, PATTERNS};
use crate::program::{Op, Src};
use crate::wave::{MAX_LANES, Wave};

use super::scalar::scalar_of;

impl Exec<'_> {
    /// Fills `self.u` with the undefined bits of the sources.
    pub(super) fn fetch_undefined(&mut self, w: &Wave, op: &Op) {
        for (k, u) in self.u.iter_mut().enumerate() {
            u.lo = ZERO;
            u.hi = ZERO;
            let Some(s) = op.srcs.get(k) else { continue };
            match s.src {
                Src::V(n) => {
                    let n = w.source(n, k);
                    u.lo = w.undef_of(n);
                    if s.dwords >= 2 {
                        u.hi = w.undef_of(n + 1);
                    }
                }
                Src::S(r) => {
                    let x = scalar_of(self.launch, w, r, s.dwords).1;
                    u.lo = [x as u32; MAX_LANES];
                    u.hi = [(x >> 32) as u32; MAX_LANES];
                }
                Src::K(_) => {}
            }
            super::vector::shape(u, op, k, w.exec());
        }
    }

    /// Fills `self.ou` with the undefined bits of the results, given the sources `i` (with the undefined lanes `mask`) and the results in `self.o`.
    pub(super) fn undefined_results(
        &mut self,
        w: &Wave,
        op: &Op,
        fetched: &super::vector::Fetched,
        env: &Env,
    ) {
        let mask = fetched.mask_undef;
        let Some(kernel) = op.kernel.filter(|_| op.transparent) else {
            self.ou.mask = mask;
            for l in 0..MAX_LANES {
                let any = self.u.iter().fold(0, |acc, s| acc | s.lo[l] | s.hi[l]) != 0 || mask >> l & 1 != 0;
                let u = if any { !0 } else { 0 };
                self.ou.lo[l] = u;
                self.ou.hi[l] = u;
                self.ou.mask |= u64::from(any) << l;
            }
            return;
        };
        self.ou.lo = ZERO;
        self.ou.hi = ZERO;
        self.ou.mask = 0;
        for pattern in PATTERNS {
            let i = fetched.inputs(&self.s, w);
            for k in 0..3 {
                let p = pattern.rotate_left(k as u32 * 21);
                let (u, j) = (&self.u[k], &mut self.j[k]);
                for l in 0..MAX_LANES {
                    j.lo[l] = i.lo[k][l] & !u.lo[l] | p as u32 & u.lo[l];
                    j.hi[l] = i.hi[k][l] & !u.hi[l] | (p >> 32) as u32 & u.hi[l];
                }
            }
            let [a, b, c] = &*self.j;
            let other = In {
                lo: [&a.lo, &b.lo, &c.lo],
                hi: [&a.hi, &b.hi, &c.hi],
                mask: i.mask & !mask | if pattern & 1 != 0 { mask } else { 0 },
            };
            self.o2.mask = 0;
            kernel(&other, &mut self.o2, env);
            for l in 0..MAX_LANES {
                self.ou.lo[l] |= self.o.lo[l] ^ self.o2.lo[l];
                self.ou.hi[l] |= self.o.hi[l] ^ self.o2.hi[l];
            }
            if op.sdst.is_some() {
                self.ou.mask |= self.o.mask ^ self.o2.mask;
            }
        }
    }
}
