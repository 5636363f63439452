//! OpenCL's functions of images and samplers as a small library of LLVM IR, since libclc has none for GCN.
//!
//! A kernel gets an image as the address of 12 dwords of constant memory: the resource of eight dwords as hardware reads it (of buffers, four), then the
//! channels' type and order as HSA numbers them, then the width; a sampler as the address of its four dwords. That is what ROCm's runtime passes, so kernels work
//! there and on the simulator alike. Samplers that a program has as constants are a table.
//!
//! There are images of one to three dimensions, arrays of one and two, and buffers, `float`, `int`, `uint` and `half`; not depth images, multisampled ones and levels of detail, which are extensions.
//!
//! Sources: OpenCL C 3.0, "Image Read and Write Functions"; Itanium C++ ABI and clang for names; Vega ISA, "Image Resource Descriptor" and "Sampler Descriptor";
//! HSA runtime, `hsa_ext_image.h` (numbers of types and orders), and ROCr's image managers, which fill dwords 8 to 10.

use std::fmt::Write as _;

/// An OpenCL type of images.
struct Shape {
    /// In OpenCL's name, `image2d_array_t`, and in those of LLVM's intrinsics, `2darray`; empty for buffers.
    name: &'static str,
    intrinsic: &'static str,
    /// Coordinates, and the elements of the vector that they come in.
    coordinates: usize,
    elements: usize,
}

const fn shape(name: &'static str, intrinsic: &'static str, coordinates: usize, elements: usize) -> Shape {
    Shape { name, intrinsic, coordinates, elements }
}

const SHAPES: [Shape; 6] = [
    shape("1d", "1d", 1, 1),
    shape("1d_buffer", "", 1, 1),
    shape("1d_array", "1darray", 2, 2),
    shape("2d", "2d", 2, 2),
    shape("2d_array", "2darray", 3, 4),
    shape("3d", "3d", 3, 4),
];

impl Shape {
    fn is_buffer(&self) -> bool {
        self.intrinsic.is_empty()
    }

    fn is_array(&self) -> bool {
        self.name.ends_with("array")
    }

    /// `image2d_t` with an access as clang mangles it.
    fn mangled(&self, access: &str) -> String {
        let name = format!("ocl_image{}_{access}", self.name);
        format!("{}{name}", name.len())
    }

    /// The type of coordinates of `element`, in IR and mangled.
    fn vector(&self, element: &str, mangled: &str) -> (String, String) {
        match self.elements {
            1 => (element.to_owned(), mangled.to_owned()),
            n => (format!("<{n} x {element}>"), format!("Dv{n}_{mangled}")),
        }
    }

    /// The type of the resource.
    fn resource(&self) -> &'static str {
        if self.is_buffer() { "<4 x i32>" } else { "<8 x i32>" }
    }
}

/// What texels are read or written as.
struct Texel {
    suffix: &'static str,
    /// Element type in IR and mangled.
    element: &'static str,
    mangled: &'static str,
}

const TEXELS: [Texel; 4] = [
    Texel { suffix: "f", element: "float", mangled: "f" },
    Texel { suffix: "i", element: "i32", mangled: "i" },
    Texel { suffix: "ui", element: "i32", mangled: "j" },
    Texel { suffix: "h", element: "half", mangled: "Dh" },
];

/// First of OpenCL's numbers of channel orders and types.
const CL_ORDERS: u32 = 0x10b0;
const CL_TYPES: u32 = 0x10d0;

/// HSA's channel orders (A, R, Rx, RG, RGx, RA, RGB, RGBx, RGBA, BGRA, ARGB, ABGR, sRGB, sRGBx, sRGBA, sBGRA, intensity, luminance, depth, depth and stencil) as OpenCL's, less the first.
const ORDERS: [u32; 20] = [1, 0, 10, 2, 11, 3, 4, 12, 5, 6, 7, 19, 15, 16, 17, 18, 8, 9, 13, 14];

/// HSA's channel types (normalised, signed of 8 and 16 bits, unsigned of 8, 16, 24 bits, 555, 565, 101010; integers, signed of 8, 16, 32 bits, unsigned; half, float) as OpenCL's, less the first.
const TYPES: [u32; 16] = [0, 1, 2, 3, 15, 5, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14];

/// Attributes: 0 of what only computes or reads, 1 of what writes.
const ATTRIBUTES: &str = "attributes #0 = { alwaysinline nofree norecurse nounwind willreturn memory(read) }\n\
    attributes #1 = { alwaysinline nofree norecurse nounwind willreturn }\n!0 = !{}\n";

/// Whether bitcode may call one of the functions: its table of names holds names as they are.
pub fn is_used(bitcode: &[u8]) -> bool {
    [&b"ocl_image"[..], b"__translate_sampler_initializer"]
        .iter()
        .any(|name| bitcode.windows(name.len()).any(|window| window == *name))
}

