//! Types: scalars and vectors by value, structs and arrays in a table of the module.

use cranelift_entity::{PrimaryMap, entity_impl};
use std::fmt;

/// An LLVM address space number of the AMDGPU target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AddrSpace(pub u32);

impl AddrSpace {
    /// Generic: global, LDS and scratch through apertures; 64 bits.
    pub const FLAT: Self = Self(0);
    /// Global memory, 64 bits.
    pub const GLOBAL: Self = Self(1);
    /// Region: GDS, 32 bits.
    pub const REGION: Self = Self(2);
    /// Local: LDS of the work-group, 32 bits.
    pub const LOCAL: Self = Self(3);
    /// Constant: global memory that no wave writes during the dispatch, 64 bits.
    pub const CONSTANT: Self = Self(4);
    /// Private: scratch memory of the lane, 32 bits.
    pub const PRIVATE: Self = Self(5);
    /// Constant memory through 32-bit addresses; the high half comes from a function attribute.
    pub const CONSTANT_32BIT: Self = Self(6);
    /// Buffer fat pointer, 160 bits.
    pub const BUFFER_FAT_POINTER: Self = Self(7);
    /// Buffer resource (V#), 128 bits.
    pub const BUFFER_RESOURCE: Self = Self(8);
    /// Buffer strided pointer, 192 bits.
    pub const BUFFER_STRIDED_POINTER: Self = Self(9);

    /// Width of a pointer in bits. Numbers above 9 are global-like, as in LLVM.
    #[inline]
    pub fn pointer_bits(self) -> u32 {
        match self.0 {
            2 | 3 | 5 | 6 => 32,
            7 => 160,
            8 => 128,
            9 => 192,
            _ => 64,
        }
    }

    /// The bit pattern of the null pointer, sign-extended. Local, region and private use all ones, since their
    /// address 0 is a valid object (LLVM 22, AMDGPUTargetMachine::getNullPointerValue).
    ///
    /// This is what an *address-space cast* of a null pointer yields; the IR constant `null` is all zero bits in
    /// every address space, and clang writes `addrspacecast (ptr null to ptr addrspace(5))` where it means null.
    pub fn null_value(self) -> i64 {
        match self {
            Self::LOCAL | Self::PRIVATE | Self::REGION => -1,
            _ => 0,
        }
    }
}

/// A floating-point format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Float {
    /// IEEE binary16.
    Half,
    /// bfloat16: the upper half of binary32.
    BFloat,
    /// IEEE binary32.
    Single,
    /// IEEE binary64.
    Double,
}

impl Float {
    /// Width in bits.
    #[inline]
    pub fn bits(self) -> u32 {
        match self {
            Self::Half | Self::BFloat => 16,
            Self::Single => 32,
            Self::Double => 64,
        }
    }
}

/// A type that is not composed of others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    /// Integer of 1 to 2^23 bits.
    Int(u32),
    /// Floating point.
    Float(Float),
    /// Pointer into an address space.
    Ptr(AddrSpace),
}

impl Scalar {
    /// Width of the value in bits (`i1` is 1).
    #[inline]
    pub fn bits(self) -> u32 {
        match self {
            Self::Int(bits) => bits,
            Self::Float(float) => float.bits(),
            Self::Ptr(space) => space.pointer_bits(),
        }
    }

    /// Bytes that a store writes: bits rounded up to whole bytes.
    #[inline]
    pub fn store_bytes(self) -> u64 {
        u64::from(self.bits()).div_ceil(8)
    }

    /// ABI alignment in bytes: natural, integers at most 8 (the data layout of LLVM 22 names `i64:64` and nothing wider, so
    /// i128 too has 8), fat and strided buffer pointers 32.
    #[inline]
    pub fn abi_align(self) -> u64 {
        match self {
            Self::Ptr(AddrSpace(7)) | Self::Ptr(AddrSpace(9)) => 32,
            Self::Ptr(_) => self.store_bytes(),
            _ => self.store_bytes().next_power_of_two().min(8),
        }
    }

    /// Bytes from one array element to the next.
    #[inline]
    pub fn alloc_bytes(self) -> u64 {
        self.store_bytes().next_multiple_of(self.abi_align())
    }
}

/// Any first-class type, or void. Cheap to copy; structs and arrays refer to the module's [`TypeTable`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// No value.
    Void,
    /// Integer, float or pointer.
    Scalar(Scalar),
    /// Fixed vector: element, number of lanes.
    Vector(Scalar, u32),
    /// Struct or array.
    Aggregate(Agg),
}

impl Type {
    /// `i1`.
    pub const I1: Self = Self::int(1);
    /// `i8`.
    pub const I8: Self = Self::int(8);
    /// `i16`.
    pub const I16: Self = Self::int(16);
    /// `i32`.
    pub const I32: Self = Self::int(32);
    /// `i64`.
    pub const I64: Self = Self::int(64);
    /// `half`.
    pub const F16: Self = Self::Scalar(Scalar::Float(Float::Half));
    /// `float`.
    pub const F32: Self = Self::Scalar(Scalar::Float(Float::Single));
    /// `double`.
    pub const F64: Self = Self::Scalar(Scalar::Float(Float::Double));

