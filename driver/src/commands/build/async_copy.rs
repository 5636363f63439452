//! `async_work_group_copy` and `async_work_group_strided_copy` where work-groups may be partial: each work-item copies every n-th element, n being the size
//! of its own work-group. libclc's have the size of whole ones.
//!
//! One loop for each size of elements and direction; the functions of OpenCL, one for each type, call it. They are done when they return, up
//! to the barrier of `wait_group_events`, which is libclc's.
//!
//! Source: OpenCL C 3.0, "Async Copies from Global to Local Memory, Local to Global Memory, and Prefetch".

use std::fmt::Write as _;

/// Scalar types as they are mangled, with their sizes in bytes.
const SCALARS: [(&str, u32); 11] = [
    ("c", 1),
    ("h", 1),
    ("s", 2),
    ("t", 2),
    ("i", 4),
    ("j", 4),
    ("l", 8),
    ("m", 8),
    ("f", 4),
    ("d", 8),
    ("Dh", 2),
];
/// Numbers of elements of vectors. One of three takes the place of four.
const LANES: [u32; 6] = [1, 2, 3, 4, 8, 16];
/// Address spaces of destination and source.
const DIRECTIONS: [(u32, u32); 2] = [(3, 1), (1, 3)];
/// Sizes of elements in bytes.
const SIZES: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// The type that moves an element of `bytes`.
fn carrier(bytes: u32) -> String {
    match bytes {
        1..=8 => format!("i{}", bytes * 8),
        _ => format!("<{} x i32>", bytes / 4),
    }
}

/// The functions as text of LLVM IR, for a module that has `@local_linear_id` and `@local_items`.
pub fn text() -> String {
    let mut out = String::new();
    for (to, from) in DIRECTIONS {
        for bytes in SIZES {
            let ty = carrier(bytes);
            // Writing to a string does not fail.
            let _ = write!(
                out,
                "
define internal void @copy.{to}.{bytes}(ptr addrspace({to}) %to, ptr addrspace({from}) %from, i64 %count, i64 %to.stride, i64 %from.stride) #1 {{
entry:
  %item = call i32 @local_linear_id()
  %first = zext i32 %item to i64
  %items = call i32 @local_items()
  %step = zext i32 %items to i64
  br label %test
test:
  %i = phi i64 [ %first, %entry ], [ %next, %body ]
  %is.more = icmp ult i64 %i, %count
  br i1 %is.more, label %body, label %done
body:
  %from.at = mul i64 %i, %from.stride
  %source = getelementptr {ty}, ptr addrspace({from}) %from, i64 %from.at
  %element = load {ty}, ptr addrspace({from}) %source, align {bytes}
  %to.at = mul i64 %i, %to.stride
  %place = getelementptr {ty}, ptr addrspace({to}) %to, i64 %to.at
  store {ty} %element, ptr addrspace({to}) %place, align {bytes}
  %next = add i64 %i, %step
  br label %test
done:
  ret void
}}
"
            );
        }
        for (name, size) in SCALARS {
            for lanes in LANES {
                wrappers(&mut out, (to, from), name, size, lanes);
            }
        }
    }
    out.push_str("attributes #1 = { alwaysinline nofree norecurse nounwind }\n");
    out
}

/// The plain and the strided function of a type in a direction.
fn wrappers(out: &mut String, (to, from): (u32, u32), name: &str, size: u32, lanes: u32) {
    let bytes = size * lanes.next_power_of_two();
    // Of a vector, the type is known by then, and is `S_`.
    let (first, second) = match lanes {
        1 => (name.to_owned(), name),
        _ => (format!("Dv{lanes}_{name}"), "S_"),
    };
    let types = format!("PU3AS{to}{first}PU3AS{from}K{second}");
    // The stride is that of global memory.
    let strides = if to == 3 { "i64 1, i64 %stride" } else { "i64 %stride, i64 1" };
    let _ = write!(
        out,
        "
define hidden ptr @_Z21async_work_group_copy{types}m9ocl_event(ptr addrspace({to}) %to, ptr addrspace({from}) %from, i64 %count, ptr %event) #1 {{
  call void @copy.{to}.{bytes}(ptr addrspace({to}) %to, ptr addrspace({from}) %from, i64 %count, i64 1, i64 1)
  ret ptr %event
}}
define hidden ptr @_Z29async_work_group_strided_copy{types}mm9ocl_event(ptr addrspace({to}) %to, ptr addrspace({from}) %from, i64 %count, i64 %stride, ptr %event) #1 {{
  call void @copy.{to}.{bytes}(ptr addrspace({to}) %to, ptr addrspace({from}) %from, i64 %count, {strides})
  ret ptr %event
}}
"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many functions as libclc has, by its names.
    #[test]
    fn there_is_one_for_each_type() {
        let text = text();
        assert_eq!(text.matches("define hidden").count(), 264);
        for name in [
            "@_Z21async_work_group_copyPU3AS3cPU3AS1Kcm9ocl_event(",
            "@_Z29async_work_group_strided_copyPU3AS1Dv3_sPU3AS3KS_mm9ocl_event(",
            "@_Z21async_work_group_copyPU3AS3Dv2_DhPU3AS1KS_m9ocl_event(",
        ] {
            assert!(text.contains(name), "{name}");
        }
    }
}
