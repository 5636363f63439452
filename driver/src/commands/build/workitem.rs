//! OpenCL's work-item functions as a small library of bitcode, for the code object version that is asked for.
//!
//! libclc's own read the number of dimensions and the offset from where Mesa's loader puts them, which no code object of AMD's loaders has, take every
//! work-group for a whole one, and lack the linear ids. Of V2 to V4, sizes are in the dispatch packet and the offset at the start of the
//! implicit arguments; from V5 on all of it is in the implicit arguments. The library is linked in front of libclc, so that libclc's
//! functions of these names are never asked for.
//!
//! Mesa's driver fills a packet in, too, but its number of dimensions and the offsets are 32-bit implicit arguments, and all work-groups are whole; the intrinsics that
//! libclc calls there read a header that its kernels do not have.
//!
//! Bodies have no branches: dimensions that do not exist read the first one's values and select a constant, and all of that folds
//! where the dimension is a constant.
//!
//! Sources: OpenCL C 3.0, "Work-Item Functions"; AMDGPU usage guide, "Code Object V3/V5 Metadata" (hidden arguments); HSA runtime
//! specification, "Kernel dispatch packet".

use std::fmt::Write as _;

/// What the functions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flavour {
    /// For Mesa's loader.
    pub mesa: bool,
    /// Code object version.
    pub version: u8,
    /// Every work-group is whole: OpenCL C before 2.0, or `-cl-uniform-work-group-size`.
    pub uniform: bool,
}

/// Attributes of all functions.
const ATTRIBUTES: &str =
    "attributes #0 = { alwaysinline nofree norecurse nosync nounwind willreturn memory(none) }\n";

/// What does not depend on the version. `@group_size`, `@grid_size`, `@groups`, `@local_size`, `@offset` and `@work_dim` are of a dimension below 3.
const COMMON: &str = r#"
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workgroup.id.z()
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workitem.id.z()
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)

define internal i32 @group_id(i32 %d) #0 {
  %x = call i32 @llvm.amdgcn.workgroup.id.x()
  %y = call i32 @llvm.amdgcn.workgroup.id.y()
  %z = call i32 @llvm.amdgcn.workgroup.id.z()
  %is.y = icmp eq i32 %d, 1
  %is.z = icmp eq i32 %d, 2
  %xy = select i1 %is.y, i32 %y, i32 %x
  %id = select i1 %is.z, i32 %z, i32 %xy
  ret i32 %id
}

define internal i32 @local_id(i32 %d) #0 {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  %z = call i32 @llvm.amdgcn.workitem.id.z()
  %is.y = icmp eq i32 %d, 1
  %is.z = icmp eq i32 %d, 2
  %xy = select i1 %is.y, i32 %y, i32 %x
  %id = select i1 %is.z, i32 %z, i32 %xy
  ret i32 %id
}

define internal i64 @relative_id(i32 %d) #0 {
  %group = call i32 @group_id(i32 %d)
  %size = call i32 @group_size(i32 %d)
  %start = mul i32 %group, %size
  %local = call i32 @local_id(i32 %d)
  %id = add i32 %start, %local
  %wide = zext i32 %id to i64
  ret i64 %wide
}

define internal i64 @id(i32 %d) #0 {
  %own = call i64 @relative_id(i32 %d)
  %offset = call i64 @offset(i32 %d)
  %id = add i64 %own, %offset
  ret i64 %id
}

define hidden i64 @_Z20get_global_linear_idv() #0 {
  %x = call i64 @relative_id(i32 0)
  %y = call i64 @relative_id(i32 1)
  %z = call i64 @relative_id(i32 2)
  %columns = call i32 @grid_size(i32 0)
  %rows = call i32 @grid_size(i32 1)
  %columns.wide = zext i32 %columns to i64
  %rows.wide = zext i32 %rows to i64
  %planes = mul i64 %z, %rows.wide
  %lines = add i64 %planes, %y
  %scaled = mul i64 %lines, %columns.wide
  %id = add i64 %scaled, %x
  ret i64 %id
}