    /// The integer type of `bits` bits.
    pub const fn int(bits: u32) -> Self {
        Self::Scalar(Scalar::Int(bits))
    }

    /// The pointer type of `space`.
    #[inline]
    pub const fn ptr(space: AddrSpace) -> Self {
        Self::Scalar(Scalar::Ptr(space))
    }

    /// The scalar itself, or the element of a vector.
    #[inline]
    pub fn scalar(self) -> Option<Scalar> {
        match self {
            Self::Scalar(s) | Self::Vector(s, _) => Some(s),
            _ => None,
        }
    }

    /// Number of vector lanes; 1 for a scalar, 0 otherwise.
    #[inline]
    pub fn lanes(self) -> u32 {
        match self {
            Self::Scalar(_) => 1,
            Self::Vector(_, lanes) => lanes,
            _ => 0,
        }
    }

    /// Bits of the value without padding; `None` for void and aggregates.
    #[inline]
    pub fn bits(self) -> Option<u64> {
        self.scalar().map(|s| u64::from(s.bits()) * u64::from(self.lanes()))
    }

    /// Whether it is an integer of exactly `bits` bits.
    #[inline]
    pub fn is_int(self, bits: u32) -> bool {
        self == Self::int(bits)
    }

    /// The address space of a pointer or of a vector of pointers.
    #[inline]
    pub fn addr_space(self) -> Option<AddrSpace> {
        match self.scalar() {
            Some(Scalar::Ptr(space)) => Some(space),
            _ => None,
        }
    }
}

/// A struct or array type of the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Agg(u32);
entity_impl!(Agg, "agg");

/// Definition of a struct or an array, layout applied.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// Fields with their byte offsets.
    Struct {
        /// Type and byte offset of each field.
        fields: Vec<(Type, u64)>,
        /// Bytes including trailing padding.
        size_bytes: u64,
        /// ABI alignment in bytes.
        align_bytes: u64,
        /// Whether fields are packed without padding.
        packed: bool,
    },
    /// `len` times `element`.
    Array {
        /// Element type.
        element: Type,
        /// Number of elements.
        len: u64,
        /// Bytes from one element to the next.
        stride_bytes: u64,
        /// ABI alignment in bytes.
        align_bytes: u64,
    },
}

/// All structs and arrays of a module.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    /// Definitions, structurally unique.
    pub aggregates: PrimaryMap<Agg, Aggregate>,
    index: rustc_hash::FxHashMap<Aggregate, Agg>,
}

impl TypeTable {
    /// Returns the aggregate equal to `aggregate`, adding it when new.
    pub fn intern(&mut self, aggregate: Aggregate) -> Agg {
        if let Some(&agg) = self.index.get(&aggregate) {
            return agg;
        }
        let agg = self.aggregates.push(aggregate.clone());
        self.index.insert(aggregate, agg);
        agg
    }

    /// The struct of `fields` laid out by ABI alignment, or without padding when `packed`.
    pub fn struct_of(&mut self, fields: &[Type], packed: bool) -> Type {
        let (mut offset, mut align, mut laid) = (0u64, 1u64, Vec::with_capacity(fields.len()));
        for &field in fields {
            let field_align = if packed { 1 } else { self.abi_align(field) };
            offset = offset.next_multiple_of(field_align);
            laid.push((field, offset));
            offset = offset.saturating_add(self.alloc_bytes(field));
            align = align.max(field_align);
        }
        let size_bytes = offset.next_multiple_of(align);
        Type::Aggregate(self.intern(Aggregate::Struct {
            fields: laid,
            size_bytes,
            align_bytes: align,
            packed,
        }))
    }

    /// The unpacked struct of `fields`, if the table has it already.
    pub fn find_struct(&self, fields: &[Type]) -> Option<Type> {
        let (mut offset, mut align, mut laid) = (0u64, 1u64, Vec::with_capacity(fields.len()));
        for &field in fields {
            let field_align = self.abi_align(field);
            offset = offset.next_multiple_of(field_align);
            laid.push((field, offset));
            offset = offset.saturating_add(self.alloc_bytes(field));
            align = align.max(field_align);
        }
        let size_bytes = offset.next_multiple_of(align);
        let wanted = Aggregate::Struct { fields: laid, size_bytes, align_bytes: align, packed: false };
        self.index.get(&wanted).map(|&agg| Type::Aggregate(agg))
    }

    /// The array of `len` times `element`.
    pub fn array_of(&mut self, element: Type, len: u64) -> Type {
        let (stride_bytes, align_bytes) = (self.alloc_bytes(element), self.abi_align(element));
        Type::Aggregate(self.intern(Aggregate::Array { element, len, stride_bytes, align_bytes }))
    }

