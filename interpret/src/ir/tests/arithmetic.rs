//! Integers, floats, conversions, vectors and aggregates, undefined bits.

use super::*;

#[test]
fn integers_of_all_widths() {
    assert_eq!(values("  v100: i32 = mul v3, i32 3\n")[..4], [0, 3, 6, 9]);
    // 3 - lane in 5 bits.
    let narrow = "  v4: i5 = trunc v3\n  v5: i5 = sub i5 3, v4\n  v100: i32 = sext v5\n";
    assert_eq!(values(narrow)[..6], [3, 2, 1, 0, !0, !1]);
    // (2^100 + lane) / 7 mod 2^32.
    let wide = "  v4: i101 = zext v3\n  v5: i101 = add v4, i101 wide(0x0, 0x1000000000)\n  \
                v6: i101 = udiv v5, i101 7\n  v100: i32 = trunc v6\n";
    let want: Vec<u32> = (0..64).map(|l| (((1u128 << 100) + l) / 7) as u32).collect();
    assert_eq!(values(wide), want);
    let signed = "  v4: i128 = zext v3\n  v5: i128 = sub i128 10, v4\n  v6: i128 = sdiv v5, i128 -3\n  v100: i32 = trunc v6\n";
    let signed = signed.replace("i128 -3", "i128 wide(0xfffffffffffffffd, 0xffffffffffffffff)");
    let want: Vec<u32> = (0..64).map(|l| ((10i128 - l) / -3) as u32).collect();
    assert_eq!(values(&signed), want);
}

#[test]
fn shifts_and_comparisons() {
    let body =
        "  v4: i32 = and v3, i32 31\n  v5: i32 = ashr i32 0x80000000, v4\n  v100: i32 = xor v5, i32 1\n";
    let body = body.replace("0x80000000", "2147483648");
    assert_eq!(values(&body)[31], !1);
    let compare = "  v4: i1 = icmp slt v3, i32 3\n  v5: i1 = icmp ugt i32 4294967295, v3\n  v6: i1 = and v4, v5\n  v100: i32 = zext v6\n";
    assert_eq!(values(compare)[..4], [1, 1, 1, 0]);
    let wide = "  v4: i80 = sext v3\n  v5: i80 = shl v4, i80 70\n  v6: i1 = icmp slt v5, i80 0\n  v100: i32 = zext v6\n";
    assert_eq!(values(wide)[511 % 64], 0);
    let wide = wide.replace("i80 70", "i80 79");
    assert_eq!(values(&wide)[..3], [0, 1, 0]);
}

#[test]
fn undefined_bits_are_followed() {
    // Bits 0 to 3 are undefined; masked out, the rest is known.
    let masked = "  v4: i4 = freeze i4 5\n  v5: i32 = zext i4 undef\n  v6: i32 = or v5, i32 256\n  v100: i32 = lshr v6, i32 2\n";
    assert_eq!(dwords(masked, false)[0], (64, 3));
    let decided = "  v5: i32 = zext i4 undef\n  v6: i1 = icmp ult v5, i32 16\n  v100: i32 = zext v6\n";
    assert_eq!(dwords(decided, false)[0], (1, 0));
    let open = decided.replace("i32 16", "i32 9");
    assert_eq!(dwords(&open, false)[0].1, 1);
    let frozen = "  v5: i32 = zext i4 undef\n  v100: i32 = freeze v5\n";
    assert_eq!(dwords(frozen, false)[0].1, 0);
    let select = "  v100: i32 = select i1 poison, i32 3, i32 3\n";
    assert_eq!(dwords(select, false)[0].1, !0);
}

#[test]
fn broken_promises_are_undefined() {
    let body = "  v4: i32 = add v3, i32 2147483640\n  v100: i32 = add nsw v4, i32 5\n";
    let all = dwords(body, false);
    assert_eq!(all[2], (0x7fff_ffff, 0));
    assert_eq!(all[3].1, !0);
    let shift = "  v100: i32 = shl i32 1, v3\n";
    assert_eq!(dwords(shift, false)[31], (1 << 31, 0));
    assert_eq!(dwords(shift, false)[32].1, !0);
    let division = "  v100: i32 = udiv i32 12, v3\n";
    assert_eq!((dwords(division, false)[0].1, dwords(division, false)[5]), (!0, (2, 0)));
}

