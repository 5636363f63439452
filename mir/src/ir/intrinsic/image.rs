//! Image intrinsics: `image.OPERATION.DIMENSION`, one family of some 700 names.
//!
//! Arguments: `[data, [compare,]] [dmask,] addresses.., resource, [sampler, unnormalised,] texfail, cache`. Which registers an
//! address takes follows from the operation's parts (`c`, `b`, `d`, `o`, ..), which stand in its name in a fixed order; here
//! they are facts.

use super::IntrinsicProps;
use std::sync::OnceLock;

/// An image intrinsic: a row of [`ImageIntrinsic::desc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageIntrinsic(u16);

/// Shapes of images, in the order of the field `dim` of GFX10's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the suffixes of the intrinsics")]
pub enum ImageDim {
    D1,
    D2,
    D3,
    Cube,
    D1Array,
    D2Array,
    D2Msaa,
    D2ArrayMsaa,
}

impl ImageDim {
    /// All shapes; those without samples come first.
    pub const ALL: [Self; 8] = [
        Self::D1,
        Self::D2,
        Self::D3,
        Self::Cube,
        Self::D1Array,
        Self::D2Array,
        Self::D2Msaa,
        Self::D2ArrayMsaa,
    ];

    /// Suffix of the intrinsic.
    pub fn name(self) -> &'static str {
        match self {
            Self::D1 => "1d",
            Self::D2 => "2d",
            Self::D3 => "3d",
            Self::Cube => "cube",
            Self::D1Array => "1darray",
            Self::D2Array => "2darray",
            Self::D2Msaa => "2dmsaa",
            Self::D2ArrayMsaa => "2darraymsaa",
        }
    }

    /// Coordinates, face, slice and sample included.
    pub fn coords(self) -> usize {
        match self {
            Self::D1 => 1,
            Self::D2 | Self::D1Array => 2,
            Self::D3 | Self::Cube | Self::D2Array | Self::D2Msaa => 3,
            Self::D2ArrayMsaa => 4,
        }
    }

    /// Derivatives: two for each coordinate of a plane or space.
    pub fn gradients(self) -> usize {
        match self {
            Self::D1 | Self::D1Array => 2,
            Self::D3 => 6,
            _ => 4,
        }
    }

    /// Whether the instruction's `da` bit is set: the resource is an array (a cube is one of six faces).
    pub fn is_array(self) -> bool {
        matches!(self, Self::Cube | Self::D1Array | Self::D2Array | Self::D2ArrayMsaa)
    }
}

/// What an image intrinsic does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageAction {
    /// Loads without a sampler.
    Load,
    /// Loads of a multisampled image what its mask says, in the instruction's own way.
    LoadSamples,
    /// Stores.
    Store,
    /// Read-modify-write; the name of the operation.
    Atomic(&'static str),
    /// Samples with a filter.
    Sample,
    /// Fetches four texels' channel.
    Gather4,
    /// The level of detail that a sample would have.
    GetLod,
    /// Sizes from the resource.
    GetResinfo,
}

/// The facts of one name.
#[derive(Clone, Debug)]
pub struct ImageDesc {
    /// Name without `llvm.`.
    pub name: String,
    /// Mnemonic of the instruction.
    pub instruction: String,
    /// What it does.
    pub action: ImageAction,
    /// Shape.
    pub dim: ImageDim,
    /// Texel offset argument.
    pub offset: bool,
    /// Bias argument.
    pub bias: bool,
    /// Comparison value.
    pub compare: bool,
    /// Derivatives as arguments.
    pub derivatives: bool,
    /// A level of detail, its clamp, or a mip level behind the coordinates.
    pub level: bool,
    /// Derivatives are taken from neighbouring lanes.
    pub implicit_derivatives: bool,
    /// Nothing comes back: it is there for what sampling itself does, such as recording which texels were asked for.
    pub no_result: bool,
}