/// The library as text of LLVM IR.
pub fn text() -> String {
    let mut out = format!(
        "source_filename = \"images\"\ntarget datalayout = \"{}\"\ntarget triple = \"amdgcn-amd-amdhsa\"\n\n",
        frontend::DATA_LAYOUT
    );
    declare(&mut out);
    tables(&mut out);
    for shape in &SHAPES {
        for access in ["ro", "wo", "rw"] {
            query(&mut out, shape, access);
            for texel in &TEXELS {
                if access != "wo" {
                    read(&mut out, shape, access, texel);
                }
                if access != "ro" {
                    write(&mut out, shape, access, texel);
                }
            }
        }
        for texel in TEXELS.iter().filter(|_| !shape.is_buffer()) {
            for coordinate in [("i32", "i"), ("float", "f")] {
                sample(&mut out, shape, texel, coordinate);
            }
        }
    }
    out + ATTRIBUTES
}

/// The library as bitcode.
///
/// # Errors
/// Of LLVM's parser; the text is right, and a test says so.
pub fn bitcode() -> mir::Result<Vec<u8>> {
    let context = frontend::Context::create();
    let module = frontend::parse(&context, text().as_bytes(), "images")?;
    Ok(module.write_bitcode_to_memory().as_slice().to_vec())
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{text}");
}

macro_rules! ir {
    ($out:expr, $($text:tt)*) => { line($out, format_args!($($text)*)) };
}

fn declare(out: &mut String) {
    let list = |ty: &str, n: usize| vec![ty; n].join(", ");
    ir!(out, "declare i32 @llvm.umin.i32(i32, i32)");
    ir!(
        out,
        "declare <4 x float> @llvm.amdgcn.struct.buffer.load.format.v4f32(<4 x i32>, i32, i32, i32, i32)"
    );
    ir!(
        out,
        "declare void @llvm.amdgcn.struct.buffer.store.format.v4f32(<4 x float>, <4 x i32>, i32, i32, i32, i32)"
    );
    for shape in SHAPES.iter().filter(|shape| !shape.is_buffer()) {
        let (name, n) = (shape.intrinsic, shape.coordinates);
        let (integers, floats) = (list("i32", n), list("float", n));
        ir!(
            out,
            "declare <4 x float> @llvm.amdgcn.image.load.{name}.v4f32.i32.v8i32(i32, {integers}, <8 x i32>, i32, i32)"
        );
        ir!(
            out,
            "declare void @llvm.amdgcn.image.store.{name}.v4f32.i32.v8i32(<4 x float>, i32, {integers}, <8 x i32>, i32, i32)"
        );
        ir!(
            out,
            "declare <4 x float> @llvm.amdgcn.image.sample.lz.{name}.v4f32.f32.v8i32.v4i32(i32, {floats}, <8 x i32>, <4 x i32>, i1, i32, i32)"
        );
    }
}

/// Samplers by flags, and what numbers of HSA's are in OpenCL.
fn tables(out: &mut String) {
    let samplers: Vec<String> = (0..64)
        .map(|flags| {
            format!(
                "<4 x i32> <{}>",
                mir::abi::sampler::words(flags).map(|word| format!("i32 {word}")).join(", ")
            )
        })
        .collect();
    ir!(
        out,
        "@samplers = internal unnamed_addr addrspace(4) constant [64 x <4 x i32>] [{}], align 16",
        samplers.join(", ")
    );
    ir!(out, "define hidden ptr addrspace(4) @__translate_sampler_initializer(i32 %flags) #0 {{");
    ir!(out, "  %index = and i32 %flags, 63");
    ir!(
        out,
        "  %place = getelementptr inbounds [64 x <4 x i32>], ptr addrspace(4) @samplers, i32 0, i32 %index"
    );
    ir!(out, "  ret ptr addrspace(4) %place\n}}");
    for (name, numbers, first, dword) in
        [("order", &ORDERS[..], CL_ORDERS, 9), ("type", &TYPES[..], CL_TYPES, 8)]
    {
        let count = numbers.len();
        let list: Vec<String> = numbers.iter().map(|number| format!("i32 {}", first + number)).collect();
        ir!(
            out,
            "@{name}s = internal unnamed_addr addrspace(4) constant [{count} x i32] [{}], align 4",
            list.join(", ")
        );
        ir!(out, "define internal i32 @{name}(ptr addrspace(4) %image) #0 {{");
        dword_of(out, "hsa", dword);
        ir!(out, "  %index = call i32 @llvm.umin.i32(i32 %hsa, i32 {})", count - 1);
        ir!(
            out,
            "  %place = getelementptr inbounds [{count} x i32], ptr addrspace(4) @{name}s, i32 0, i32 %index"
        );
        ir!(out, "  %number = load i32, ptr addrspace(4) %place, align 4");
        ir!(out, "  ret i32 %number\n}}");
    }
}

