//! The two register files, and which of their registers a function may take.

use crate::Options;
use crate::access;
use crate::liveness::{Kind, Liveness};
use crate::occupancy::Mask;
use crate::pack::File;
use mir::machine::{Function, PReg, RegFile};
use mir::target::Target;
use std::ops::{Index, IndexMut};

/// Both files, in the order in which they are packed.
pub(crate) const FILES: [RegFile; 2] = [RegFile::Sgpr, RegFile::Vgpr];

/// Something for each register file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerFile<T> {
    /// For the scalar one.
    pub sgpr: T,
    /// For the vector one.
    pub vgpr: T,
}

impl<T> Index<RegFile> for PerFile<T> {
    type Output = T;

    fn index(&self, file: RegFile) -> &T {
        match file {
            RegFile::Sgpr => &self.sgpr,
            RegFile::Vgpr => &self.vgpr,
        }
    }
}

impl<T> IndexMut<RegFile> for PerFile<T> {
    fn index_mut(&mut self, file: RegFile) -> &mut T {
        match file {
            RegFile::Sgpr => &mut self.sgpr,
            RegFile::Vgpr => &mut self.vgpr,
        }
    }
}

/// The registers of `file` that ordinary packing is for.
pub(crate) fn kind_of(file: RegFile) -> Kind {
    match file {
        RegFile::Sgpr => Kind::Sgpr,
        RegFile::Vgpr => Kind::Vgpr,
    }
}

/// VCC among the indices of SGPRs.
pub(crate) const VCC_PAIR: u16 = access::VCC;

/// Registers that `file` has for anything.
pub(crate) fn available(kind: Kind, file: &File) -> i32 {
    file.allowed.and_not(&Mask::run(VCC_PAIR, u16::from(kind == Kind::Sgpr) * 2)).count() as i32
}

/// Most VGPRs that a kernel may use if `waves` of its waves are to fit on a SIMD.
pub fn vgpr_budget(target: &Target, waves: u32) -> u32 {
    target.limits().vgpr_budget(waves)
}

/// How many VGPRs the code of `f` may use.
pub fn vgpr_limit(f: &Function, target: &Target, options: &Options) -> u16 {
    let waves = f.waves_of_workgroup(target).max(options.min_waves.unwrap_or(1));
    let asked = options.max_vgprs.filter(|&n| n > 0).unwrap_or(target.limits().addressable_vgprs);
    vgpr_budget(target, waves).min(asked) as u16
}

/// Which registers there are.
pub(crate) struct FileLimits {
    pub hardware: &'static mir::target::Limits,
    /// Numbered ones, and registers of VCC behind them: a mask's, so that VCC_HI stays free where a mask is one SGPR.
    sgprs: u16,
    vcc: u16,
    vgprs: u16,
    /// SGPRs that are not to be used at all.
    barred: Mask,
}

impl FileLimits {
    pub fn new(f: &Function, target: &Target, options: &Options) -> Self {
        let vgprs = vgpr_limit(f, target, options);
        let mut sgprs = target.processor.numbered_sgprs();
        if let Some(n) = options.max_sgprs.filter(|&n| n > 0) {
            // VCC, FLAT_SCRATCH and XNACK_MASK count as the last six of what is declared.
            sgprs = sgprs.min(n.saturating_sub(6).max(16));
        }
        let mut barred = Mask::default();
        if f.dynamic_stack {
            barred.insert(mir::abi::call::STACK_POINTER.0);
        }
        if f.call_conv.is_callable() {
            // What belongs to the caller and is not worth saving; with calls it is where values survive them.
            let calls = f.calls.iter().any(|site| !site.tail);
            let graphics = f.saves_as_graphics();
            let given: Vec<PReg> = f.entry.registers().iter().map(|entry| entry.1).collect();
            let kept = |n: u16| {
                let reg = PReg::sgpr(n);
                mir::abi::call::is_reserved(reg)
                    || !calls && mir::abi::call::is_callee_saved(reg, graphics) && !given.contains(&reg)
            };
            for n in (0..PReg::SGPRS).filter(|&n| kept(n)) {
                barred = barred.or(&Mask::run(n, 1));
            }
        }
        Self {
            hardware: target.limits(),
            sgprs: sgprs as u16,
            vcc: f.wave.mask_dwords().into(),
            vgprs,
            barred,
        }
    }

    pub fn scalar_file(&self, live: &Liveness) -> File {
        let mut file =
            File { allowed: Mask::run(0, self.sgprs).or(&Mask::run(VCC_PAIR, self.vcc)), fixed: Vec::new() };
        file.allowed = file.allowed.and_not(&self.barred);
        restrict(&mut file, live, RegFile::Sgpr);
        file
    }

    pub fn vector_file(&self, live: &Liveness, lanes: u16) -> File {
        let mut file = File { allowed: Mask::run(0, self.vgprs.saturating_sub(lanes)), fixed: Vec::new() };
        restrict(&mut file, live, RegFile::Vgpr);
        file
    }

    /// The VGPRs of `file` that the callers of `f` do not expect back, if it has callers.
    pub fn unsaved_vectors(&self, f: &Function, file: &File) -> Option<File> {
        if !f.call_conv.is_callable() {
            return None;
        }
        let saved = (0..self.vgprs).filter(|&n| f.saves(PReg::vgpr(n)));
        let saved = saved.fold(Mask::default(), |mask, n| mask.or(&Mask::run(n, 1)));
        Some(File { allowed: file.allowed.and_not(&saved), fixed: file.fixed.clone() })
    }
}

fn restrict(file: &mut File, live: &Liveness, which: RegFile) {
    for &(_, n) in live.reserved.iter().filter(|r| r.0 == which) {
        file.allowed = file.allowed.and_not(&Mask::run(n, 1));
    }
    file.fixed.extend(live.fixed.iter().filter(|r| r.0 == which).map(|&(_, n, range)| (n, range)));
}