impl ImageDesc {
    /// Number of data arguments in front.
    pub fn data_args(&self) -> usize {
        match self.action {
            ImageAction::Store => 1,
            ImageAction::Atomic("cmpswap") => 2,
            ImageAction::Atomic(_) => 1,
            _ => 0,
        }
    }

    /// Whether there is a `dmask` argument behind the data.
    pub fn has_dmask(&self) -> bool {
        !matches!(self.action, ImageAction::Atomic(_))
    }

    /// Whether there are a sampler and the `unnormalised` flag.
    pub fn has_sampler(&self) -> bool {
        matches!(self.action, ImageAction::Sample | ImageAction::Gather4 | ImageAction::GetLod)
    }

    /// Number of address arguments.
    pub fn addresses(&self) -> usize {
        let coords = if self.action == ImageAction::GetResinfo { 0 } else { self.dim.coords() };
        usize::from(self.offset)
            + usize::from(self.bias)
            + usize::from(self.compare)
            + if self.derivatives { self.dim.gradients() } else { 0 }
            + coords
            + usize::from(self.level)
    }

    /// Position of the first address argument.
    pub fn first_address(&self) -> usize {
        self.data_args() + usize::from(self.has_dmask())
    }

    /// Position of the resource.
    pub fn resource(&self) -> usize {
        self.first_address() + self.addresses()
    }

    /// Position of the sampler, where there is one.
    pub fn sampler(&self) -> Option<usize> {
        self.has_sampler().then(|| self.resource() + 1)
    }

    /// Position of the texture-fail argument; the cache bits follow.
    pub fn texfail(&self) -> usize {
        self.resource() + 1 + if self.has_sampler() { 2 } else { 0 }
    }

    fn props(&self) -> IntrinsicProps {
        match self.action {
            ImageAction::Store | ImageAction::Atomic(_) => IntrinsicProps::EFFECT,
            _ if self.no_result && self.implicit_derivatives => {
                IntrinsicProps::EFFECT.union(IntrinsicProps::CONVERGENT)
            }
            _ if self.no_result => IntrinsicProps::EFFECT,
            ImageAction::GetResinfo => IntrinsicProps::empty(),
            _ if self.implicit_derivatives => IntrinsicProps::READS.union(IntrinsicProps::CONVERGENT),
            _ => IntrinsicProps::READS,
        }
    }
}

/// Read-modify-write operations by the intrinsics' names.
const ATOMICS: [&str; 18] = [
    "swap",
    "add",
    "sub",
    "smin",
    "umin",
    "fmin",
    "smax",
    "umax",
    "fmax",
    "and",
    "or",
    "xor",
    "inc",
    "dec",
    "cmpswap",
    "add.flt",
    "pk.add.f16",
    "pk.add.bf16",
];

fn table() -> &'static [ImageDesc] {
    static TABLE: OnceLock<Vec<ImageDesc>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut rows = Vec::new();
        let plain = |op: &str, instruction: String, action, dim: ImageDim| ImageDesc {
            name: format!("amdgcn.image.{op}.{}", dim.name()),
            instruction,
            action,
            dim,
            offset: false,
            bias: false,
            compare: false,
            derivatives: false,
            level: false,
            implicit_derivatives: false,
            no_result: false,
        };
        for dim in ImageDim::ALL {
            let sampled = !matches!(dim, ImageDim::D2Msaa | ImageDim::D2ArrayMsaa);
            rows.push(plain("load", "image_load".into(), ImageAction::Load, dim));
            rows.push(plain("store", "image_store".into(), ImageAction::Store, dim));
            if sampled {
                let load = plain("load.mip", "image_load_mip".into(), ImageAction::Load, dim);
                rows.push(ImageDesc { level: true, ..load });
                let store = plain("store.mip", "image_store_mip".into(), ImageAction::Store, dim);
                rows.push(ImageDesc { level: true, ..store });
                let lod = plain("getlod", "image_get_lod".into(), ImageAction::GetLod, dim);
                rows.push(ImageDesc { implicit_derivatives: true, ..lod });
            }
            if !sampled {
                let action = ImageAction::LoadSamples;
                rows.push(plain("msaa.load.x", "image_msaa_load".into(), action, dim));
            }
            let info = plain("getresinfo", "image_get_resinfo".into(), ImageAction::GetResinfo, dim);
            rows.push(ImageDesc { level: true, ..info });
            for op in ATOMICS {
                let name = format!("atomic.{op}");
                let instruction = format!("image_atomic_{}", op.replace('.', "_"));
                rows.push(plain(&name, instruction, ImageAction::Atomic(op), dim));
            }
            if sampled {
                sampling(&mut rows, dim);
            }
        }
        rows
    })
}