/// Loads a dword of `%image`.
fn dword_of(out: &mut String, name: &str, dword: u32) {
    ir!(out, "  %{name}.place = getelementptr inbounds i32, ptr addrspace(4) %image, i32 {dword}");
    ir!(out, "  %{name} = load i32, ptr addrspace(4) %{name}.place, align 4, !invariant.load !0");
}

/// Extracts a field that holds one less, from bit `shift` of a dword of `%image`.
fn extent(out: &mut String, name: &str, dword: u32, shift: u32, bits: u32) {
    dword_of(out, &format!("{name}.word"), dword);
    ir!(out, "  %{name}.down = lshr i32 %{name}.word, {shift}");
    ir!(out, "  %{name}.less = and i32 %{name}.down, {}", (1u32 << bits) - 1);
    ir!(out, "  %{name} = add i32 %{name}.less, 1");
}

/// The width, which is behind the resource: where the resource has it depends on the generation. All other fields are at the same places.
fn width(out: &mut String) {
    dword_of(out, "width", 10);
}

/// What is asked of an image.
fn query(out: &mut String, shape: &Shape, access: &str) {
    let image = shape.mangled(access);
    let open = |out: &mut String, ty: &str, name: &str| {
        ir!(out, "define hidden {ty} @_Z{}{name}{image}(ptr addrspace(4) %image) #0 {{", name.len());
    };
    let close = |out: &mut String, value: &str| ir!(out, "  ret {value}\n}}");
    open(out, "i32", "get_image_width");
    width(out);
    close(out, "i32 %width");
    for (name, function) in [("order", "get_image_channel_order"), ("type", "get_image_channel_data_type")] {
        open(out, "i32", function);
        ir!(out, "  %number = call i32 @{name}(ptr addrspace(4) %image)");
        close(out, "i32 %number");
    }
    if shape.is_array() {
        open(out, "i64", "get_image_array_size");
        extent(out, "slices", 4, 0, 13);
        ir!(out, "  %wide = zext i32 %slices to i64");
        close(out, "i64 %wide");
    }
    if !shape.name.starts_with("1d") {
        open(out, "i32", "get_image_height");
        extent(out, "height", 2, 14, 14);
        close(out, "i32 %height");
        let (ty, solid) = match shape.name {
            "3d" => ("<4 x i32>", true),
            _ => ("<2 x i32>", false),
        };
        open(out, ty, "get_image_dim");
        width(out);
        extent(out, "height", 2, 14, 14);
        ir!(out, "  %x = insertelement {ty} zeroinitializer, i32 %width, i32 0");
        ir!(out, "  %xy = insertelement {ty} %x, i32 %height, i32 1");
        if solid {
            extent(out, "depth", 4, 0, 13);
            ir!(out, "  %xyz = insertelement {ty} %xy, i32 %depth, i32 2");
        }
        close(out, &format!("{ty} {}", if solid { "%xyz" } else { "%xy" }));
        if solid {
            open(out, "i32", "get_image_depth");
            extent(out, "depth", 4, 0, 13);
            close(out, "i32 %depth");
        }
    }
}

/// Loads the resource, and takes the coordinates `%at` of `element` apart; the arguments that they make.
fn operands(out: &mut String, shape: &Shape, element: &str) -> String {
    ir!(
        out,
        "  %resource = load {}, ptr addrspace(4) %image, align 16, !invariant.load !0",
        shape.resource()
    );
    let (vector, _) = shape.vector(element, "");
    let mut arguments = Vec::with_capacity(shape.coordinates);
    for k in 0..shape.coordinates {
        match shape.elements {
            1 => arguments.push(format!("{element} %at")),
            _ => {
                ir!(out, "  %at.{k} = extractelement {vector} %at, i32 {k}");
                arguments.push(format!("{element} %at.{k}"));
            }
        }
    }
    arguments.join(", ")
}

/// Returns `%texel`, four floats, as what the function gives.
fn finish_read(out: &mut String, texel: &Texel) {
    match texel.element {
        "float" => ir!(out, "  ret <4 x float> %texel\n}}"),
        "half" => {
            ir!(out, "  %narrow = fptrunc <4 x float> %texel to <4 x half>");
            ir!(out, "  ret <4 x half> %narrow\n}}");
        }
        element => {
            ir!(out, "  %bits = bitcast <4 x float> %texel to <4 x {element}>");
            ir!(out, "  ret <4 x {element}> %bits\n}}");
        }
    }
}

