//! Target features: what `-mattr` and the attribute `"target-features"` switch.
//!
//! LLVM's names fall into three groups. A few change code here: [`SWITCHES`]. Those that state what a
//! processor has, choose between equal instruction sequences, or tune LLVM's passes are known by name and
//! change nothing ([`WITHOUT_EFFECT`]): what a processor has follows from its name alone, so that no list of
//! features can ask for an instruction that it lacks. Waves of 32 lanes are refused where the generation has none. Any other name is
//! passed over with a warning, as LLVM does.

use mir::target::{Features, Processor, WaveSize};
use mir::{Diagnostic, Result};

/// Features that change code, with the ability that each one stands for, in words, too. Those with states of their own are in [`SETTINGS`].
const SWITCHES: &[(&str, Features, &str)] = &[
    (
        "unaligned-access-mode",
        Features::UNALIGNED_ACCESS.union(Features::UNALIGNED_DS),
        "Memory and LDS may be accessed unaligned where the processor can",
    ),
    ("unaligned-ds-access", Features::UNALIGNED_DS, "LDS may be accessed unaligned where the processor can"),
    (
        "unaligned-buffer-access",
        Features::UNALIGNED_ACCESS,
        "Memory may be accessed unaligned where the processor can",
    ),
    ("unaligned-scratch-access", Features::UNALIGNED_SCRATCH, "Scratch may be accessed unaligned"),
    (
        "fast-fmaf",
        Features::FAST_FMA_F32,
        "A fused multiplication and addition costs no more than two operations",
    ),
    (
        "enable-flat-scratch",
        Features::SCRATCH_INSTRUCTIONS,
        "Scratch is reached by scratch instructions where the processor has them",
    ),
    ("trap-handler", Features::TRAP_HANDLER, "Traps reach a handler"),
    ("cumode", Features::CU_MODE, "Waves of a work-group run on one compute unit of a pair (GFX10)"),
    ("architected-sgprs", Features::ARCHITECTED_SGPRS, "Ids of work-group and wave are in trap temporaries"),
];

/// Features that change code and are more than an ability: [`FeatureList::read`] knows them by name.
const SETTINGS: &[(&str, &str)] = &[
    ("code-object-v3", "Code objects V3, where switched off V2"),
    (
        "flat-for-global",
        "FLAT for global memory on GFX7, the default of amdhsa; switched off, that of other systems, buffers",
    ),
    (
        "max-private-element-size-4",
        "Lanes' scratch is interleaved by 4 bytes, as it is by default; the largest size asked for counts",
    ),
    ("max-private-element-size-8", "Lanes' scratch is interleaved by 8 bytes"),
    ("max-private-element-size-16", "Lanes' scratch is interleaved by 16 bytes"),
    ("sramecc", "SRAM has error correction; without a wish the code serves both"),
    ("xnack", "Page faults are retried; without a wish the code serves both"),
];

/// Names of features that change code, sorted, each with what it does.
pub fn help() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut rows: Vec<_> = SWITCHES.iter().map(|&(name, _, text)| (name, text)).collect();
    rows.extend_from_slice(SETTINGS);
    rows.sort_unstable();
    rows.into_iter()
}

