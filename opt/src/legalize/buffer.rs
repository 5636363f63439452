//! Buffer and image intrinsics: to the form of [`mir::ir::legal`].

use super::{Legalizer, Parts};
use mir::ir::legal::Control;
use mir::ir::*;
use mir::target::Features;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// Dwords of a legal access.
type Words = SmallVec<[Value; 8]>;

/// What is loaded or stored.
struct Data {
    /// Type of the data, without the status of a texture fail.
    ty: Type,
    /// One element of it.
    scalar: Scalar,
    /// Whether the instruction handles 16-bit channels.
    d16: bool,
    /// Whether there is a status dword.
    tfe: bool,
}

impl Legalizer<'_> {
    fn unsupported_here(&self, name: &str, why: &str) -> Box<Diagnostic> {
        Diagnostic::unsupported(format!("llvm.{name}: {why} on {}", self.ctx.machine))
    }

    /// The immediate argument `value`.
    pub(super) fn immediate(&self, value: Value, what: &str) -> Result<u64> {
        self.old.as_int(value).ok_or_else(|| Diagnostic::malformed(format!("{what} must be a constant")))
    }

    /// Data of type `ty`, or of a struct of data and status.
    fn data_of(&self, ty: Type, formatted: bool) -> Result<Data> {
        let (data, tfe) = match ty {
            Type::Aggregate(agg) => match &self.ctx.module.types.aggregates[agg] {
                Aggregate::Struct { fields, .. } if fields.len() == 2 && fields[1].0 == Type::I32 => {
                    (fields[0].0, true)
                }
                _ => return Err(Diagnostic::malformed("result is neither data nor data and status")),
            },
            other => (other, false),
        };
        let scalar = data.scalar().ok_or_else(|| Diagnostic::unsupported("memory access of this type"))?;
        Ok(Data { ty: data, scalar, d16: formatted && scalar.bits() == 16, tfe })
    }

    /// Whether 16-bit channels are packed two to a dword.
    fn packs_d16(&self) -> bool {
        self.ctx.machine.has(Features::PACKED_D16)
    }

    /// Data as the instruction takes it: dwords, or one narrow integer.
    fn data_words(&mut self, value: Value, data: &Data) -> Result<Words> {
        let parts = self.parts(value)?;
        if data.d16 && !self.packs_d16() {
            let mut words = Words::new();
            for &part in &parts {
                words.push(self.split_dwords(&[part], data.scalar)[0]);
            }
            return Ok(words);
        }
        Ok(self.split_dwords(&parts, data.scalar))
    }

    /// One value of dwords.
    fn joined(&mut self, words: &[Value]) -> Value {
        if let [word] = words { *word } else { self.b.vector(words) }
    }

    /// Parts of a result of type `ty` from the dwords of the instruction.
    fn data_parts(&mut self, words: &[Value], data: &Data, lanes: u32) -> Parts {
        let mut out = Parts::new();
        for lane in 0..lanes {
            if data.d16 && !self.packs_d16() {
                self.join_dwords(&words[lane as usize..=lane as usize], 0, data.scalar, &mut out);
            } else {
                self.join_dwords(words, lane * data.scalar.bits(), data.scalar, &mut out);
            }
        }
        out
    }

    /// The dwords of `value`, which is i32 or a vector of i32.
    fn words_of(&mut self, value: Value, count: usize) -> Words {
        if count == 1 && self.b.ty(value) == Type::I32 {
            return std::iter::once(value).collect();
        }
        (0..count as u32).map(|i| self.b.extract(value, i)).collect()
    }

    /// The resource or sampler `value` of `dwords` dwords.
    pub(super) fn descriptor(&mut self, value: Value, dwords: usize) -> Result<Value> {
        let parts = self.parts(value)?;
        match (self.old.ty(value), &parts[..]) {
            (Type::Scalar(Scalar::Ptr(AddrSpace::BUFFER_RESOURCE)), &[part]) if dwords == 4 => {
                Ok(self.b.bitcast(part, Type::Vector(Scalar::Int(32), 4)))
            }
            (ty, _) => {
                let scalar =
                    ty.scalar().ok_or_else(|| Diagnostic::malformed("resource that is no vector"))?;
                let words = self.split_dwords(&parts, scalar);
                if words.len() != dwords {
                    return Err(Diagnostic::malformed(format!("resource of {} dwords", words.len())));
                }
                Ok(self.b.vector(&words))
            }
        }
    }

    pub(super) fn lower_buffer(&mut self, id: BufferIntrinsic, args: &[Value], ty: Type) -> Result<Parts> {
        let desc = id.desc();
        if args.len() <= desc.aux() {
            return Err(Diagnostic::malformed("too few arguments"));
        }
        let resource = self.descriptor(args[desc.resource()], 4)?;
        let index = match desc.index() {
            Some(at) => self.part(args[at])?,
            None => self.b.undef(Type::I32),
        };
        let (offset, soffset) = (self.part(args[desc.offset()])?, self.part(args[desc.soffset()])?);
        let mut control = Control::from_cache(self.immediate(args[desc.aux()], "the cache argument")?);
        // The field has seven bits.
        let format =
            if desc.typed { self.immediate(args[desc.soffset() + 1], "the format")? & 127 } else { 0 };
        let mut all: SmallVec<[Value; 4]> =
            SmallVec::from_slice(&[resource, index, offset, soffset, resource]);
        // Cache bits of later generations say, among others, that the resource swizzles.
        let plain = self.old.as_int(args[desc.aux()]) == Some(0);
        let flags = if plain { self.old.insts[self.current].flags } else { InstFlags::empty() };
        let flags = flags & InstFlags::INVARIANT;
        let mut finish = |this: &mut Self, control: Control, data: &[Value], result: Type| {
            all[4] = this.b.i32(control.bits());
            all.extend_from_slice(data);
            let kind = InstKind::Intrinsic { intrinsic: Intrinsic::Buffer(id), args: all.clone() };
            this.b.push(kind, result, flags)
        };
        let formatted = matches!(desc.action, BufferAction::LoadFormat | BufferAction::StoreFormat);
        match desc.action {
            BufferAction::LoadLds => {
                let lds = self.part(args[desc.resource() + 1])?;
                let size = self.immediate(args[desc.resource() + 2], "the size")?;
                let imm = self.immediate(args[desc.aux() - 1], "the offset")?;
                if !matches!(size, 1 | 2 | 4) {
                    return Err(self.unsupported_here(&desc.name, &format!("{size} bytes")));
                }
                if imm > 4095 {
                    return Err(Diagnostic::malformed(format!("llvm.{}: offset {imm}", desc.name)));
                }
                let (size, imm) = (self.b.i32(size as u32), self.b.i32(imm as u32));
                finish(self, control, &[lds, size, imm], Type::Void);
                Ok(Parts::new())
            }
            BufferAction::Atomic(op) => {
                let data_ty = self.old.ty(args[0]);
                let data = self.data_of(data_ty, false)?;
                let bits = match data_ty.bits() {
                    Some(bits @ (32 | 64)) if data_ty.lanes() == 1 || !op.starts_with('f') => bits,
                    _ => return Err(self.unsupported_here(&desc.name, "data of this type")),
                };
                let mut values: SmallVec<[Value; 2]> = SmallVec::new();
                for &arg in &args[..desc.data_args()] {
                    let words = self.data_words(arg, &data)?;
                    values.push(self.joined(&words));
                }
                let count = (bits / 32) as usize;
                let result = dwords(count);
                let old = finish(self, control, &values, result)
                    .ok_or_else(|| Diagnostic::defect("atomic without a result"))?;
                let words = self.words_of(old, count);
                Ok(self.data_parts(&words, &data, data_ty.lanes()))
            }
            BufferAction::Store | BufferAction::StoreFormat => {
                let data_ty = self.old.ty(args[0]);
                let data = self.data_of(data_ty, formatted)?;
                let shape = self.buffer_shape(&desc.name, &data, formatted)?;
                let value = match shape {
                    Shape::Narrow(bits) => {
                        let words = self.data_words(args[0], &data)?;
                        self.b.zext_or_trunc(words[0], Type::int(bits))
                    }
                    Shape::Words(..) => {
                        let words = self.data_words(args[0], &data)?;
                        self.joined(&words)
                    }
                };
                control.set(Control::D16, data.d16);
                let control = control.with_numbers(shape.channels(&data), format as u32);
                finish(self, control, &[value], Type::Void);
                Ok(Parts::new())
            }
            BufferAction::Load | BufferAction::LoadFormat | BufferAction::AtomicLoad => {
                let data = self.data_of(ty, formatted)?;
                let shape = self.buffer_shape(&desc.name, &data, formatted)?;
                control.set(Control::D16, data.d16);
                control.set(Control::TFE, data.tfe);
                control.set(
                    Control::VOLATILE,
                    desc.action == BufferAction::AtomicLoad || control.contains(Control::VOLATILE),
                );
                // Narrow data with a status say their width where a format would be.
                let format = if let Shape::Narrow(bits) = shape { u64::from(bits) } else { format };
                let control = control.with_numbers(shape.channels(&data), format as u32);
                let count = shape.words();
                let result = match shape {
                    Shape::Narrow(bits) if !data.tfe => Type::int(bits),
                    _ => dwords(count + usize::from(data.tfe)),
                };
                let loaded = finish(self, control, &[], result)
                    .ok_or_else(|| Diagnostic::defect("load without a result"))?;
                let words = if let Shape::Narrow(_) = shape
                    && !data.tfe
                {
                    std::iter::once(self.b.zext_or_trunc(loaded, Type::I32)).collect()
                } else {
                    self.words_of(loaded, count + usize::from(data.tfe))
                };
                let mut out = self.data_parts(&words[..count], &data, data.ty.lanes());
                out.extend(words.get(count).copied());
                Ok(out)
            }
        }
    }

    /// What a buffer load or store of `data` moves.
    fn buffer_shape(&self, name: &str, data: &Data, formatted: bool) -> Result<Shape> {
        let lanes = data.ty.lanes();
        let bits = u64::from(data.scalar.bits()) * u64::from(lanes);
        if formatted {
            if data.d16 {
                if !self.ctx.machine.has(Features::D16_FORMATS) {
                    return Err(self.unsupported_here(name, "16-bit channels"));
                }
                let words = if self.packs_d16() { lanes.div_ceil(2) } else { lanes };
                return if (1..=4).contains(&lanes) {
                    Ok(Shape::Words(words))
                } else {
                    Err(self.unsupported_here(name, "more than four channels"))
                };
            }
            if data.scalar.bits() != 32 || !(1..=4).contains(&lanes) {
                return Err(self.unsupported_here(name, "data of this type"));
            }
            return Ok(Shape::Words(lanes));
        }
        match bits {
            8 | 16 => Ok(Shape::Narrow(bits as u32)),
            32 | 64 | 96 | 128 => Ok(Shape::Words((bits / 32) as u32)),
            _ => Err(self.unsupported_here(name, &format!("{bits} bits"))),
        }
    }

    /// `s.buffer.load(resource, offset, cache)`.
    pub(super) fn lower_scalar_buffer(&mut self, args: &[Value], ty: Type) -> Result<Parts> {
        let [resource, offset, cache, ..] = *args else {
            return Err(Diagnostic::malformed("too few arguments"));
        };
        let resource = self.descriptor(resource, 4)?;
        let offset = self.part(offset)?;
        let cache = self.immediate(cache, "the cache argument")?;
        let data = self.data_of(ty, false)?;
        let lanes = data.ty.lanes();
        let bits = u64::from(data.scalar.bits()) * u64::from(lanes);
        let cache = self.b.i32(cache as u32);
        let result = match bits {
            8 | 16 => Type::int(bits as u32),
            32 => Type::I32,
            // No scalar load has three dwords.
            96 => dwords(4),
            64 | 128 | 256 | 512 => dwords((bits / 32) as usize),
            _ => return Err(Diagnostic::unsupported(format!("llvm.amdgcn.s.buffer.load of {bits} bits"))),
        };
        let args = SmallVec::from_slice(&[resource, offset, cache]);
        let kind = InstKind::Intrinsic { intrinsic: Intrinsic::SBufferLoad, args };
        let Some(loaded) = self.b.push(kind, result, InstFlags::empty()) else {
            return Err(Diagnostic::defect("load without a result"));
        };
        let words = match bits {
            8 | 16 => std::iter::once(self.b.zext_or_trunc(loaded, Type::I32)).collect(),
            _ => self.words_of(loaded, (bits / 32) as usize),
        };
        Ok(self.data_parts(&words, &data, lanes))
    }

    pub(super) fn lower_image(&mut self, id: ImageIntrinsic, args: &[Value], ty: Type) -> Result<Parts> {
        let desc = id.desc();
        if args.len() < desc.texfail() + 2 {
            return Err(Diagnostic::malformed("too few arguments"));
        }
        let texfail = self.immediate(args[desc.texfail()], "the texture-fail argument")?;
        let mut control =
            Control::from_cache(self.immediate(args[desc.texfail() + 1], "the cache argument")?);
        if texfail & !3 != 0 {
            return Err(Diagnostic::malformed(format!(
                "llvm.{}: texture-fail argument {texfail}",
                desc.name
            )));
        }
        control.set(Control::TFE, texfail & 1 != 0);
        control.set(Control::LWE, texfail & 2 != 0);
        let resource = self.descriptor(args[desc.resource()], 8)?;
        let sampler = match desc.sampler() {
            Some(at) => {
                let unorm = self.immediate(args[at + 1], "the unnormalised flag")?;
                control.set(Control::UNORM, unorm & 1 != 0);
                self.descriptor(args[at], 4)?
            }
            None => {
                control |= Control::UNORM;
                self.b.undef(Type::I32)
            }
        };
        let (address, widths) = self.image_address(desc, &args[desc.first_address()..desc.resource()])?;
        control |= widths;
        let address = self.joined(&address);
        if desc.no_result {
            if texfail != 0 {
                return Err(self.unsupported_here(&desc.name, "a texture-fail argument without a result"));
            }
            // Where the hardware delivers channels all the same, they find registers.
            let dmask = (self.immediate(args[desc.data_args()], "dmask")? as u32 & 15).max(1);
            let control = self.b.i32(control.with_numbers(dmask.count_ones(), 0).bits());
            let dmask = self.b.i32(dmask);
            let args = SmallVec::from_slice(&[resource, sampler, address, control, dmask]);
            let kind = InstKind::Intrinsic { intrinsic: Intrinsic::Image(id), args };
            self.b.push(kind, Type::Void, InstFlags::empty());
            return Ok(Parts::new());
        }
        let (mut values, data_ty) = (SmallVec::<[Value; 2]>::new(), args.first().map(|&a| self.old.ty(a)));
        let stores = matches!(desc.action, ImageAction::Store | ImageAction::Atomic(_));
        let data = self.data_of(
            if stores { data_ty.unwrap_or(ty) } else { ty },
            !matches!(desc.action, ImageAction::Atomic(_)),
        )?;
        let lanes = data.ty.lanes();
        if data.d16 && !self.ctx.machine.has(Features::D16_FORMATS) {
            return Err(self.unsupported_here(&desc.name, "16-bit channels"));
        }
        control.set(Control::D16, data.d16);
        if data.tfe != control.intersects(Control::TFE | Control::LWE) {
            return Err(Diagnostic::malformed(format!(
                "llvm.{}: the result does not fit the texture-fail argument",
                desc.name
            )));
        }
        let mut dmask = 0;
        if desc.has_dmask() {
            let given = self.immediate(args[desc.data_args()], "dmask")?;
            // The field has four bits; what has none of them is no request for nothing.
            dmask = if given > 15 { (given as u32 & 15).max(1) } else { given as u32 };
            if desc.action == ImageAction::Gather4 && dmask.count_ones() != 1 {
                return Err(Diagnostic::malformed(format!("llvm.{}: dmask {dmask}", desc.name)));
            }
        }
        if !data.d16 && !matches!(data.scalar.bits(), 32) && !matches!(desc.action, ImageAction::Atomic(_)) {
            return Err(self.unsupported_here(&desc.name, "data of this type"));
        }
        if stores {
            for &arg in &args[..desc.data_args()] {
                let words = self.data_words(arg, &data)?;
                values.extend(words);
            }
        }
        let count = match desc.action {
            ImageAction::Atomic(_) => {
                let bits = u64::from(data.scalar.bits()) * u64::from(lanes);
                if !matches!(bits, 32 | 64) {
                    return Err(self.unsupported_here(&desc.name, "data of this type"));
                }
                // Bits of the data: one or two dwords, twice that for a comparison.
                dmask = (1 << values.len()) - 1;
                (bits / 32) as usize
            }
            ImageAction::Store => {
                if dmask.count_ones() < lanes && lanes > 1 || dmask == 0 {
                    // The instruction reads as many channels as the mask has bits; LLVM's verifier does not
                    // ask for more.
                    let wanted = if data.d16 && self.packs_d16() {
                        dmask.count_ones().div_ceil(2)
                    } else {
                        dmask.count_ones()
                    };
                    values.truncate(wanted.max(1) as usize);
                }
                values.len()
            }
            _ => {
                let channels = if desc.action == ImageAction::Gather4 { 4 } else { dmask.count_ones() };
                if channels > lanes {
                    return Err(Diagnostic::malformed(format!(
                        "llvm.{}: dmask {dmask} selects more channels than the result has",
                        desc.name
                    )));
                }
                if channels == 0 && !data.tfe {
                    // Nothing is loaded.
                    let mut out = Parts::new();
                    for ty in self.part_types(ty)? {
                        out.push(self.b.undef(ty));
                    }
                    return Ok(out);
                }
                let channels = channels.max(1);
                dmask = if dmask == 0 { 1 } else { dmask };
                let packed = data.d16 && self.packs_d16();
                (if packed { channels.div_ceil(2) } else { channels }) as usize
            }
        };
        let words_in_all = count + usize::from(data.tfe);
        let control = control.with_numbers(count as u32, 0);
        let (control_value, dmask_value) = (self.b.i32(control.bits()), self.b.i32(dmask));
        let mut all: SmallVec<[Value; 4]> =
            SmallVec::from_slice(&[resource, sampler, address, control_value, dmask_value]);
        if stores {
            all.push(self.joined(&values));
        }
        let kind = InstKind::Intrinsic { intrinsic: Intrinsic::Image(id), args: all };
        if desc.action == ImageAction::Store {
            self.b.push(kind, Type::Void, InstFlags::empty());
            return Ok(Parts::new());
        }
        let Some(loaded) = self.b.push(kind, dwords(words_in_all), InstFlags::empty()) else {
            return Err(Diagnostic::defect("image operation without a result"));
        };
        let words = self.words_of(loaded, words_in_all);
        // Elements beyond the channels are undefined.
        let mut channels: Words = words[..count].iter().copied().collect();
        let wanted = if data.d16 && self.packs_d16() { lanes.div_ceil(2) } else { lanes };
        if !matches!(desc.action, ImageAction::Atomic(_)) {
            let undef = self.b.undef(Type::I32);
            channels.resize(channels.len().max(wanted as usize), undef);
        }
        let mut out = self.data_parts(&channels, &data, lanes);
        if data.tfe {
            out.push(words[count]);
        }
        Ok(out)
    }

    /// Where a ray meets a node of a tree of boxes and triangles: node, length of the ray, its origin, direction and the inverse of that,
    /// the tree's resource. The legal form is that of an image; pairs of the direction's halves share dwords, those of its inverse follow
    /// without a gap.
    ///
    /// Source: RDNA 2 ISA, "Ray Tracing".
    pub(super) fn lower_ray(&mut self, args: &[Value]) -> Result<Parts> {
        let intrinsic = Intrinsic::ImageBvhIntersectRay;
        let &[node, extent, origin, direction, inverse, resource] = args else {
            return Err(Diagnostic::malformed("six arguments expected"));
        };
        if !self.ctx.machine.has(Features::RAY_TRACING) {
            return Err(self.unsupported_here(intrinsic.name(), "no ray tracing"));
        }
        let mut words = Words::new();
        for value in [node, extent, origin] {
            let (scalar, lanes) = self.lanes(value)?;
            words.extend(self.split_dwords(&lanes, scalar));
        }
        let mut rest = Words::new();
        let mut width = 0;
        for value in [direction, inverse] {
            let (scalar, lanes) = self.lanes(value)?;
            width = scalar.bits();
            for lane in lanes {
                rest.push(self.split_dwords(&[lane], scalar)[0]);
            }
        }
        if width == 16 {
            for pair in rest.chunks(2) {
                let &[low, high] = pair else { return Err(Diagnostic::malformed("odd number of halves")) };
                let (low, high) = (self.zero_extended(low, 16), self.b.shl_imm(high, 16));
                words.push(self.b.or(low, high));
            }
        } else {
            words.extend(rest);
        }
        let wide = self.old.ty(node).bits() == Some(64);
        if words.len() != if width == 16 { 8 } else { 11 } + usize::from(wide) {
            return Err(self.unsupported_here(intrinsic.name(), "a ray of these types"));
        }
        let resource = self.descriptor(resource, 4)?;
        let sampler = self.b.undef(Type::I32);
        let address = self.b.vector(&words);
        let control = self.b.i32(
            Control::empty().with_numbers(4, 0).bits() | if width == 16 { Control::A16.bits() } else { 0 },
        );
        let args = SmallVec::from_slice(&[resource, sampler, address, control]);
        let kind = InstKind::Intrinsic { intrinsic, args };
        let Some(hit) = self.b.push(kind, dwords(4), InstFlags::empty()) else {
            return Err(Diagnostic::defect("ray without a result"));
        };
        Ok(self.words_of(hit, 4).into_iter().collect())
    }

    /// Dwords of an image's address, and whether coordinates and derivatives have 16 bits. Those are packed in pairs; each
    /// derivative's row, offset, bias and comparison value start a dword of their own.
    fn image_address(&mut self, desc: &ImageDesc, args: &[Value]) -> Result<(Words, Control)> {
        let front = usize::from(desc.offset) + usize::from(desc.bias) + usize::from(desc.compare);
        let gradients = if desc.derivatives { desc.dim.gradients() } else { 0 };
        let narrow = |this: &Self, value: Value| this.old.ty(value).bits() == Some(16);
        let coord_start = front + gradients;
        let a16 = args.get(coord_start).is_some_and(|&v| narrow(self, v));
        let g16 = gradients > 0 && args.get(front).is_some_and(|&v| narrow(self, v));
        if (a16 || g16) && !self.ctx.machine.has(Features::IMAGE_A16) {
            return Err(self.unsupported_here(&desc.name, "16-bit addresses"));
        }
        let apart = self.ctx.machine.has(Features::IMAGE_G16);
        if gradients > 0 && a16 != g16 && !apart {
            return Err(self.unsupported_here(&desc.name, "derivatives and coordinates of different width"));
        }
        let mut words = Words::new();
        let mut at = 0;
        while at < args.len() {
            let value = self.part(args[at])?;
            let scalar = self.old.ty(args[at]).scalar().unwrap_or(Scalar::Int(32));
            let low = self.split_dwords(&[value], scalar)[0];
            let half = gradients / 2;
            // The last value of a row of derivatives and of the coordinates has no partner.
            let ends_row = half % 2 == 1 && (at + 1 == front + half || at + 1 == front + gradients);
            let pairs = narrow(self, args[at])
                && at >= front
                && !ends_row
                && at + 1 < args.len()
                && narrow(self, args[at + 1]);
            if pairs && (at + 1 != coord_start) {
                let next = self.part(args[at + 1])?;
                let scalar = self.old.ty(args[at + 1]).scalar().unwrap_or(Scalar::Int(32));
                let high = self.split_dwords(&[next], scalar)[0];
                let high = self.b.shl_imm(high, 16);
                words.push(self.b.or(low, high));
                at += 2;
            } else {
                words.push(low);
                at += 1;
            }
        }
        let mut widths = Control::empty();
        widths.set(Control::A16, a16);
        widths.set(Control::G16, g16 && apart);
        Ok((words, widths))
    }
}

/// How a buffer's data look.
#[derive(Clone, Copy)]
enum Shape {
    /// A byte or a half.
    Narrow(u32),
    /// Dwords.
    Words(u32),
}

impl Shape {
    fn words(self) -> usize {
        match self {
            Self::Narrow(_) => 1,
            Self::Words(n) => n as usize,
        }
    }

    /// Channels that the instruction's name counts.
    fn channels(self, data: &Data) -> u32 {
        match self {
            Self::Narrow(_) => 0,
            Self::Words(_) if data.d16 => data.ty.lanes(),
            Self::Words(n) => n,
        }
    }
}

/// The type of `count` dwords.
fn dwords(count: usize) -> Type {
    if count == 1 { Type::I32 } else { Type::Vector(Scalar::Int(32), count as u32) }
}