    /// Bytes that a load or store of `ty` touches.
    #[inline]
    pub fn store_bytes(&self, ty: Type) -> u64 {
        match ty {
            Type::Void => 0,
            Type::Scalar(s) => s.store_bytes(),
            Type::Vector(s, lanes) => (u64::from(s.bits()) * u64::from(lanes)).div_ceil(8),
            Type::Aggregate(agg) => match &self.aggregates[agg] {
                Aggregate::Struct { size_bytes, .. } => *size_bytes,
                Aggregate::Array { len, stride_bytes, .. } => len.saturating_mul(*stride_bytes),
            },
        }
    }

    /// ABI alignment of `ty` in bytes, at least 1. Vectors align to their size rounded up to a power of two (AMDGPU data layout, v16 to v2048).
    #[inline]
    pub fn abi_align(&self, ty: Type) -> u64 {
        match ty {
            Type::Void => 1,
            Type::Scalar(s) => s.abi_align(),
            Type::Vector(..) => self.store_bytes(ty).next_power_of_two().max(1),
            Type::Aggregate(agg) => match &self.aggregates[agg] {
                Aggregate::Struct { align_bytes, .. } | Aggregate::Array { align_bytes, .. } => *align_bytes,
            },
        }
    }

    /// Bytes from one element of type `ty` to the next in an array.
    #[inline]
    pub fn alloc_bytes(&self, ty: Type) -> u64 {
        self.store_bytes(ty).next_multiple_of(self.abi_align(ty))
    }

    /// The type that an index path leads to inside `ty`; `None` when the path does not exist.
    pub fn at_path(&self, mut ty: Type, path: &[u32]) -> Option<Type> {
        for &index in path {
            ty = match ty {
                Type::Aggregate(agg) => match &self.aggregates[agg] {
                    Aggregate::Struct { fields, .. } => fields.get(index as usize)?.0,
                    Aggregate::Array { element, len, .. } if u64::from(index) < *len => *element,
                    Aggregate::Array { .. } => return None,
                },
                _ => return None,
            };
        }
        Some(ty)
    }

    /// `ty` in LLVM's syntax.
    pub fn display(&self, ty: Type) -> DisplayType<'_> {
        DisplayType { table: self, ty }
    }
}

/// Prints a type; made by [`TypeTable::display`].
pub struct DisplayType<'a> {
    table: &'a TypeTable,
    ty: Type,
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(bits) => write!(f, "i{bits}"),
            Self::Float(Float::Half) => f.write_str("half"),
            Self::Float(Float::BFloat) => f.write_str("bfloat"),
            Self::Float(Float::Single) => f.write_str("float"),
            Self::Float(Float::Double) => f.write_str("double"),
            Self::Ptr(AddrSpace(0)) => f.write_str("ptr"),
            Self::Ptr(AddrSpace(n)) => write!(f, "ptr addrspace({n})"),
        }
    }
}

impl fmt::Display for DisplayType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty {
            Type::Void => f.write_str("void"),
            Type::Scalar(s) => s.fmt(f),
            Type::Vector(s, lanes) => write!(f, "<{lanes} x {s}>"),
            Type::Aggregate(agg) => match &self.table.aggregates[agg] {
                Aggregate::Struct { fields, packed, .. } => {
                    f.write_str(if *packed { "<{ " } else { "{ " })?;
                    for (i, &(field, _)) in fields.iter().enumerate() {
                        write!(f, "{}{}", if i == 0 { "" } else { ", " }, self.table.display(field))?;
                    }
                    f.write_str(if *packed { " }>" } else { " }" })
                }
                Aggregate::Array { element, len, .. } => {
                    write!(f, "[{len} x {}]", self.table.display(*element))
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn struct_layout_pads_fields_and_tail() {
        let mut table = TypeTable::default();
        let ty = table.struct_of(&[Type::I8, Type::I64, Type::I16], false);
        assert_eq!((table.store_bytes(ty), table.abi_align(ty)), (24, 8));
        let packed = table.struct_of(&[Type::I8, Type::I64, Type::I16], true);
        assert_eq!((table.store_bytes(packed), table.abi_align(packed)), (11, 1));
        let array = table.array_of(ty, 3);
        assert_eq!(table.alloc_bytes(array), 72);
        assert_eq!(table.at_path(array, &[1, 2]), Some(Type::I16));
        assert_eq!(table.at_path(array, &[3]), None);
        assert_eq!(table.display(array).to_string(), "[3 x { i8, i64, i16 }]");
    }

    #[test]
    fn vector_of_three_dwords_aligns_to_sixteen_bytes() {
        let table = TypeTable::default();
        let v3 = Type::Vector(Scalar::Int(32), 3);
        assert_eq!((table.store_bytes(v3), table.abi_align(v3), table.alloc_bytes(v3)), (12, 16, 16));
    }
}