/// Known names without effect, sorted. Sources: `llc -march=amdgcn -mattr=help` of LLVM 19 and 22; names that
/// older producers write.
#[rustfmt::skip]
const WITHOUT_EFFECT: &[&str] = &[
    "1024-addressable-vgprs", "16-bit-insts", "45-bit-num-records-buffer-resource", "64-bit-literals", "DumpCode",
    "a16", "add-min-max-insts", "add-no-carry-insts", "add-sub-u64-insts", "addressablelocalmemorysize163840",
    "addressablelocalmemorysize32768", "addressablelocalmemorysize327680", "addressablelocalmemorysize65536",
    "agent-scope-fine-grained-remote-memory-atomics", "allocate1_5xvgprs", "aperture-regs",
    "architected-flat-scratch", "ashr-pk-insts", "assembler-permissive-wavesize",
    "atomic-buffer-global-pk-add-f16-insts", "atomic-buffer-global-pk-add-f16-no-rtn-insts",
    "atomic-buffer-pk-add-bf16-inst", "atomic-csub-no-rtn-insts", "atomic-ds-pk-add-16-insts",
    "atomic-fadd-no-rtn-insts", "atomic-fadd-rtn-insts", "atomic-flat-pk-add-16-insts", "atomic-fmin-fmax-flat-f32",
    "atomic-fmin-fmax-flat-f64", "atomic-fmin-fmax-global-f32", "atomic-fmin-fmax-global-f64",
    "atomic-global-pk-add-bf16-inst", "auto-waitcnt-before-barrier", "back-off-barrier", "bf16-cvt-insts",
    "bf16-pk-insts", "bf16-trans-insts", "bf8-cvt-scale-insts", "bitop3-insts", "block-vgpr-csr",
    "bvh-dual-bvh-8-insts", "ci-insts", "clusters", "cube-insts", "cvt-fp8-vop1-bug",
    "cvt-norm-insts", "cvt-pk-f16-f32-inst", "cvt-pknorm-vop2-insts", "cvt-pknorm-vop3-insts", "d16-write-vgpr32",
    "default-component-broadcast", "default-component-zero", "dl-insts", "dot1-insts", "dot10-insts", "dot11-insts",
    "dot12-insts", "dot13-insts", "dot2-insts", "dot3-insts", "dot4-insts", "dot5-insts", "dot6-insts", "dot7-insts",
    "dot8-insts", "dot9-insts", "dpp", "dpp-64bit", "dpp-src1-sgpr", "dpp8", "ds-src2-insts", "dumpcode",
    "dx10-clamp", "emulated-system-scope-atomics", "enable-ds128", "enable-huge-private-buffer", "enable-prt-strict-null", "extended-image-insts",
    "f16bf16-to-fp6bf6-cvt-scale-insts", "f32-to-f16bf16-cvt-sr-insts", "fast-denormal-f32", "flat-address-space",
    "flat-atomic-fadd-f32-inst", "flat-buffer-global-fadd-f64-inst", "flat-global-insts",
    "flat-gvs-mode", "flat-inst-offsets", "flat-scratch-insts", "flat-segment-offset-bug", "fma-mix-bf16-insts",
    "fma-mix-insts", "fmacf64-inst", "fmaf", "force-store-sc0-sc1", "fp-exceptions", "fp32-denormals",
    "fp4-cvt-scale-insts", "fp64", "fp64-denormals", "fp64-fp16-denormals", "fp6bf6-cvt-scale-insts",
    "fp8-conversion-insts", "fp8-cvt-scale-insts", "fp8-insts", "fp8e5m3-insts", "full-rate-64-ops", "g16",
    "gcn3-encoding", "gds", "get-wave-id-inst", "gfx10", "gfx10-3-insts", "gfx10-insts", "gfx10_a-encoding",
    "gfx10_b-encoding", "gfx11", "gfx11-insts", "gfx12", "gfx12-insts", "gfx1250-insts", "gfx7-gfx8-gfx9-insts",
    "gfx8-insts", "gfx9", "gfx9-insts", "gfx90a-insts", "gfx940-insts", "gfx950-insts",
    "globally-addressable-scratch", "gws", "half-rate-64-ops", "ieee-minimum-maximum-insts", "image-gather4-d16-bug",
    "image-insts", "image-store-d16-bug", "inst-fwd-prefetch-bug", "int-clamp-insts", "inv-2pi-inline-imm",
    "kernarg-preload", "lds-barrier-arrive-atomic", "lds-branch-vmem-war-hazard", "lds-misaligned-bug",
    "ldsbankcount16", "ldsbankcount32", "lerp-inst", "load-store-opt", "lshl-add-u64-inst", "mad-intra-fwd-bug",
    "mad-mac-f32-insts", "mad-mix-insts", "mad-u32-inst", "mai-insts",
    "max-hard-clause-length-32", "max-hard-clause-length-63",
    "mcast-load-insts",
    "memory-atomic-fadd-f32-denormal-support", "mfma-inline-literal-bug", "mimg-r128", "min3-max3-pkf16",
    "minimum3-maximum3-f16", "minimum3-maximum3-f32", "minimum3-maximum3-pkf16", "movrel", "msaa-load-dst-sel-bug",
    "negative-scratch-offset-bug", "negative-unaligned-scratch-offset-bug", "no-data-dep-hazard", "no-sdst-cmpx",
    "nsa-clause-bug", "nsa-encoding", "nsa-to-vmem-bug", "offset-3f-bug", "packed-fp32-ops", "packed-tid",
    "partial-nsa-encoding", "permlane16-swap", "permlane32-swap", "pk-add-min-max-insts", "pk-fmac-f16-inst",
    "point-sample-accel", "precise-memory", "priv-enabled-trap2-nop-bug", "prng-inst", "promote-alloca",
    "pseudo-scalar-trans", "qsad-insts", "r128-a16", "real-true16", "relaxed-buffer-oob-mode",
    "required-export-priority", "requires-cov6", "restricted-soffset", "s-memrealtime", "s-memtime-inst",
    "s-wakeup-barrier-inst", "sad-insts", "safe-cu-prefetch", "safe-smem-prefetch", "salu-float", "scalar-atomics",
    "scalar-dwordx3-loads", "scalar-flat-scratch-insts", "scalar-stores", "sdwa", "sdwa-mav", "sdwa-omod",
    "sdwa-out-mods-vopc", "sdwa-scalar", "sdwa-sdst", "sea-islands", "setprio-inc-wg-inst", "setreg-vgpr-msb-fixup",
    "sgpr-init-bug", "shader-cycles-hi-lo-registers", "shader-cycles-register", "si-scheduler",
    "smem-to-vector-write-hazard", "southern-islands", "sramecc-support", "tanh-insts", "tensor-cvt-lut-insts",
    "tgsplit", "transpose-load-f4f6-insts", "trig-reduced-range", "true16", "unpacked-d16-vmem", "unsafe-ds-offset-folding", "user-sgpr-init16-bug",
    "valu-trans-use-hazard", "vcmpx-exec-war-hazard", "vcmpx-permlane-hazard", "vgpr-align2", "vgpr-index-mode",
    "vgpr-singleuse-hint", "vgpr-spilling", "vmem-pref-insts", "vmem-to-lds-load-insts",
    "vmem-to-scalar-write-hazard", "vmem-write-vgpr-in-order", "volcanic-islands", "vop3-literal", "vop3p", "vopd",
    "vscnt", "wait-xcnt", "waits-before-system-scope-stores", "xf32-insts", "xnack-support",
];

