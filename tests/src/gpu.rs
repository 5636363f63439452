//! A GPU as a host program sees it, backed by the simulator: buffers, launches, results.

use std::marker::PhantomData;
use std::ops::Range;

/// A type that buffers may hold.
pub trait Element: Copy {
    /// Bytes in memory, little endian.
    fn write(self, out: &mut Vec<u8>);
    /// The value of `bytes`, which is as long as [`Self::SIZE`].
    fn read(bytes: &[u8]) -> Self;
    /// Size in bytes.
    const SIZE: usize;
}

macro_rules! elements {
    ($($ty:ty),*) => {$(
        impl Element for $ty {
            const SIZE: usize = size_of::<$ty>();
            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn read(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$ty>()];
                array.copy_from_slice(bytes);
                Self::from_le_bytes(array)
            }
        }
    )*};
}
elements!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// A buffer in global memory.
pub struct Buffer<T> {
    address: u64,
    len: usize,
    marker: PhantomData<T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Buffer<T> {}

/// A pointer argument to so many bytes of dynamic LDS.
#[derive(Clone, Copy)]
pub struct Local(pub u32);

/// A kernel argument.
pub enum Arg {
    /// Bytes by value; pointers to buffers included.
    Bytes(Vec<u8>),
    /// Dynamic LDS.
    Local(u32),
}

impl<T> From<Buffer<T>> for Arg {
    fn from(buffer: Buffer<T>) -> Self {
        Self::Bytes(buffer.address.to_le_bytes().to_vec())
    }
}

impl From<Local> for Arg {
    fn from(local: Local) -> Self {
        Self::Local(local.0)
    }
}

impl<const N: usize> From<[u8; N]> for Arg {
    fn from(bytes: [u8; N]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

macro_rules! scalar_args {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Arg {
            fn from(value: $ty) -> Self {
                Self::Bytes(value.to_le_bytes().to_vec())
            }
        }
    )*};
}
scalar_args!(i32, u32, i64, u64, f32, f64);

/// A list of kernel arguments.
macro_rules! args {
    ($($arg:expr),* $(,)?) => { &[$($crate::gpu::Arg::from($arg)),*] };
}
pub(crate) use args;
