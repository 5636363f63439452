//! The compressed form: a header, then the binary form through zlib or zstd.
//!
//! | bytes in versions 1, 2, 3 | meaning |
//! |---|---|
//! | 4, 4, 4 | `CCOB` |
//! | 2, 2, 2 | version |
//! | 2, 2, 2 | method: 0 zlib, 1 zstd |
//! | 0, 4, 8 | size of the file, this header included |
//! | 4, 4, 8 | size of the bundle before compression |
//! | 8, 8, 8 | the first half of the MD5 sum of the bundle before compression |
//!
//! All numbers are little-endian.

use super::{MAX_UNCOMPRESSED_BYTES, array, malformed, word};
use flate2::read::{ZlibDecoder, ZlibEncoder};
use md5::{Digest, Md5};
use mir::{Diagnostic, Result};
use std::io::Read;

/// What a compressed bundle begins with.
pub const MAGIC: &[u8; 4] = b"CCOB";

/// The version that clang writes unless told otherwise.
pub const DEFAULT_VERSION: u16 = 3;

/// How the bundle is compressed; the number in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Method {
    /// RFC 1950.
    Zlib = 0,
    /// RFC 8878.
    Zstd = 1,
}

impl Method {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }
}

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version of the header.
    pub version: u16,
    /// How the bundle is compressed.
    pub method: Method,
    /// Bytes of header and compressed bundle; version 1 does not tell.
    pub file_bytes: Option<u64>,
    /// Bytes of the bundle before compression.
    pub bundle_bytes: u64,
    /// The first eight bytes of its MD5 sum.
    pub hash: u64,
}

impl Header {
    /// Reads the header at the start of `bytes`; `None` for what is none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let half = |at| array(bytes, at).map(u16::from_le_bytes);
        let short = |at| array(bytes, at).map(u32::from_le_bytes).map(u64::from);
        if !bytes.starts_with(MAGIC) {
            return None;
        }
        let version = half(4)?;
        let method = match half(6)? {
            0 => Method::Zlib,
            1 => Method::Zstd,
            _ => return None,
        };
        let (file_bytes, bundle_bytes, hash) = match version {
            1 => (None, short(8)?, word(bytes, 12)?),
            2 => (Some(short(8)?), short(12)?, word(bytes, 16)?),
            3 => (Some(word(bytes, 8)?), word(bytes, 16)?, word(bytes, 24)?),
            _ => return None,
        };
        Some(Self { version, method, file_bytes, bundle_bytes, hash })
    }

    /// Its own size.
    pub fn size(&self) -> usize {
        match self.version {
            1 => 20,
            2 => 24,
            _ => 32,
        }
    }
}

/// Whether `bytes` begin as a compressed bundle does.
pub fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The first half of the MD5 sum of `bundle`.
pub fn hash(bundle: &[u8]) -> u64 {
    let sum = Md5::digest(bundle);
    sum.iter().take(8).rev().fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

/// The bundle that `bytes` hold in compressed form.
///
/// # Errors
/// A header that is none, contents that do not decompress to the size and the hash that it names ([`mir::ErrorKind::Malformed`]);
/// a size above [`MAX_UNCOMPRESSED_BYTES`] ([`mir::ErrorKind::Limit`]).
pub fn decompress(bytes: &[u8]) -> Result<Vec<u8>> {
    decompress_within(bytes, MAX_UNCOMPRESSED_BYTES)
}

/// The same with another bound on the bytes that come out.
///
/// # Errors
/// Those of [`decompress`].
pub fn decompress_within(bytes: &[u8], most: u64) -> Result<Vec<u8>> {
    let Some(header) = Header::read(bytes) else {
        return malformed(
            "the header of the compressed bundle is incomplete, or of an unknown version or method",
        );
    };
    if header.bundle_bytes > most {
        return Err(Diagnostic::limit(format!(
            "a bundle of {} bytes before compression, at most {most} are read",
            header.bundle_bytes
        )));
    }
    let end = header.file_bytes.map_or(Some(bytes.len()), |size| usize::try_from(size).ok());
    let Some(contents) = end.and_then(|end| bytes.get(header.size()..end)) else {
        return malformed(format!(
            "the compressed bundle has {} bytes, its header says {}",
            bytes.len(),
            header.file_bytes.unwrap_or_default()
        ));
    };
    // One byte more than there should be tells that there is more.
    let wanted = header.bundle_bytes;
    let mut bundle = Vec::new();
    let bad = |error: &dyn std::fmt::Display| {
        Diagnostic::malformed(format!(
            "the bundle cannot be decompressed ({}): {error}",
            header.method.name()
        ))
    };
    match header.method {
        Method::Zlib => {
            let mut reader = ZlibDecoder::new(contents).take(wanted + 1);
            reader.read_to_end(&mut bundle).map_err(|error| bad(&error))?;
        }
        Method::Zstd => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(contents).map_err(|error| bad(&error))?;
            decoder.take(wanted + 1).read_to_end(&mut bundle).map_err(|error| bad(&error))?;
        }
    }
    if bundle.len() as u64 != wanted {
        return malformed(format!("the bundle has other than the {wanted} bytes that its header says"));
    }
    if hash(&bundle) != header.hash {
        return malformed("the hash of the bundle is not that of its header");
    }
    Ok(bundle)
}