/// Features asked for, in the end: a later mention of a name overrules an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureList {
    /// Abilities switched on or off.
    switches: Vec<(Features, bool)>,
    /// Replay after page faults; `None` where nothing was said.
    pub xnack: Option<bool>,
    /// Error correction of SRAM; `None` where nothing was said.
    pub sram_ecc: Option<bool>,
    /// FLAT rather than buffers for global memory where the processor has both; `None` where nothing was said.
    pub flat_for_global: Option<bool>,
    /// Code objects V3 rather than V2, as LLVM 6 to 10 chose the version; `None` where nothing was said.
    pub code_object_v3: Option<bool>,
    /// Sizes of elements of scratch asked for, each as a bit of its own value.
    private_elements: u8,
    /// Lanes of a wave; `None` where nothing was said.
    pub wave: Option<WaveSize>,
    /// One line for each name that nobody knows.
    pub warnings: Vec<String>,
}

impl FeatureList {
    /// Reads `names`, each with `+` (or nothing) or `-` in front.
    ///
    /// # Errors
    /// `Unsupported` for a wave size that the processors here lack.
    pub fn read<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut out = Self::default();
        for entry in names.into_iter().map(str::trim).filter(|entry| !entry.is_empty()) {
            let (on, name) = match entry.split_at_checked(1) {
                Some(("+", name)) => (true, name),
                Some(("-", name)) => (false, name),
                _ => (true, entry),
            };
            // Most names that producers write, and none of those below.
            if WITHOUT_EFFECT.binary_search(&name).is_ok() {
                continue;
            }
            // Assembler tests spell these with capitals.
            match name.to_ascii_lowercase().as_str() {
                // The last one that is switched on; without one the processor's own size counts.
                "wavefrontsize32" if on => out.wave = Some(WaveSize::W32),
                "wavefrontsize64" if on => out.wave = Some(WaveSize::W64),
                "wavefrontsize32" | "wavefrontsize64" => {}
                "xnack" => out.xnack = Some(on),
                "sramecc" | "sram-ecc" => out.sram_ecc = Some(on),
                "code-object-v3" => out.code_object_v3 = Some(on),
                "flat-for-global" => out.flat_for_global = Some(on),
                "max-private-element-size-4" => out.private_element(4, on),
                "max-private-element-size-8" => out.private_element(8, on),
                "max-private-element-size-16" => out.private_element(16, on),
                "wavefrontsize16" if on => {
                    return Err(Diagnostic::unsupported(format!(
                        "target feature `{name}`: no waves of 16 lanes"
                    )));
                }
                "wavefrontsize16" => {}
                _ => match SWITCHES.iter().find(|switch| switch.0 == name) {
                    Some(&(_, feature, _)) => out.switches.push((feature, on)),
                    None => out.warnings.push(format!("unknown target feature `{entry}` (ignored)")),
                },
            }
        }
        Ok(out)
    }

    fn private_element(&mut self, bytes: u8, on: bool) {
        self.private_elements = self.private_elements & !bytes | if on { bytes } else { 0 };
    }

    /// Bytes of an element of scratch: the largest size asked for, as with LLVM; 4 where nothing was said.
    pub fn private_element_bytes(&self) -> u8 {
        match self.private_elements {
            0 => 4,
            sizes => 1 << sizes.ilog2(),
        }
    }

    /// Switches abilities in `features`, those of `processor` so far.
    ///
    /// # Errors
    /// `Unsupported` for a wave size that the processor lacks.
    pub fn apply(&self, features: &mut Features, processor: &Processor) -> Result<()> {
        for &(feature, on) in &self.switches {
            features.set(feature, on);
        }
        let Some(wave) = self.wave else { return Ok(()) };
        if !processor.limits().wave_sizes.contains(&wave) {
            let lanes = wave.lanes();
            return Err(Diagnostic::unsupported(format!(
                "target feature `wavefrontsize{lanes}`: {} has no waves of {lanes} lanes",
                processor.name
            )));
        }
        features.set(Features::WAVEFRONTSIZE32, wave == WaveSize::W32);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::target::Target;

    #[test]
    fn names_are_sorted_and_distinct() {
        assert!(WITHOUT_EFFECT.is_sorted_by(|a, b| a < b));
        assert!(SWITCHES.iter().all(|switch| WITHOUT_EFFECT.binary_search(&switch.0).is_err()));
        let settings = SETTINGS.iter().map(|setting| setting.0);
        let others = ["sram-ecc", "wavefrontsize16", "wavefrontsize32", "wavefrontsize64"];
        for name in settings.chain(others) {
            assert!(WITHOUT_EFFECT.iter().all(|known| !known.eq_ignore_ascii_case(name)), "{name}");
        }
    }

    #[test]
    fn names_with_a_meaning_of_their_own() {
        let list = FeatureList::read(["-code-object-v3", "+code-object-v3", "-flat-for-global"]).unwrap();
        assert_eq!((list.code_object_v3, list.warnings.is_empty()), (Some(true), true));
        assert_eq!(list.flat_for_global, Some(false));
        let element = |names: &[&str]| {
            let list = FeatureList::read(names.iter().copied()).unwrap();
            assert_eq!(list.warnings, [""; 0]);
            list.private_element_bytes()
        };
        let [four, eight, sixteen] = [4, 8, 16].map(|bytes| format!("+max-private-element-size-{bytes}"));
        assert_eq!([element(&[]), element(&[&four]), element(&[&eight])], [4, 4, 8]);
        assert_eq!(element(&[&sixteen, &four, "-max-private-element-size-8"]), 16);
        assert_eq!(element(&[&sixteen, "-max-private-element-size-16"]), 4);
    }

    #[test]
    fn the_last_mention_counts_and_strangers_are_named() {
        let list = FeatureList::read(["+xnack", "-xnack", "si-scheduler", "+promote-alloca", "-never-heard"])
            .unwrap();
        assert_eq!((list.xnack, list.sram_ecc), (Some(false), None));
        assert_eq!(list.warnings, ["unknown target feature `-never-heard` (ignored)"]);
        let mut features = Features::UNALIGNED_ACCESS;
        let list = FeatureList::read(["-unaligned-access-mode", "fast-fmaf", ""]).unwrap();
        let processor = |name: &str| Target::processor_by_name(name).unwrap();
        list.apply(&mut features, processor("gfx900")).unwrap();
        assert_eq!(features, Features::FAST_FMA_F32);
        let wave = |names: &[&str], cpu: &str| -> Result<bool> {
            let mut features = processor(cpu).features;
            FeatureList::read(names.iter().copied())?.apply(&mut features, processor(cpu))?;
            Ok(features.contains(Features::WAVEFRONTSIZE32))
        };
        let error = wave(&["+wavefrontsize32"], "gfx900").unwrap_err();
        assert!(error.message.contains("wavefrontsize32"), "{error}");
        assert_eq!(wave(&["-wavefrontsize32"], "gfx900"), Ok(false));
        assert_eq!(wave(&[], "gfx1030"), Ok(true));
        assert_eq!(wave(&["-wavefrontsize32", "+wavefrontsize64"], "gfx1030"), Ok(false));
        assert_eq!(wave(&["+WavefrontSize32", "-WavefrontSize64"], "gfx1010"), Ok(true));
    }
}
