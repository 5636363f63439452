//! Metadata of AMDIL as text.

use super::{
    ConstantPlace, DataSegment, DataVector, Kernel, PLACEHOLDER, Token, Unit, ValueType, printf_length,
};
use std::fmt::{self, Display, Formatter};

impl Display for Unit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.data.iter().try_for_each(|segment| segment.fmt(f))?;
        (0..self.placeholders).try_for_each(|_| writeln!(f, "{PLACEHOLDER}"))?;
        self.kernels.iter().try_for_each(|kernel| kernel.fmt(f))
    }
}

impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, ";ARGSTART:{}", self.name)?;
        self.tokens.iter().try_for_each(|token| writeln!(f, ";{token}"))?;
        writeln!(f, ";ARGEND:{}", self.name)
    }
}

impl Display for ConstantPlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.buffer, self.offset)
    }
}

/// `:a:b:c`
struct Numbers<'a>(&'a [u32]);

impl Display for Numbers<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|number| write!(f, ":{number}"))
    }
}

impl Display for Token {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "version{}", Numbers(version)),
            Self::Device(name) => write!(f, "device:{name}"),
            Self::UniqueId(id) => write!(f, "uniqueid:{id}"),
            Self::Error(message) => write!(f, "error:{message}"),
            Self::Warning(message) => write!(f, "warning:{message}"),
            Self::Memory { space, bytes } => write!(f, "memory:{}:{bytes}", space.word()),
            Self::CompilerWrite => write!(f, "memory:compilerwrite"),
            Self::DataRequired => write!(f, "memory:datareqd"),
            Self::Sampler { name, id, value } => {
                write!(f, "sampler:{name}:{id}:{}:{}", u8::from(value.is_some()), value.unwrap_or(0))
            }
            Self::Image { name, dimension, access, id, place } => {
                write!(f, "image:{name}:{}:{}:{id}:{place}", dimension.word(), access.word())
            }
            Self::Counter { name, bits, id, place } => write!(f, "counter:{name}:{bits}:{id}:{place}"),
            Self::Value { name, ty, count, place } => write!(f, "value:{name}:{}:{count}:{place}", ty.word()),
            Self::Pointer { name, ty, place, space, number, align } => {
                write!(f, "pointer:{name}:{}:1:{place}:{}:{number}:{align}", ty.word(), space.word())
            }
            Self::UavId(id) => write!(f, "uavid:{id}"),
            Self::Printf { id, sizes, format } => {
                let length = printf_length(format);
                write!(f, "printf_fmt:{id}:{}{}:{length}:{format};", sizes.len(), Numbers(sizes))
            }
            Self::Functions(ids) => write!(f, "function:{}{}", ids.len(), Numbers(ids)),
            Self::Intrinsics(ids) => write!(f, "intrinsic:{}{}", ids.len(), Numbers(ids)),
            Self::GroupSize(size) => write!(f, "cws{}", Numbers(size)),
            Self::MaxGroup(size) => write!(f, "lws:{size}"),
            Self::LimitGroup => write!(f, "limitgroupsize"),
        }
    }
}

impl Display for DataSegment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.buffer {
            Some(buffer) => writeln!(f, ";#DATASTART:{buffer}:{}", self.bytes)?,
            None => writeln!(f, ";#DATASTART:{}", self.bytes)?,
        }
        self.vectors.iter().try_for_each(|vector| writeln!(f, "{vector}"))?;
        writeln!(f, ";#DATAEND:{}", self.buffer.unwrap_or(0))
    }
}

impl Display for DataVector {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(";#")?;
        if self.lanes > 1 {
            write!(f, "v{}", self.lanes)?;
        }
        write!(f, "{}:{}:{}", self.ty.word(), self.offset, self.values.len())?;
        self.values.iter().try_for_each(|&value| match self.ty {
            ValueType::Float => write!(f, ":{:08X}", value as u32),
            ValueType::Double => write!(f, ":{value:016X}"),
            _ => write!(f, ":{value}"),
        })
    }
}