#[test]
fn conversions_of_floats() {
    let body = "  v4: i32 = sub v3, i32 2\n  v5: float = sitofp v4\n  v6: float = fdiv v5, float 0x40000000\n  v100: i32 = bitcast v6\n";
    let want: Vec<u32> = (0..64).map(|l| ((l as f32 - 2.0) / 2.0).to_bits()).collect();
    assert_eq!(values(body), want);
    // -1.0 as unsigned is poison as read, and zero for the instruction.
    let cut = "  v4: i32 = sub v3, i32 2\n  v5: double = sitofp v4\n  v100: i32 = fptoui v5\n";
    assert_eq!(dwords(cut, false)[1].1, !0);
    assert_eq!(dwords(cut, true)[1], (0, 0));
    assert_eq!(dwords(cut, false)[5], (3, 0));
    let half = "  v4: half = uitofp v3\n  v5: half = fmul v4, half 0x3555\n  v6: i16 = bitcast v5\n  v100: i32 = zext v6\n";
    assert_eq!(values(half)[3], 0x3c00);
    let wide = "  v4: i128 = zext v3\n  v5: i128 = shl v4, i128 100\n  v6: float = uitofp v5\n  v100: i32 = bitcast v6\n";
    assert_eq!(values(wide)[3], (3.0 * 2f32.powi(100)).to_bits());
    let saturated = "  v4: double = sitofp v3\n  v5: double = fmul v4, double 0x4070000000000000\n  v6: i8 = intrinsic fptosi.sat(v5)\n  v100: i32 = sext v6\n";
    assert_eq!(values(saturated)[..2], [0, 127]);
}

#[test]
fn denormals_follow_the_attributes() {
    let body = |attribute: &str| {
        format!(
            "define kernel void @k(v0: ptr addrspace(1)) {attribute} {{\nblock0:\n  v3: float = fmul float 0x800000, float 0x3f000000\n  \
             store v0, v3 addrspace(1) align 4\n  v4: float = fneg float 0x1\n  v5: ptr addrspace(1) = ptradd v0, i32 1 * 4 + 0\n  \
             store v5, v4 addrspace(1) align 4\n  ret\n}}\n"
        )
    };
    let run = |attribute| run_items(&body(attribute), 1, 8, &[], false).out;
    assert_eq!(run(""), [0, 0, 0x40, 0, 1, 0, 0, 0x80]);
    let flushing = "\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"";
    assert_eq!(run(flushing), [0, 0, 0, 0, 1, 0, 0, 0x80]);
}

#[test]
fn intrinsics_on_integers() {
    let body = "  v4: i17 = trunc v3\n  v5: i17 = intrinsic bitreverse(v4)\n  v100: i32 = zext v5\n";
    assert_eq!(values(body)[1], 1 << 16);
    let zeros =
        "  v4: i32 = intrinsic ctlz(v3, i1 0)\n  v100: i32 = intrinsic uadd.sat(v4, i32 4294967290)\n";
    assert_eq!(values(zeros)[0], !0);
    let poison = "  v100: i32 = intrinsic ctlz(v3, i1 1)\n";
    assert_eq!((dwords(poison, false)[0].1, dwords(poison, true)[0]), (!0, (!0, 0)));
    let overflow = "  v4: { i32, i1 } = intrinsic umul.with.overflow(v3, i32 1073741824)\n  v5: i1 = extractvalue v4 [1]\n  v100: i32 = zext v5\n";
    assert_eq!(values(overflow)[..6], [0, 0, 0, 0, 1, 1]);
    let funnel = "  v100: i32 = intrinsic fshr(i32 1, v3, i32 4)\n";
    assert_eq!(values(funnel)[16], 1 << 28 | 1);
    let product = "  v4: i32 = mul v3, i32 33554431\n  v5: i64 = intrinsic amdgcn.mul.u24(v4, v4)\n  v6: i64 = lshr v5, i64 32\n  v100: i32 = trunc v6\n";
    assert_eq!(values(product)[1], (0xff_ffffu64.pow(2) >> 32) as u32);
    let absolute = "  v4: i32 = sub i32 0, v3\n  v100: i32 = intrinsic abs(v4, i1 0)\n";
    assert_eq!(values(absolute)[5], 5);
}

#[test]
fn intrinsics_on_floats() {
    let body = |call: &str| {
        format!("  v4: float = uitofp v3\n  v5: float = intrinsic {call}\n  v100: i32 = bitcast v5\n")
    };
    assert_eq!(values(&body("sqrt(v4)"))[16], 4f32.to_bits());
    assert_eq!(values(&body("fma(v4, v4, float 0xbf800000)"))[3], 8f32.to_bits());
    assert_eq!(values(&body("copysign(v4, float 0x80000000)"))[3], (-3f32).to_bits());
    assert_eq!(values(&body("minnum(v4, float 0x7fc00000)"))[3], 3f32.to_bits());
    // A signalling NaN is no number as read; the instruction returns it.
    assert_eq!(values(&body("minnum(v4, float 0x7f800001)"))[3], 3f32.to_bits());
    assert_eq!(dwords(&body("minnum(v4, float 0x7f800001)"), true)[3], (0x7fc0_0001, 0));
    assert_eq!(values(&body("minimum(v4, float 0x7fc00000)"))[3], 0x7fc0_0000);
    assert_eq!(values(&body("ldexp(v4, i32 3)"))[3], 24f32.to_bits());
    assert_eq!(values(&body("exp2(v4)"))[3], 8f32.to_bits());
    assert_eq!(values(&body("amdgcn.rcp(v4)"))[4], 0.25f32.to_bits());
    let parts = "  v4: float = uitofp v3\n  v5: { float, i32 } = intrinsic frexp(v4)\n  v100: i32 = extractvalue v5 [1]\n";
    assert_eq!(values(parts)[8], 4);
    let class =
        "  v4: float = uitofp v3\n  v5: i1 = intrinsic is.fpclass(v4, i32 64)\n  v100: i32 = zext v5\n";
    assert_eq!(values(class)[..2], [1, 0]);
}

