//! Functions that OpenCL's media extensions declare and no library defines: calls become intrinsics.
//!
//! Sources: the extension specifications `cl_amd_media_ops` and `cl_amd_media_ops2`, which define each
//! function by a formula; instructions by the Vega ISA manual, "VOP3". Names are in Itanium mangling, as
//! clang writes them.
//!
//! Cost: one look-up for each call of a declared function.

use mir::ir::*;
use smallvec::SmallVec;

/// How a function is written with intrinsics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Formula {
    /// `f(a, b, c)`
    Direct(Intrinsic),
    /// `f(f(a, b), c)`
    Twice(Intrinsic),
    /// The middle one of three: `max(min(a, b), min(max(a, b), c))`.
    Middle(Intrinsic, Intrinsic),
    /// `max(a, b) - min(a, b) + c`
    Distance,
    /// `((1 << (a & 31)) - 1) << (b & 31)`
    Mask,
    /// Byte n of `a` as a float.
    Byte(u64),
}

/// Mangled names and what they compute.
const TABLE: &[(&str, Formula)] = {
    use Formula::*;
    use Intrinsic::*;
    &[
        ("_Z11amd_median3fff", Direct(Fmed3)),
        ("_Z11amd_median3iii", Middle(Smin, Smax)),
        ("_Z11amd_median3jjj", Middle(Umin, Umax)),
        ("_Z11amd_unpack0j", Byte(0)),
        ("_Z11amd_unpack1j", Byte(1)),
        ("_Z11amd_unpack2j", Byte(2)),
        ("_Z11amd_unpack3j", Byte(3)),
        ("_Z12amd_bitalignDv16_jS_S_", Direct(Fshr)),
        ("_Z12amd_bitalignDv2_jS_S_", Direct(Fshr)),
        ("_Z12amd_bitalignDv3_jS_S_", Direct(Fshr)),
        ("_Z12amd_bitalignDv4_jS_S_", Direct(Fshr)),
        ("_Z12amd_bitalignDv8_jS_S_", Direct(Fshr)),
        ("_Z12amd_bitalignjjj", Direct(Fshr)),
        ("_Z13amd_bytealignjjj", Direct(Alignbyte)),
        ("_Z7amd_bfeijj", Direct(Sbfe)),
        ("_Z7amd_bfejjj", Direct(Ubfe)),
        ("_Z7amd_bfmjj", Mask),
        ("_Z7amd_sadjjj", Direct(SadU8)),
        ("_Z8amd_lerpjjj", Direct(Lerp)),
        ("_Z8amd_max3fff", Twice(Maxnum)),
        ("_Z8amd_max3iii", Twice(Smax)),
        ("_Z8amd_max3jjj", Twice(Umax)),
        ("_Z8amd_min3fff", Twice(Minnum)),
        ("_Z8amd_min3iii", Twice(Smin)),
        ("_Z8amd_min3jjj", Twice(Umin)),
        ("_Z8amd_msadjjj", Direct(MsadU8)),
        ("_Z8amd_saddjjj", Distance),
        ("_Z8amd_sadwjjj", Direct(SadU16)),
        ("_Z9amd_sadhijjj", Direct(SadHiU8)),
    ]
};