/// `bundle` in compressed form, with a header of `version`.
///
/// # Errors
/// A version that does not exist, a bundle too large for the numbers of its header ([`mir::ErrorKind::Limit`]).
pub fn compress(bundle: &[u8], method: Method, version: u16) -> Result<Vec<u8>> {
    let contents = match method {
        Method::Zlib => {
            let mut out = Vec::new();
            ZlibEncoder::new(bundle, flate2::Compression::best())
                .read_to_end(&mut out)
                .map_err(|error| Diagnostic::defect(format!("zlib: {error}")))?;
            out
        }
        Method::Zstd => {
            ruzstd::encoding::compress_to_vec(bundle, ruzstd::encoding::CompressionLevel::Fastest)
        }
    };
    let mut out = MAGIC.to_vec();
    out.extend(version.to_le_bytes());
    out.extend((method as u16).to_le_bytes());
    let short = |number: usize| {
        u32::try_from(number).map_err(|_| {
            Diagnostic::limit(format!("{number} bytes do not fit a header of version {version}"))
        })
    };
    match version {
        1 => out.extend(short(bundle.len())?.to_le_bytes()),
        2 => {
            out.extend(short(contents.len() + 24)?.to_le_bytes());
            out.extend(short(bundle.len())?.to_le_bytes());
        }
        3 => {
            out.extend((contents.len() as u64 + 32).to_le_bytes());
            out.extend((bundle.len() as u64).to_le_bytes());
        }
        _ => {
            return Err(Diagnostic::limit(format!("compressed bundles have versions 1 to 3, not {version}")));
        }
    }
    out.extend(hash(bundle).to_le_bytes());
    out.extend(contents);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What clang-offload-bundler 22 makes of an empty host part and one for gfx900 that holds `dev1xx`.
    const OF_CLANG: &[u8] = b"CCOB\x03\0\x01\0\x96\0\0\0\0\0\0\0\x97\0\0\0\0\0\0\0\x6f\xc4\x38\xb6\x39\x7a\x34\x53\
        \x28\xb5\x2f\xfd\x20\x97\x6d\x03\0\x54\x05__CLANG_OFFLOAD_BUNDLE__\x02\0\x91\0\x22\0host-x86_64-unknown-linux\
        \x06\x1fipv4-amdgcnhsa--gfx900dev1xx\x09\0\xbb\0\x2a\xc1\x01\x61\x20\x4b\x57\x04\x14\xb3\x0c\x30\x34\x20\x9b\x18\xc0\x03";

    #[test]
    fn bundles_of_clang_are_read() {
        let bundle = decompress(OF_CLANG).expect("readable");
        let parts = super::super::plain::read(&bundle).expect("a bundle");
        let targets: Vec<_> = parts.iter().map(|part| (&*part.target, &*part.contents)).collect();
        let wanted: [(&str, &[u8]); 2] =
            [("host-x86_64-unknown-linux-unknown-", b""), ("hipv4-amdgcn-amd-amdhsa--gfx900", b"dev1xx")];
        assert_eq!(targets, wanted);
    }

    #[test]
    fn what_is_written_reads_back() {
        let bundle: Vec<u8> = (0..100_000u32).map(|i| (i / 7) as u8).collect();
        for method in [Method::Zlib, Method::Zstd] {
            for version in 1..=3 {
                let bytes = compress(&bundle, method, version).expect("writable");
                assert!(bytes.len() < bundle.len() / 2, "{method:?}: {}", bytes.len());
                let header = Header::read(&bytes).expect("a header");
                let file_bytes = (version > 1).then_some(bytes.len() as u64);
                let hash = hash(&bundle);
                assert_eq!(header, Header { version, method, file_bytes, bundle_bytes: 100_000, hash });
                assert_eq!(decompress(&bytes).as_ref(), Ok(&bundle));
                assert!(decompress_within(&bytes, 99_999).is_err());
            }
        }
        assert!(compress(&bundle, Method::Zlib, 4).is_err());
    }

    #[test]
    fn contents_must_be_what_the_header_says() {
        let bytes = compress(&[7; 500], Method::Zlib, 3).expect("writable");
        // Version, method, sizes, hash, contents.
        for at in [4, 6, 8, 16, 24, 40] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 5;
            assert!(decompress(&damaged).is_err(), "{at}");
        }
        for length in 0..bytes.len() {
            assert!(decompress(&bytes[..length]).is_err(), "{length}");
        }
    }
}