define internal i32 @local_linear_id() #0 {
  %x = call i32 @local_id(i32 0)
  %y = call i32 @local_id(i32 1)
  %z = call i32 @local_id(i32 2)
  %columns = call i32 @local_size(i32 0)
  %rows = call i32 @local_size(i32 1)
  %planes = mul i32 %z, %rows
  %lines = add i32 %planes, %y
  %scaled = mul i32 %lines, %columns
  %id = add i32 %scaled, %x
  ret i32 %id
}

define hidden i64 @_Z19get_local_linear_idv() #0 {
  %id = call i32 @local_linear_id()
  %wide = zext i32 %id to i64
  ret i64 %wide
}

define hidden i32 @_Z12get_work_dimv() #0 {
  %dimensions = call i32 @work_dim()
  ret i32 %dimensions
}

define internal i32 @local_items() #0 {
  %x = call i32 @local_size(i32 0)
  %y = call i32 @local_size(i32 1)
  %z = call i32 @local_size(i32 2)
  %xy = mul i32 %x, %y
  %all = mul i32 %xy, %z
  ret i32 %all
}

define hidden i32 @_Z22get_max_sub_group_sizev() #0 {
  ret i32 64
}

define hidden i32 @_Z16get_sub_group_idv() #0 {
  %item = call i32 @local_linear_id()
  %id = lshr i32 %item, 6
  ret i32 %id
}

define hidden i32 @_Z22get_sub_group_local_idv() #0 {
  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %id = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)
  ret i32 %id
}

define hidden i32 @_Z18get_sub_group_sizev() #0 {
  %items = call i32 @local_items()
  %item = call i32 @local_linear_id()
  %start = and i32 %item, -64
  %left = sub i32 %items, %start
  %size = call i32 @llvm.umin.i32(i32 %left, i32 64)
  ret i32 %size
}

define hidden i32 @_Z18get_num_sub_groupsv() #0 {
  %items = call i32 @local_items()
  %more = add i32 %items, 63
  %count = lshr i32 %more, 6
  ret i32 %count
}

define hidden i32 @_Z27get_enqueued_num_sub_groupsv() #0 {
  %x = call i32 @group_size(i32 0)
  %y = call i32 @group_size(i32 1)
  %z = call i32 @group_size(i32 2)
  %xy = mul i32 %x, %y
  %items = mul i32 %xy, %z
  %more = add i32 %items, 63
  %count = lshr i32 %more, 6
  ret i32 %count
}
"#;

/// V2 to V4, and Mesa.
const PACKET: &str = r#"
define internal i32 @packet_u16(i64 %at) #0 {
  %packet = call align 4 dereferenceable(64) ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %place = getelementptr inbounds i8, ptr addrspace(4) %packet, i64 %at
  %value = load i16, ptr addrspace(4) %place, align 2, !invariant.load !0
  %wide = zext i16 %value to i32
  ret i32 %wide
}

define internal i32 @group_size(i32 %d) #0 {
  %wide = zext i32 %d to i64
  %scaled = shl i64 %wide, 1
  %at = add i64 %scaled, 4
  %size = call i32 @packet_u16(i64 %at)
  ret i32 %size
}

define internal i32 @grid_size(i32 %d) #0 {
  %packet = call align 4 dereferenceable(64) ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %wide = zext i32 %d to i64
  %sizes = getelementptr inbounds i8, ptr addrspace(4) %packet, i64 12
  %place = getelementptr inbounds i32, ptr addrspace(4) %sizes, i64 %wide
  %size = load i32, ptr addrspace(4) %place, align 4, !invariant.load !0
  ret i32 %size
}
"#;

/// V2 to V4 of amdhsa.
const PACKET_HSA: &str = r#"
define internal i32 @work_dim() #0 {
  %setup = call i32 @packet_u16(i64 2)
  %dimensions = and i32 %setup, 3
  ret i32 %dimensions
}

define internal i64 @offset(i32 %d) #0 {
  %arguments = call align 8 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %wide = zext i32 %d to i64
  %place = getelementptr inbounds i64, ptr addrspace(4) %arguments, i64 %wide
  %offset = load i64, ptr addrspace(4) %place, align 8, !invariant.load !0
  ret i64 %offset
}
"#;