/// The variants of sampling and gathering.
fn sampling(rows: &mut Vec<ImageDesc>, dim: ImageDim) {
    // Part of the name; explicit derivatives; bias; level; whether the level of detail needs no neighbours.
    let variants = [
        ("", false, false, false, false),
        (".cl", false, false, true, false),
        (".d", true, false, false, true),
        (".d.cl", true, false, true, true),
        (".cd", true, false, false, true),
        (".cd.cl", true, false, true, true),
        (".l", false, false, true, true),
        (".b", false, true, false, false),
        (".b.cl", false, true, true, false),
        (".lz", false, false, false, true),
    ];
    let gathers = matches!(dim, ImageDim::D2 | ImageDim::Cube | ImageDim::D2Array);
    for (action, base) in [(ImageAction::Sample, "sample"), (ImageAction::Gather4, "gather4")] {
        if action == ImageAction::Gather4 && !gathers {
            continue;
        }
        for (compare, c) in [(false, ""), (true, ".c")] {
            for (variant, derivatives, bias, level, explicit) in variants {
                if derivatives && action == ImageAction::Gather4 {
                    continue;
                }
                for (offset, o) in [(false, ""), (true, ".o")] {
                    let op = format!("{base}{c}{variant}{o}");
                    let row = ImageDesc {
                        name: format!("amdgcn.image.{op}.{}", dim.name()),
                        instruction: format!("image_{}", op.replace('.', "_")),
                        action,
                        dim,
                        offset,
                        bias,
                        compare,
                        derivatives,
                        level,
                        implicit_derivatives: !explicit,
                        no_result: false,
                    };
                    if action == ImageAction::Sample {
                        rows.push(ImageDesc {
                            name: format!("{}.nortn", row.name),
                            no_result: true,
                            ..row.clone()
                        });
                    }
                    rows.push(row);
                }
            }
        }
    }
}

impl ImageIntrinsic {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..table().len() as u16).map(Self)
    }

    /// The row of facts.
    #[inline]
    pub fn desc(self) -> &'static ImageDesc {
        &table()[usize::from(self.0)]
    }

    /// Properties.
    #[inline]
    pub fn props(self) -> IntrinsicProps {
        self.desc().props()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_where_llvm_has_them() {
        let desc = |name: &str| {
            ImageIntrinsic::all().map(ImageIntrinsic::desc).find(|d| d.name == format!("amdgcn.image.{name}"))
        };
        let load = desc("load.mip.2darray").expect("a row");
        assert_eq!((load.first_address(), load.resource(), load.texfail()), (1, 5, 6));
        let sample = desc("sample.c.d.cl.o.2d").expect("a row");
        // dmask, offset, compare, four derivatives, two coordinates, clamp.
        assert_eq!((sample.resource(), sample.sampler(), sample.texfail()), (10, Some(11), 13));
        assert_eq!(sample.instruction, "image_sample_c_d_cl_o");
        let nothing = desc("sample.b.2d.nortn").expect("a row");
        assert_eq!((nothing.resource(), nothing.sampler(), nothing.texfail()), (4, Some(5), 7));
        assert!(nothing.props().contains(IntrinsicProps::EFFECT));
        let swap = desc("atomic.cmpswap.1d").expect("a row");
        assert_eq!((swap.first_address(), swap.resource(), swap.texfail()), (2, 3, 4));
    }
}