fn read(out: &mut String, shape: &Shape, access: &str, texel: &Texel) {
    let name = format!("read_image{}", texel.suffix);
    let (vector, mangled) = shape.vector("i32", "i");
    let image = shape.mangled(access);
    ir!(
        out,
        "define hidden <4 x {}> @_Z{}{name}{image}{mangled}(ptr addrspace(4) %image, {vector} %at) #0 {{",
        texel.element,
        name.len()
    );
    let at = operands(out, shape, "i32");
    match shape.is_buffer() {
        true => ir!(
            out,
            "  %texel = call <4 x float> @llvm.amdgcn.struct.buffer.load.format.v4f32(<4 x i32> %resource, {at}, i32 0, i32 0, i32 0)"
        ),
        false => ir!(
            out,
            "  %texel = call <4 x float> @llvm.amdgcn.image.load.{}.v4f32.i32.v8i32(i32 15, {at}, <8 x i32> %resource, i32 0, i32 0)",
            shape.intrinsic
        ),
    }
    finish_read(out, texel);
}

fn write(out: &mut String, shape: &Shape, access: &str, texel: &Texel) {
    let name = format!("write_image{}", texel.suffix);
    let (vector, mangled) = shape.vector("i32", "i");
    let (image, element) = (shape.mangled(access), texel.element);
    ir!(
        out,
        "define hidden void @_Z{}{name}{image}{mangled}Dv4_{}(ptr addrspace(4) %image, {vector} %at, <4 x {element}> %value) #1 {{",
        name.len(),
        texel.mangled
    );
    let at = operands(out, shape, "i32");
    let cast = match element {
        "half" => "fpext",
        _ => "bitcast",
    };
    ir!(out, "  %texel = {cast} <4 x {element}> %value to <4 x float>");
    match shape.is_buffer() {
        true => ir!(
            out,
            "  call void @llvm.amdgcn.struct.buffer.store.format.v4f32(<4 x float> %texel, <4 x i32> %resource, {at}, i32 0, i32 0, i32 0)"
        ),
        false => ir!(
            out,
            "  call void @llvm.amdgcn.image.store.{}.v4f32.i32.v8i32(<4 x float> %texel, i32 15, {at}, <8 x i32> %resource, i32 0, i32 0)",
            shape.intrinsic
        ),
    }
    ir!(out, "  ret void\n}}");
}

fn sample(out: &mut String, shape: &Shape, texel: &Texel, (element, letter): (&str, &str)) {
    let name = format!("read_image{}", texel.suffix);
    let (vector, mangled) = shape.vector(element, letter);
    let image = shape.mangled("ro");
    ir!(
        out,
        "define hidden <4 x {}> @_Z{}{name}{image}11ocl_sampler{mangled}(ptr addrspace(4) %image, ptr addrspace(4) %sampler, {vector} %coordinates) #0 {{",
        texel.element,
        name.len()
    );
    let (floats, _) = shape.vector("float", "f");
    match element {
        // The sampler's coordinates are those of texels then.
        "i32" => ir!(out, "  %at = sitofp {vector} %coordinates to {floats}"),
        _ => ir!(out, "  %at = bitcast {floats} %coordinates to {floats}"),
    }
    let at = operands(out, shape, "float");
    ir!(out, "  %filter = load <4 x i32>, ptr addrspace(4) %sampler, align 16, !invariant.load !0");
    ir!(
        out,
        "  %texel = call <4 x float> @llvm.amdgcn.image.sample.lz.{}.v4f32.f32.v8i32.v4i32(i32 15, {at}, <8 x i32> %resource, <4 x i32> %filter, i1 false, i32 0, i32 0)",
        shape.intrinsic
    );
    finish_read(out, texel);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LLVM reads the library, and names are those that clang calls (taken from what clang 22 makes of a source that calls each).
    #[test]
    fn the_library_has_the_names_that_clang_calls() {
        let text = text();
        let context = frontend::Context::create();
        frontend::parse(&context, text.as_bytes(), "images").unwrap();
        for name in [
            "_Z11read_imagef14ocl_image2d_ro11ocl_samplerDv2_f",
            "_Z12read_imageui20ocl_image2d_array_ro11ocl_samplerDv4_i",
            "_Z11read_imagei14ocl_image2d_rwDv2_i",
            "_Z11read_imagef21ocl_image1d_buffer_roi",
            "_Z13write_imageui14ocl_image2d_woDv2_iDv4_j",
            "_Z12write_imagef14ocl_image1d_woiDv4_f",
            "_Z12write_imageh14ocl_image2d_woDv2_iDv4_Dh",
            "_Z13get_image_dim14ocl_image3d_ro",
            "_Z20get_image_array_size20ocl_image1d_array_ro",
            "_Z27get_image_channel_data_type21ocl_image1d_buffer_ro",
            "_Z16get_image_height14ocl_image2d_wo",
        ] {
            assert!(text.contains(&format!("@{name}(")), "{name}");
        }
    }
}