/// For Mesa.
const PACKET_MESA: &str = r#"
define internal i32 @work_dim() #0 {
  %arguments = call align 4 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %dimensions = load i32, ptr addrspace(4) %arguments, align 4, !invariant.load !0
  ret i32 %dimensions
}

define internal i64 @offset(i32 %d) #0 {
  %arguments = call align 4 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %wide = zext i32 %d to i64
  %offsets = getelementptr inbounds i8, ptr addrspace(4) %arguments, i64 4
  %place = getelementptr inbounds i32, ptr addrspace(4) %offsets, i64 %wide
  %narrow = load i32, ptr addrspace(4) %place, align 4, !invariant.load !0
  %offset = zext i32 %narrow to i64
  ret i64 %offset
}
"#;

const PACKET_UNIFORM: &str = r#"
define internal i32 @groups(i32 %d) #0 {
  %grid = call i32 @grid_size(i32 %d)
  %size = call i32 @group_size(i32 %d)
  %count = udiv i32 %grid, %size
  ret i32 %count
}
"#;

const PACKET_PARTIAL: &str = r#"
define internal i32 @groups(i32 %d) #0 {
  %grid = call i32 @grid_size(i32 %d)
  %size = call i32 @group_size(i32 %d)
  %whole = udiv i32 %grid, %size
  %covered = mul i32 %whole, %size
  %is.partial = icmp ult i32 %covered, %grid
  %partial = zext i1 %is.partial to i32
  %count = add i32 %whole, %partial
  ret i32 %count
}

define internal i32 @local_size(i32 %d) #0 {
  %grid = call i32 @grid_size(i32 %d)
  %size = call i32 @group_size(i32 %d)
  %group = call i32 @group_id(i32 %d)
  %start = mul i32 %group, %size
  %left = sub i32 %grid, %start
  %own = call i32 @llvm.umin.i32(i32 %left, i32 %size)
  ret i32 %own
}
"#;

/// From V5 on.
const ARGUMENTS: &str = r#"
define internal i32 @argument_u16(i64 %at, i32 %d) #0 {
  %arguments = call align 8 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %wide = zext i32 %d to i64
  %start = getelementptr inbounds i8, ptr addrspace(4) %arguments, i64 %at
  %place = getelementptr inbounds i16, ptr addrspace(4) %start, i64 %wide
  %value = load i16, ptr addrspace(4) %place, align 2, !invariant.load !0
  %result = zext i16 %value to i32
  ret i32 %result
}

define internal i32 @whole_groups(i32 %d) #0 {
  %arguments = call align 8 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %wide = zext i32 %d to i64
  %place = getelementptr inbounds i32, ptr addrspace(4) %arguments, i64 %wide
  %count = load i32, ptr addrspace(4) %place, align 4, !invariant.load !0
  ret i32 %count
}

define internal i32 @group_size(i32 %d) #0 {
  %size = call i32 @argument_u16(i64 12, i32 %d)
  ret i32 %size
}

define internal i32 @work_dim() #0 {
  %dimensions = call i32 @argument_u16(i64 64, i32 0)
  ret i32 %dimensions
}

define internal i64 @offset(i32 %d) #0 {
  %arguments = call align 8 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %wide = zext i32 %d to i64
  %start = getelementptr inbounds i8, ptr addrspace(4) %arguments, i64 40
  %place = getelementptr inbounds i64, ptr addrspace(4) %start, i64 %wide
  %offset = load i64, ptr addrspace(4) %place, align 8, !invariant.load !0
  ret i64 %offset
}
"#;

const ARGUMENTS_UNIFORM: &str = r#"
define internal i32 @groups(i32 %d) #0 {
  %count = call i32 @whole_groups(i32 %d)
  ret i32 %count
}

define internal i32 @grid_size(i32 %d) #0 {
  %count = call i32 @whole_groups(i32 %d)
  %size = call i32 @group_size(i32 %d)
  %all = mul i32 %count, %size
  ret i32 %all
}
"#;

const ARGUMENTS_PARTIAL: &str = r#"
define internal i32 @remainder(i32 %d) #0 {
  %size = call i32 @argument_u16(i64 18, i32 %d)
  ret i32 %size
}

