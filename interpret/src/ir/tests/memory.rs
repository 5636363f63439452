//! Address spaces, stack objects, atomics, copies, buffers.

use super::*;

fn run(body: &str, bytes: usize) -> Run {
    let text = format!(
        "global @lds internal addrspace(3) size 16 align 4 init \"\"\ndefine kernel void @k(v0: ptr addrspace(1), v1: ptr addrspace(1)) {{\nblock0:\n{body}  ret\n}}\n"
    );
    let run = run_items(&text, 1, bytes, &(0..64).collect::<Vec<u8>>(), false);
    if let Err(fault) = &run.result {
        panic!("{fault}");
    }
    run
}

#[test]
fn values_keep_their_bytes() {
    let run = run(
        "  v3: <3 x i24> = load v1 addrspace(1) align 1\n  v4: <3 x i24> = shufflevector v3, v3 [2, 1, 0]\n  store v0, v4 addrspace(1) align 1\n  \
         v5: { i8, i32 } = load v1 addrspace(1) align 4\n  v6: ptr addrspace(1) = ptradd v0 + 16\n  store v6, v5 addrspace(1) align 4\n  \
         v7: i100 = load v1 addrspace(1) align 8\n  v8: ptr addrspace(1) = ptradd v0 + 24\n  store v8, v7 addrspace(1) align 8\n",
        40,
    );
    assert_eq!(run.out[..9], [6, 7, 8, 3, 4, 5, 0, 1, 2]);
    // Padding keeps what was there.
    assert_eq!(run.out[16..24], [0, 0, 0, 0, 4, 5, 6, 7]);
    assert_eq!(run.out[24..37], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
}

#[test]
fn generic_pointers_find_their_memory() {
    let run = run(
        "  v3: ptr addrspace(5) = alloca 4 align 4\n  v4: ptr = addrspacecast v3\n  store v4, i32 77 addrspace(0) align 4\n  v5: i32 = load v3 addrspace(5) align 4\n  \
         store v0, v5 addrspace(1) align 4\n  v6: ptr = addrspacecast ptr addrspace(3) @lds\n  store v6, i32 88 addrspace(0) align 4\n  \
         v7: i32 = load ptr addrspace(3) @lds addrspace(3) align 4\n  v8: ptr addrspace(1) = ptradd v0 + 4\n  store v8, v7 addrspace(1) align 4\n  \
         v9: i1 = intrinsic amdgcn.is.shared(v6)\n  v10: i1 = intrinsic amdgcn.is.private(v6)\n  v11: i32 = zext v9\n  v12: i32 = zext v10\n  v13: i32 = sub v11, v12\n  \
         v14: ptr addrspace(1) = ptradd v0 + 8\n  store v14, v13 addrspace(1) align 4\n",
        12,
    );
    assert_eq!(run.out, [77, 0, 0, 0, 88, 0, 0, 0, 1, 0, 0, 0]);
    let spaces: Vec<Space> = run.host.stores.iter().map(|s| s.1).collect();
    assert_eq!(spaces, [Space::Private, Space::Global, Space::Local, Space::Global, Space::Global]);
}

#[test]
fn unwritten_memory_is_undefined() {
    let run = run(
        "  v3: ptr addrspace(5) = alloca 8 align 4\n  store v3, i16 1 addrspace(5) align 4\n  v4: i64 = load v3 addrspace(5) align 4\n  store v0, v4 addrspace(1) align 4\n",
        8,
    );
    assert_eq!(run.undef, [0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
}

#[test]
fn markers_of_lifetimes_forget_contents() {
    for marker in ["start", "end"] {
        let run = run(
            &format!(
                "  v3: ptr addrspace(5) = alloca 4 align 4\n  v4: ptr addrspace(5) = alloca 4 align 4\n  store v3, i32 1 addrspace(5) align 4\n  \
                 store v4, i32 2 addrspace(5) align 4\n  intrinsic lifetime.{marker}(v3)\n  v5: i32 = load v3 addrspace(5) align 4\n  \
                 v6: i32 = load v4 addrspace(5) align 4\n  store v0, v5 addrspace(1) align 4\n  v7: ptr addrspace(1) = ptradd v0 + 4\n  \
                 store v7, v6 addrspace(1) align 4\n"
            ),
            8,
        );
        assert_eq!(run.undef, [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
        assert_eq!(run.out[4..], [2, 0, 0, 0]);
    }
}

#[test]
fn atomics_and_copies() {
    let run = run(
        "  intrinsic memcpy(v0, v1, i64 16, i1 0)\n  intrinsic memset(v0, i8 9, i64 4, i1 0)\n  v3: i32 = atomicrmw umax v0, i32 5 addrspace(1) align 4 monotonic agent\n  \
         v4: { i32, i1 } = cmpxchg v0, v3, i32 1 addrspace(1) align 4 seq_cst agent\n  v5: i1 = extractvalue v4 [1]\n  v6: i8 = zext v5\n  \
         v7: ptr addrspace(1) = ptradd v0 + 4\n  store v7, v6 addrspace(1) align 1\n  v8: ptr addrspace(1) = ptradd v0 + 8\n  \
         v9: i8 = atomicrmw add v8, i8 250 addrspace(1) align 1 monotonic agent\n  v10: ptr addrspace(1) = ptradd v0 + 9\n  intrinsic memmove(v10, v8, i64 3, i1 0)\n",
        16,
    );
    assert_eq!(run.out, [1, 0, 0, 0, 1, 5, 6, 7, 2, 2, 9, 10, 12, 13, 14, 15]);
}

#[test]
fn masked_accesses() {
    let run = run(
        "  v3: <4 x i8> = intrinsic masked.load(v1, <4 x i1> (i1 1, i1 0, i1 0, i1 1), <4 x i8> (i8 90, i8 91, i8 92, i8 93))\n  \
         store v0, v3 addrspace(1) align 1\n  v4: ptr addrspace(1) = ptradd v0 + 4\n  \
         intrinsic masked.compressstore(<4 x i8> (i8 1, i8 2, i8 3, i8 4), v4, <4 x i1> (i1 0, i1 1, i1 0, i1 1))\n",
        8,
    );
    assert_eq!(run.out, [0, 91, 92, 3, 2, 4, 0, 0]);
}

#[test]
fn buffers_have_bounds() {
    let run = run(
        "  v3: ptr addrspace(8) = intrinsic amdgcn.make.buffer.rsrc(v1, i16 0, i32 8, i32 0)\n  v4: i32 = intrinsic amdgcn.raw.ptr.buffer.load(v3, i32 4, i32 0, i32 0)\n  \
         store v0, v4 addrspace(1) align 4\n  v5: i32 = intrinsic amdgcn.raw.ptr.buffer.load(v3, i32 8, i32 0, i32 0)\n  v6: ptr addrspace(1) = ptradd v0 + 4\n  \
         store v6, v5 addrspace(1) align 4\n  v7: ptr addrspace(7) = addrspacecast v3\n  v8: ptr addrspace(7) = ptradd v7, i32 1 * 2 + 1\n  v9: i16 = load v8 addrspace(7) align 1\n  \
         v10: ptr addrspace(1) = ptradd v0 + 8\n  store v10, v9 addrspace(1) align 4\n",
        12,
    );
    assert_eq!(run.out, [4, 5, 6, 7, 0, 0, 0, 0, 3, 4, 0, 0]);
}

#[test]
fn vectors_of_buffer_pointers() {
    let run = run(
        "  v3: ptr addrspace(8) = intrinsic amdgcn.make.buffer.rsrc(v1, i16 0, i32 8, i32 0)\n  v4: ptr addrspace(7) = addrspacecast v3\n  \
         v5: <2 x ptr addrspace(7)> = insertelement <2 x ptr addrspace(7)> zero, v4, i32 1\n  v6: <2 x ptr addrspace(7)> = ptradd v5, <2 x i32> (i32 9, i32 1) * 2 + 1\n  \
         v7: ptr addrspace(7) = extractelement v6, i32 1\n  v8: i16 = load v7 addrspace(7) align 1\n  store v0, v8 addrspace(1) align 4\n  \
         v12: <2 x ptr addrspace(7)> = intrinsic ptrmask(v6, <2 x i32> (i32 1, i32 6))\n  v13: ptr addrspace(7) = extractelement v12, i32 1\n  \
         v14: i8 = load v13 addrspace(7) align 1\n  v15: ptr addrspace(1) = ptradd v0 + 4\n  store v15, v14 addrspace(1) align 1\n  \
         v9: <2 x i1> = icmp ult v6, v5\n  v10: <2 x i8> = zext v9\n  v11: ptr addrspace(1) = ptradd v0 + 2\n  store v11, v10 addrspace(1) align 1\n",
        5,
    );
    assert_eq!(run.out, [3, 4, 0, 0, 2]);
}

#[test]
fn stack_objects_of_variable_size() {
    let run = run(
        "  v3: ptr addrspace(5) = intrinsic stacksave()\n  v4: ptr addrspace(5) = alloca 4 align 4, i32 3\n  v5: ptr addrspace(5) = ptradd v4 + 8\n  store v5, i32 6 addrspace(5) align 4\n  \
         v6: i32 = load v5 addrspace(5) align 4\n  store v0, v6 addrspace(1) align 4\n  intrinsic stackrestore(v3)\n  v7: ptr addrspace(5) = alloca 12 align 4\n  \
         v8: ptr addrspace(5) = ptradd v7 + 8\n  v9: i32 = load v8 addrspace(5) align 4\n  v10: ptr addrspace(1) = ptradd v0 + 4\n  store v10, v9 addrspace(1) align 4\n",
        8,
    );
    assert_eq!((run.out[0], &run.undef[..]), (6, &[0, 0, 0, 0, 255, 255, 255, 255][..]));
}

/// A loop of compare-and-swap on memory that was never written gets on.
#[test]
fn undefined_memory_is_equal_to_itself() {
    let run = run(
        "  v3: ptr addrspace(5) = alloca 4 align 4\n  v4: i32 = load v3 addrspace(5) align 4\n  v5: { i32, i1 } = cmpxchg v3, v4, i32 7 addrspace(5) align 4 monotonic agent\n  \
         v6: i1 = extractvalue v5 [1]\n  v7: i32 = zext v6\n  store v0, v7 addrspace(1) align 4\n",
        4,
    );
    assert_eq!((&run.out[..], &run.undef[..]), (&[1, 0, 0, 0][..], &[0; 4][..]));
}