/// Appends to `block` what a call of the declared function `name` computes; `None` for a function not known.
///
/// The call's arguments have the types that the name says, or the module is not what it claims to be: then
/// the call stays what it is.
pub fn expand(
    caller: &mut Function,
    block: Block,
    name: &str,
    args: &[Value],
    ty: Type,
    loc: SourceLoc,
) -> Option<Value> {
    let at = TABLE.binary_search_by_key(&name, |row| row.0).ok()?;
    let formula = TABLE[at].1;
    let arity = match formula {
        Formula::Byte(_) => 1,
        Formula::Mask => 2,
        _ => 3,
    };
    let word =
        |ty: Type| ty.scalar().is_some_and(|s| matches!(s, Scalar::Int(32) | Scalar::Float(Float::Single)));
    if args.len() != arity || !word(ty) || !args.iter().all(|&a| word(caller.ty(a))) {
        return None;
    }
    let int = |caller: &mut Function, value| caller.int(Type::I32, value);
    let constants = [int(caller, 1), int(caller, 31), int(caller, 255), int(caller, 8 * byte_of(formula))];
    let [one, most, byte, shift] = constants;
    let mut push_as = |kind: InstKind, ty: Type| {
        let inst = caller.make_inst(kind, ty, InstFlags::empty());
        caller.locs[inst] = loc;
        caller.blocks[block].insts.push(inst);
        caller.insts[inst].result
    };
    let mut push = |kind| push_as(kind, ty);
    let call =
        |intrinsic, args: &[Value]| InstKind::Intrinsic { intrinsic, args: SmallVec::from_slice(args) };
    let binary = |op, a, b| InstKind::Binary { op, args: [a, b] };
    match formula {
        Formula::Direct(f) => push(call(f, args)),
        Formula::Twice(f) => {
            let inner = push(call(f, &args[..2]))?;
            push(call(f, &[inner, args[2]]))
        }
        Formula::Middle(min, max) => {
            let low = push(call(min, &args[..2]))?;
            let high = push(call(max, &args[..2]))?;
            let high = push(call(min, &[high, args[2]]))?;
            push(call(max, &[low, high]))
        }
        Formula::Distance => {
            let high = push(call(Intrinsic::Umax, &args[..2]))?;
            let low = push(call(Intrinsic::Umin, &args[..2]))?;
            let distance = push(binary(BinaryOp::Sub, high, low))?;
            push(binary(BinaryOp::Add, distance, args[2]))
        }
        Formula::Mask => {
            let width = push(binary(BinaryOp::And, args[0], most))?;
            let offset = push(binary(BinaryOp::And, args[1], most))?;
            let power = push(binary(BinaryOp::Shl, one, width))?;
            let mask = push(binary(BinaryOp::Sub, power, one))?;
            push(binary(BinaryOp::Shl, mask, offset))
        }
        Formula::Byte(_) => {
            let moved = push_as(binary(BinaryOp::LShr, args[0], shift), Type::I32)?;
            let masked = push_as(binary(BinaryOp::And, moved, byte), Type::I32)?;
            push_as(InstKind::Cast { op: CastOp::UiToFp, arg: masked }, ty)
        }
    }
}

/// The byte that [`Formula::Byte`] names, else 0.
fn byte_of(formula: Formula) -> u64 {
    match formula {
        Formula::Byte(n) => n,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_names_are_mangled_right() {
        assert!(TABLE.windows(2).all(|w| w[0].0 < w[1].0));
        for (name, _) in TABLE {
            let digits: String = name[2..].chars().take_while(char::is_ascii_digit).collect();
            let base = &name[2 + digits.len()..][..digits.parse().unwrap()];
            assert!(base.starts_with("amd_"), "{name}");
            let rest = &name[2 + digits.len() + base.len()..];
            assert!(rest.starts_with(['D', 'i', 'j', 'f']), "{name}");
        }
    }

    #[test]
    fn calls_become_intrinsics() {
        let text = "declare device i32 @_Z12amd_bitalignjjj(v0: i32, v1: i32, v2: i32)\n\
            define kernel void @k(v0: ptr addrspace(1), v1: i32) {\nblock0:\n  \
            v2: i32 = call @_Z12amd_bitalignjjj(v1, i32 3, i32 5)\n  store v0, v2 addrspace(1) align 4\n  ret\n}\n";
        let mut module = mir::ir::parse_module(text, "test").unwrap();
        let processor = mir::target::Target::processor_by_name("gfx900").unwrap();
        let target = mir::target::Target::new(processor);
        crate::inline::inline_all(&mut module, &target, 2).unwrap();
        let kernel = module.functions.values().find(|f| f.is_kernel()).unwrap();
        mir::ir::verify(&module, kernel).unwrap();
        let kinds = kernel.blocks[kernel.entry()].insts.iter().map(|&i| &kernel.insts[i].kind);
        let found = |k: &InstKind| matches!(k, InstKind::Intrinsic { intrinsic: Intrinsic::Fshr, .. });
        assert_eq!(kinds.filter(|k| found(k)).count(), 1);
    }
}