define internal i32 @groups(i32 %d) #0 {
  %whole = call i32 @whole_groups(i32 %d)
  %rest = call i32 @remainder(i32 %d)
  %is.partial = icmp ne i32 %rest, 0
  %partial = zext i1 %is.partial to i32
  %count = add i32 %whole, %partial
  ret i32 %count
}

define internal i32 @grid_size(i32 %d) #0 {
  %count = call i32 @whole_groups(i32 %d)
  %size = call i32 @group_size(i32 %d)
  %whole = mul i32 %count, %size
  %rest = call i32 @remainder(i32 %d)
  %all = add i32 %whole, %rest
  ret i32 %all
}

define internal i32 @local_size(i32 %d) #0 {
  %group = call i32 @group_id(i32 %d)
  %whole = call i32 @whole_groups(i32 %d)
  %size = call i32 @group_size(i32 %d)
  %rest = call i32 @remainder(i32 %d)
  %is.whole = icmp ult i32 %group, %whole
  %own = select i1 %is.whole, i32 %size, i32 %rest
  ret i32 %own
}
"#;

const WHOLE: &str = r#"
define internal i32 @local_size(i32 %d) #0 {
  %size = call i32 @group_size(i32 %d)
  ret i32 %size
}
"#;

/// The functions of a dimension: OpenCL's name, what they call, its type, and what there is of dimensions that do not exist.
const BY_DIMENSION: [(&str, &str, &str, u32); 8] = [
    ("_Z13get_global_idj", "id", "i64", 0),
    ("_Z17get_global_offsetj", "offset", "i64", 0),
    ("_Z15get_global_sizej", "grid_size", "i32", 1),
    ("_Z12get_group_idj", "group_id", "i32", 0),
    ("_Z12get_local_idj", "local_id", "i32", 0),
    ("_Z14get_local_sizej", "local_size", "i32", 1),
    ("_Z23get_enqueued_local_sizej", "group_size", "i32", 1),
    ("_Z14get_num_groupsj", "groups", "i32", 1),
];

/// The library as text of LLVM IR.
pub fn text(flavour: Flavour) -> String {
    let mut out = format!(
        "source_filename = \"work-item functions\"\ntarget datalayout = \"{}\"\ntarget triple = \"{}\"\n",
        frontend::DATA_LAYOUT,
        if flavour.mesa { "amdgcn-mesa-mesa3d" } else { "amdgcn-amd-amdhsa" }
    );
    let parts = match (flavour.mesa, flavour.version >= 5, flavour.uniform) {
        (true, ..) => [PACKET, PACKET_MESA, PACKET_UNIFORM, WHOLE],
        (_, true, true) => [ARGUMENTS, ARGUMENTS_UNIFORM, WHOLE, ""],
        (_, true, false) => [ARGUMENTS, ARGUMENTS_PARTIAL, "", ""],
        (_, false, true) => [PACKET, PACKET_HSA, PACKET_UNIFORM, WHOLE],
        (_, false, false) => [PACKET, PACKET_HSA, PACKET_PARTIAL, ""],
    };
    out.push_str(COMMON);
    out.extend(parts);
    for (name, inner, ty, default) in BY_DIMENSION {
        let widen = if ty == "i64" { "or disjoint i64 %one, 0" } else { "zext i32 %one to i64" };
        let _ = write!(
            out,
            "
define hidden i64 @{name}(i32 %d) #0 {{
  %exists = icmp ult i32 %d, 3
  %known = select i1 %exists, i32 %d, i32 0
  %one = call {ty} @{inner}(i32 %known)
  %wide = {widen}
  %result = select i1 %exists, i64 %wide, i64 {default}
  ret i64 %result
}}
"
        );
    }
    if !flavour.uniform && !flavour.mesa {
        out.push_str(&super::async_copy::text());
    }
    out.push('\n');
    out.push_str(ATTRIBUTES);
    out.push_str("!0 = !{}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_flavours_are_valid() {
        for version in [2, 4, 5, 6] {
            for uniform in [false, true] {
                for mesa in [false, true] {
                    let text = text(Flavour { mesa, version, uniform });
                    let bitcode = super::super::libraries::bitcode(&text).unwrap();
                    assert!(bitcode.starts_with(b"BC\xc0\xde"));
                }
            }
        }
    }
}