#[test]
fn hardware_steps_divide() {
    // The steps of a division: 10 / (lane + 1).
    let body = "  v4: i32 = add v3, i32 1\n  v5: float = uitofp v4\n  v6: { float, i1 } = intrinsic amdgcn.div.scale(float 0x41200000, v5, i1 0)\n  \
                v7: float = extractvalue v6 [0]\n  v8: { float, i1 } = intrinsic amdgcn.div.scale(float 0x41200000, v5, i1 1)\n  \
                v9: float = extractvalue v8 [0]\n  v10: i1 = extractvalue v8 [1]\n  v11: float = intrinsic amdgcn.rcp(v7)\n  v12: float = fneg v7\n  \
                v13: float = intrinsic fma(v12, v11, float 0x3f800000)\n  v14: float = intrinsic fma(v13, v11, v11)\n  v15: float = fmul v9, v14\n  \
                v16: float = intrinsic fma(v12, v15, v9)\n  v17: float = intrinsic fma(v16, v14, v15)\n  v18: float = intrinsic fma(v12, v17, v9)\n  \
                v19: float = intrinsic amdgcn.div.fmas(v18, v14, v17, v10)\n  v20: float = intrinsic amdgcn.div.fixup(v19, v5, float 0x41200000)\n  \
                v100: i32 = bitcast v20\n";
    let want: Vec<u32> = (0..64).map(|l| (10.0 / (l as f32 + 1.0)).to_bits()).collect();
    assert_eq!(values(body), want);
}

#[test]
fn vectors() {
    let body = "  v4: <4 x i16> = insertelement <4 x i16> (i16 1, i16 2, i16 3, i16 4), i16 9, v3\n  v5: <2 x i16> = shufflevector v4, <4 x i16> zero [3, 1]\n  v100: i32 = bitcast v5\n";
    let all = dwords(body, false);
    assert_eq!(all[..4], [(0x2_0004, 0), (0x9_0004, 0), (0x2_0004, 0), (0x2_0009, 0)]);
    assert_eq!(all[4].1, !0);
    let sum = "  v4: <3 x i32> = insertelement <3 x i32> (i32 1, i32 2, i32 3), v3, i32 0\n  v5: <3 x i32> = mul v4, <3 x i32> (i32 5, i32 6, i32 7)\n  v100: i32 = intrinsic vector.reduce.add(v5)\n";
    assert_eq!(values(sum)[2], 10 + 12 + 21);
    let bits = "  v4: <8 x i1> = icmp ugt <8 x i3> (i3 0, i3 1, i3 2, i3 3, i3 4, i3 5, i3 6, i3 7), <8 x i3> (i3 4, i3 4, i3 4, i3 4, i3 4, i3 4, i3 4, i3 4)\n  v5: i8 = bitcast v4\n  v100: i32 = zext v5\n";
    assert_eq!(values(bits)[0], 0b1110_0000);
    let weave = "  v4: <4 x i8> = intrinsic vector.interleave2(<2 x i8> (i8 1, i8 2), <2 x i8> (i8 3, i8 4))\n  v100: i32 = bitcast v4\n";
    assert_eq!(values(weave)[0], 0x0402_0301);
}

#[test]
fn aggregates() {
    let body = "  v4: { i8, [2 x i64] } = insertvalue { i8, [2 x i64] } zero, i64 5, [1, 1]\n  v5: { i8, [2 x i64] } = insertvalue v4, i8 3, [0]\n  v6: i64 = extractvalue v5 [1, 1]\n  v7: i8 = extractvalue v5 [0]\n  v8: i32 = trunc v6\n  v9: i32 = zext v7\n  v100: i32 = add v8, v9\n";
    let body = body.replace(", [1, 1]\n", " [1, 1]\n").replace("i8 3, [0]", "i8 3 [0]");
    assert_eq!(values(&body)[0], 8);
}

#[test]
fn approximations_and_unknown_operations_are_told() {
    let text = |body: &str| {
        format!("define kernel void @k(v0: ptr addrspace(1)) {{\nblock0:\n  {body}\n  ret\n}}\n")
    };
    let run = |body: &str| run_items(&text(body), 1, 8, &[], false).result;
    let approximate = |body| run(body).expect("a run").approximate;
    assert!(!approximate("v1: float = fadd float 0x3f800000, float 0x3f800000"));
    assert!(approximate("v1: float = fadd contract float 0x3f800000, float 0x3f800000"));
    assert!(approximate("v1: float = intrinsic sin(float 0x3f800000)"));
    assert!(!approximate("v1: float = intrinsic sqrt(float 0x3f800000)"));
    let fault = run("intrinsic amdgcn.ds.gws.init(i32 0, i32 0)").expect_err("a fault");
    assert!(matches!(&fault.cause, Cause::Unsupported(what) if what == "llvm.amdgcn.ds.gws.init"), "{fault}");
}
