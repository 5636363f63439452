//! Lanes of one wave speak through memory: what orders their accesses leaves no instruction, and holds all the same.

use gcnc_tests::gpu::{ITEMS, run_words};

/// Each lane gives the value it has to its neighbour, twice, and takes what it is given by the other one in between, through `space`.
fn exchange(order: &str, space: &str) -> String {
    let place = match space {
        "3" => "getelementptr [128 x i32], ptr addrspace(3) @lds, i32 0, i32 %id",
        _ => "getelementptr i32, ptr addrspace(1) %in, i32 %id",
    };
    format!(
        r#"
target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global [128 x i32] poison, align 16
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) #0 {{
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %last = icmp eq i32 %id, 63
  %p = {place}
  %q = getelementptr i32, ptr addrspace({space}) %p, i32 1
  %r = getelementptr i32, ptr addrspace({space}) %p, i32 2
  %x = mul i32 %id, 5
  store i32 %x, ptr addrspace({space}) %p
  {order}
  %theirs = load i32, ptr addrspace({space}) %q
  {order}
  %v = select i1 %last, i32 7, i32 %theirs
  store i32 %v, ptr addrspace({space}) %r
  {order}
  %more = load i32, ptr addrspace({space}) %q
  %own = load i32, ptr addrspace({space}) %p
  %twice = shl i32 %more, 10
  %sum = add i32 %twice, %own
  store i32 %sum, ptr addrspace(1) %o
  ret void
}}
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.wave.barrier()
declare void @llvm.amdgcn.s.barrier()
attributes #0 = {{ "amdgpu-flat-work-group-size"="64,64" }}
"#
    )
}

#[test]
fn what_lanes_exchange_comes_in_order() {
    // What lane `i` finds at its own place: lane `i - 2` stored there what it took from lane `i - 1`.
    let place = |i: u32| match i {
        0 | 1 => 5 * i,
        65 => 7,
        _ => 5 * (i - 1),
    };
    let expected: Vec<u32> = (0..ITEMS).map(|i| (place(i + 1) << 10) + place(i)).collect();
    let orders = [
        "call void @llvm.amdgcn.wave.barrier()",
        "fence syncscope(\"wavefront\") acq_rel",
        "fence syncscope(\"workgroup\") release\n  call void @llvm.amdgcn.s.barrier()\n  fence syncscope(\"workgroup\") acquire",
    ];
    for order in orders {
        for space in ["1", "3"] {
            // GFX10's 64 work-items are two waves.
            for cpu in ["gfx600", "gfx803", "gfx900", "gfx90c"] {
                for level in [0, 1, 2, 3] {
                    let found = run_words(&exchange(order, space), cpu, level, &[0; 128]);
                    assert_eq!(found, expected, "{order} in space {space} on {cpu} -O{level}");
                }
            }
        }
    }
}
