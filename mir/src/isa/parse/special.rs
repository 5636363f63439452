//! Immediates with a syntax of their own: wait counters, hardware registers, messages, GPR index modes, swizzle patterns,
//! interpolation attributes, export targets, buffer formats.
//!
//! Each reader takes its syntax where it is here, or an integer expression, and returns the immediate's value.

use super::expr::{self, Known};
use super::lexer::{Lexer, Token};
use super::{Failure, fail};
use crate::isa::OperandKind;
use crate::isa::formats;
use crate::isa::print::fields::DATA_FORMATS;
use crate::target::messages::{
    MSG_GS, MSG_GS_DONE, MSG_SYSMSG, depctr_fields, depctr_neutral, hwreg_immediate, hwreg_number,
    message_number, operation_number,
};
use crate::target::{Generation, Target};
use smallvec::SmallVec;

/// What the readers need to know besides the text.
pub struct Context<'k> {
    /// For whom.
    pub target: &'k Target,
    /// Values of symbols.
    pub known: Known<'k>,
}

impl Context<'_> {
    fn generation(&self) -> Generation {
        self.target.generation()
    }

    /// Reads an expression without unknown symbols.
    pub fn integer(&self, lexer: &mut Lexer<'_>) -> Result<i64, Failure> {
        let at = lexer.start;
        match expr::parse(lexer, self.known, false)?.constant() {
            Some(value) => Ok(value),
            None => fail(at, "expected an absolute expression"),
        }
    }

    /// Reads an expression whose value must be in `range`.
    fn ranged(
        &self,
        lexer: &mut Lexer<'_>,
        range: std::ops::RangeInclusive<i64>,
        what: &str,
    ) -> Result<i64, Failure> {
        let at = lexer.start;
        let value = self.integer(lexer)?;
        if range.contains(&value) {
            return Ok(value);
        }
        fail(at, format!("{what} {value} is not in {} to {}", range.start(), range.end()))
    }
}

fn expect(lexer: &mut Lexer<'_>, op: u8, what: &'static str) -> Result<(), Failure> {
    if lexer.skip(op) { Ok(()) } else { fail(lexer.start, what) }
}

fn comma(lexer: &mut Lexer<'_>) -> Result<(), Failure> {
    expect(lexer, b',', "expected a comma")
}

fn open(lexer: &mut Lexer<'_>) -> Result<(), Failure> {
    expect(lexer, b'(', "expected a left parenthesis")
}

fn close(lexer: &mut Lexer<'_>) -> Result<(), Failure> {
    expect(lexer, b')', "expected a closing parenthesis")
}

/// Whether `name(` is here.
fn is_call(lexer: &Lexer<'_>) -> bool {
    matches!(lexer.token, Token::Name(_)) && lexer.peek() == Token::Op(b'(')
}

/// Steps over the name here.
fn name<'a>(lexer: &mut Lexer<'a>, what: &'static str) -> Result<&'a str, Failure> {
    let Token::Name(name) = lexer.token else { return fail(lexer.start, what) };
    lexer.step();
    Ok(name)
}

/// Reads the immediate of an operand of `kind`; `None` where the kind has no syntax of its own.
pub fn immediate(
    context: &Context<'_>,
    lexer: &mut Lexer<'_>,
    kind: OperandKind,
    is_index_mode: bool,
) -> Result<Option<i64>, Failure> {
    use OperandKind as K;
    let value = match kind {
        K::Waitcnt => waitcnt(context, lexer)?,
        K::Depctr => depctr(context, lexer)?,
        K::Hwreg => hwreg(context, lexer)?,
        K::Sendmsg => sendmsg(context, lexer)?,
        K::Attribute => attribute(lexer)?,
        K::InterpSlot => interpolation_slot(lexer)?,
        K::ExportTarget => export_target(lexer, context.target)?,
        K::Simm16 if is_index_mode => index_mode(context, lexer)?,
        _ => return Ok(None),
    };
    Ok(Some(value))
}

/// `vmcnt(0) & lgkmcnt(1)`: counters that are not named wait for nothing.
fn waitcnt(context: &Context<'_>, lexer: &mut Lexer<'_>) -> Result<i64, Failure> {
    if !is_call(lexer) {
        return context.integer(lexer);
    }
    let layout = context.target.waits();
    let max = layout.max();
    let mut counts = max;
    while !lexer.at_end() {
        let at = lexer.start;
        let counter = name(lexer, "expected a counter name")?;
        let (counter, saturates) = counter.strip_suffix("_sat").map_or((counter, false), |name| (name, true));
        let field = match layout.fields().find(|field| field.name() == counter) {
            Some(field) => field,
            None if lexer.token != Token::Op(b'(') => {
                return fail(lexer.start, "expected a left parenthesis");
            }
            None => return fail(at, format!("invalid counter name {counter}")),
        };
        open(lexer)?;
        let value_at = lexer.start;
        let value = context.integer(lexer)?;
        let limit = max[field];
        let count = match u8::try_from(value) {
            Ok(value) if value <= limit => value,
            _ if saturates => limit,
            _ => return fail(value_at, format!("too large value for {counter}")),
        };
        counts = counts.with(field, count);
        close(lexer)?;
        if (lexer.skip(b'&') || lexer.skip(b',')) && !matches!(lexer.token, Token::Name(_)) {
            return fail(lexer.start, "expected a counter name");
        }
    }
    Ok(i64::from(layout.encode(counts)))
}

/// `depctr_va_vdst(0) depctr_vm_vsrc(1)`: counters that are not named wait for nothing.
fn depctr(context: &Context<'_>, lexer: &mut Lexer<'_>) -> Result<i64, Failure> {
    if !is_call(lexer) {
        return context.integer(lexer);
    }
    let mut immediate = depctr_neutral(context.target);
    let mut seen = SmallVec::<[&str; 8]>::new();
    while !lexer.at_end() {
        let at = lexer.start;
        let counter = name(lexer, "expected a counter name")?;
        let Some(field) = depctr_fields(context.target).find(|field| field.name == counter) else {
            return fail(at, format!("invalid counter name {counter}"));
        };
        if seen.contains(&counter) {
            return fail(at, format!("duplicate counter name {counter}"));
        }
        seen.push(counter);
        open(lexer)?;
        let value_at = lexer.start;
        let value = context.integer(lexer)?;
        match u16::try_from(value) {
            Ok(value) if value <= field.max() => immediate = field.put(immediate, value),
            _ => return fail(value_at, format!("invalid value for {counter}")),
        }
        close(lexer)?;
        if (lexer.skip(b'&') || lexer.skip(b',')) && !matches!(lexer.token, Token::Name(_)) {
            return fail(lexer.start, "expected a counter name");
        }
    }
    Ok(i64::from(immediate))
}

/// `hwreg(NAME, 0, 32)` or `{id: 1, offset: 0, size: 32}`.
fn hwreg(context: &Context<'_>, lexer: &mut Lexer<'_>) -> Result<i64, Failure> {
    let at = lexer.start;
    let (mut id, mut offset, mut size) = (0, 0, 32);
    if lexer.token == Token::Op(b'{') {
        let mut seen = [false; 3];
        lexer.step();
        while !lexer.skip(b'}') {
            let field_at = lexer.start;
            let field = name(lexer, "expected a field name")?;
            let (which, value) = match field {
                "id" => (0, &mut id),
                "offset" => (1, &mut offset),
                "size" => (2, &mut size),
                _ => return fail(field_at, "unknown field"),
            };
            if std::mem::replace(&mut seen[which], true) {
                return fail(field_at, "duplicate field");
            }
            expect(lexer, b':', "expected a colon")?;
            *value = if which == 0 { hwreg_id(context, lexer)? } else { context.integer(lexer)? };
            if !lexer.skip(b',') && lexer.token != Token::Op(b'}') {
                return fail(lexer.start, "expected a comma or a closing brace");
            }
        }
    } else if is_call(lexer) && lexer.token == Token::Name("hwreg") {
        lexer.step();
        lexer.step();
        id = hwreg_id(context, lexer)?;
        if !lexer.skip(b')') {
            expect(lexer, b',', "expected a comma or a closing parenthesis")?;
            offset = context.integer(lexer)?;
            comma(lexer)?;
            size = context.integer(lexer)?;
            close(lexer)?;
        }
    } else {
        let value = context.integer(lexer)?;
        if !(0..1 << 16).contains(&value) {
            return fail(at, "invalid immediate: only 16-bit values are legal");
        }
        return Ok(value);
    }
    let narrow = |value: i64| u8::try_from(value).ok();
    if !(0..64).contains(&id) {
        return fail(at, "invalid hardware register: only 6-bit values are legal");
    }
    let (Some(id), Some(offset)) = (narrow(id), narrow(offset).filter(|offset| *offset < 32)) else {
        return fail(at, "invalid bit offset: only 5-bit values are legal");
    };
    match narrow(size).and_then(|size| hwreg_immediate(id, offset, size)) {
        Some(immediate) => Ok(i64::from(immediate)),
        None => fail(at, "invalid bitfield width: only values from 1 to 32 are legal"),
    }
}

fn hwreg_id(context: &Context<'_>, lexer: &mut Lexer<'_>) -> Result<i64, Failure> {
    let at = lexer.start;
    if let Token::Name(name) = lexer.token
        && name.starts_with("HW_REG_")
    {
        lexer.step();
        return match hwreg_number(name, context.target) {
            Some(id) => Ok(i64::from(id)),
            None => fail(at, format!("no hardware register {name} on {}", context.target)),
        };
    }
    context.integer(lexer)
}

/// `sendmsg(MSG, OPERATION, STREAM)`. A message given by name is checked for sense, one given by number for its range.
fn sendmsg(context: &Context<'_>, lexer: &mut Lexer<'_>) -> Result<i64, Failure> {
    let at = lexer.start;
    if !(is_call(lexer) && lexer.token == Token::Name("sendmsg")) {
        let value = context.integer(lexer)?;
        if !(0..1 << 16).contains(&value) {
            return fail(at, "invalid immediate: only 16-bit values are legal");
        }
        return Ok(value);
    }
    lexer.step();
    lexer.step();
    let generation = context.generation();
    let message_at = lexer.start;
    let named = match lexer.token {
        Token::Name(name) if name.starts_with("MSG_") => Some(name),
        _ => None,
    };
    let message = match named {
        Some(name) => match message_number(name, generation) {
            Some(number) => {
                lexer.step();
                number
            }
            None => return fail(at, format!("no message {name} on {}", context.target)),
        },
        None => context.ranged(lexer, 0..=15, "message id")? as u8,
    };
    let strict = named.is_some();
    let (mut operation, mut stream) = (None, None);
    let operation_at = lexer.start;
    if lexer.skip(b',') {
        operation = Some(match lexer.token {
            Token::Name(name) if name.starts_with("GS_OP_") || name.starts_with("SYSMSG_OP_") => {
                let number = operation_number(message, name, generation)
                    // The name means its number for a message given by number.
                    .or_else(|| operation_number(MSG_GS, name, generation).filter(|_| !strict))
                    .or_else(|| operation_number(MSG_SYSMSG, name, generation).filter(|_| !strict));
                let Some(number) = number else {
                    return fail(
                        lexer.start,
                        format!("no operation {name} for this message on {}", context.target),
                    );
                };
                lexer.step();
                number
            }
            _ => context.ranged(lexer, 0..=7, "operation id")? as u8,
        });
        if lexer.skip(b',') {
            stream = Some(context.ranged(lexer, 0..=3, "message stream id")? as u8);
        }
    }
    close(lexer)?;
    let geometry = matches!(message, MSG_GS | MSG_GS_DONE);
    if strict {
        let wants_operation = geometry || message == MSG_SYSMSG;
        let valid = match (message, operation) {
            (_, None) => true,
            (MSG_GS, Some(operation)) => (1..=3).contains(&operation),
            (MSG_GS_DONE, Some(operation)) => operation <= 3,
            (_, Some(operation)) => (1..=4).contains(&operation),
        };
        match operation {
            None if wants_operation => return fail(message_at, "missing message operation"),
            Some(_) if !wants_operation => return fail(operation_at, "message does not support operations"),
            _ if !valid => return fail(operation_at, "invalid operation id"),
            _ => {}
        }
        if stream.is_some() && !(geometry && operation != Some(0)) {
            return fail(operation_at, "message operation does not support streams");
        }
    }
    Ok(i64::from(message) | i64::from(operation.unwrap_or(0)) << 4 | i64::from(stream.unwrap_or(0)) << 8)
}

/// `gpr_idx(SRC0,DST)`.
fn index_mode(context: &Context<'_>, lexer: &mut Lexer<'_>) -> Result<i64, Failure> {
    if !(is_call(lexer) && lexer.token == Token::Name("gpr_idx")) {
        return context.ranged(lexer, 0..=15, "VGPR index mode");
    }
    lexer.step();
    lexer.step();
    let mut mode = 0;
    if lexer.skip(b')') {
        return Ok(mode);
    }
    loop {
        let at = lexer.start;
        let bit = match lexer.token {
            Token::Name("SRC0") => 1,
            Token::Name("SRC1") => 2,
            Token::Name("SRC2") => 4,
            Token::Name("DST") => 8,
            _ => return fail(at, "expected a VGPR index mode"),
        };
        if mode & bit != 0 {
            return fail(at, "duplicate VGPR index mode");
        }
        mode |= bit;
        lexer.step();
        if lexer.skip(b')') {
            return Ok(mode);
        }
        expect(lexer, b',', "expected a comma or a closing parenthesis")?;
    }
}

/// `attr5.x`: attribute × 4 + channel.
fn attribute(lexer: &mut Lexer<'_>) -> Result<i64, Failure> {
    let at = lexer.start;
    let Some(rest) = name(lexer, "expected an interpolation attribute")?.strip_prefix("attr") else {
        return fail(at, "invalid interpolation attribute");
    };
    let (number, channel) = rest.split_once('.').unwrap_or((rest, ""));
    let channel = match channel {
        "x" => 0,
        "y" => 1,
        "z" => 2,
        "w" => 3,
        _ => return fail(at, "invalid or missing interpolation attribute channel"),
    };
    match number.parse::<u8>() {
        Ok(number @ 0..=32) => Ok(i64::from(number) * 4 + channel),
        Ok(_) => fail(at, "out of bounds interpolation attribute number"),
        Err(_) if number.bytes().all(|b| b.is_ascii_digit()) && !number.is_empty() => {
            fail(at, "out of bounds interpolation attribute number")
        }
        Err(_) => fail(at, "invalid or missing interpolation attribute number"),
    }
}

fn interpolation_slot(lexer: &mut Lexer<'_>) -> Result<i64, Failure> {
    let at = lexer.start;
    match name(lexer, "expected an interpolation slot")? {
        "p10" => Ok(0),
        "p20" => Ok(1),
        "p0" => Ok(2),
        _ => fail(at, "invalid interpolation slot"),
    }
}

fn export_target(lexer: &mut Lexer<'_>, target: &Target) -> Result<i64, Failure> {
    let at = lexer.start;
    let name = name(lexer, "expected an export target")?;
    let indexed = |prefix: &str, count: i64, base: i64| {
        let digits = name.strip_prefix(prefix)?;
        let canonical = digits == "0" || !digits.starts_with('0');
        let n: i64 =
            digits.parse().ok().filter(|_| canonical && digits.bytes().all(|b| b.is_ascii_digit()))?;
        (n < count).then_some(base + n)
    };
    let primitives = target.encoding_rules().exports_primitives;
    let target = match name {
        "mrtz" => Some(8),
        "null" => Some(9),
        "prim" if primitives => Some(20),
        _ => indexed("mrt", 8, 0)
            .or_else(|| indexed("pos", 4 + i64::from(primitives), 12))
            .or_else(|| indexed("param", 32, 32)),
    };
    target.map_or_else(|| fail(at, format!("invalid exp target {name}")), Ok)
}

/// The pattern of `ds_swizzle_b32`: `swizzle(MODE, ..)`, at its name.
pub fn swizzle(context: &Context<'_>, lexer: &mut Lexer<'_>) -> Result<i64, Failure> {
    lexer.step();
    open(lexer)?;
    let mode = name(lexer, "expected a swizzle mode")?;
    if lexer.token != Token::Op(b',') {
        return fail(lexer.start, "expected a comma");
    }
    let argument = |lexer: &mut Lexer<'_>, range, what| {
        comma(lexer)?;
        context.ranged(lexer, range, what)
    };
    let bit_mode = |and: i64, or: i64, xor: i64| and | or << 5 | xor << 10;
    let at = lexer.start;
    let pattern = match mode {
        "QUAD_PERM" => {
            let mut pattern = 0x8000;
            for i in 0..4 {
                pattern |= argument(lexer, 0..=3, "lane id")? << (2 * i);
            }
            pattern
        }
        "BROADCAST" => {
            let group = argument(lexer, 2..=32, "group size")?;
            if group.count_ones() != 1 {
                return fail(at, "group size must be a power of two");
            }
            let lane = argument(lexer, 0..=group - 1, "lane id")?;
            bit_mode(32 - group, lane, 0)
        }
        "SWAP" => {
            let group = argument(lexer, 1..=16, "group size")?;
            if group.count_ones() != 1 {
                return fail(at, "group size must be a power of two");
            }
            bit_mode(31, 0, group)
        }
        "REVERSE" => {
            let group = argument(lexer, 2..=32, "group size")?;
            if group.count_ones() != 1 {
                return fail(at, "group size must be a power of two");
            }
            bit_mode(31, 0, group - 1)
        }
        "BITMASK_PERM" => {
            comma(lexer)?;
            let Token::Str(mask) = lexer.token else { return fail(lexer.start, "expected a string") };
            if mask.len() != 5 {
                return fail(lexer.start, "expected a 5-character mask");
            }
            let (mut and, mut or, mut xor) = (0, 0, 0);
            for (letter, bit) in mask.bytes().zip([16, 8, 4, 2, 1]) {
                match letter {
                    b'0' => {}
                    b'1' => or |= bit,
                    b'p' => and |= bit,
                    b'i' => {
                        and |= bit;
                        xor |= bit;
                    }
                    _ => return fail(lexer.start, "invalid mask"),
                }
            }
            lexer.step();
            bit_mode(and, or, xor)
        }
        "FFT" if context.generation().encoding_rules().swizzles_fft => {
            0xe000 | argument(lexer, 0..=31, "swizzle")?
        }
        "ROTATE" if context.generation().encoding_rules().swizzles_fft => {
            let direction = argument(lexer, 0..=1, "direction")?;
            0xc000 | direction << 10 | argument(lexer, 0..=31, "number of lanes")? << 5
        }
        _ => return fail(at, format!("unknown swizzle mode {mode}")),
    };
    close(lexer)?;
    Ok(pattern)
}

fn number_format(name: &str, generation: Generation) -> Option<u8> {
    Some(match name {
        "UNORM" => 0,
        "SNORM" => 1,
        "USCALED" => 2,
        "SSCALED" => 3,
        "UINT" => 4,
        "SINT" => 5,
        name if name == generation.encoding_rules().number_format_6 => 6,
        "FLOAT" => 7,
        _ => return None,
    })
}

/// The value of `format:`, at what follows the colon: names in brackets or a number. Data format in bits 3:0, number format in 6:4.
pub fn buffer_format(context: &Context<'_>, lexer: &mut Lexer<'_>) -> Result<u8, Failure> {
    if !lexer.skip(b'[') {
        return context.ranged(lexer, 0..=127, "format").map(|value| value as u8);
    }
    let unified = context.generation().encoding_rules().unified_formats;
    let (mut data, mut number) = (None, None);
    let list_at = lexer.start;
    loop {
        let at = lexer.start;
        let name = name(lexer, "expected a format string")?;
        if unified
            && data.is_none()
            && number.is_none()
            && let Some(name) = name.strip_prefix("BUF_FMT_")
        {
            let Some(format) = formats::unified_format(name) else { return fail(at, "unsupported format") };
            expect(lexer, b']', "expected a closing square bracket")?;
            return Ok(format);
        }
        let generation = context.generation();
        let (slot, value, what) = if let Some(name) = name.strip_prefix("BUF_DATA_FORMAT_") {
            let value = DATA_FORMATS.iter().position(|known| *known == name);
            (&mut data, value.map(|value| value as u8), "duplicate data format")
        } else if let Some(name) = name.strip_prefix("BUF_NUM_FORMAT_") {
            (&mut number, number_format(name, generation), "duplicate numeric format")
        } else {
            return fail(at, "unsupported format");
        };
        let Some(value) = value else { return fail(at, format!("no format {name} on {}", context.target)) };
        if slot.replace(value).is_some() {
            return fail(at, what);
        }
        if lexer.skip(b']') {
            let (data, number) = (data.unwrap_or(1), number.unwrap_or(0));
            return match formats::unified_of(data, number) {
                _ if !unified => Ok(data | number << 4),
                Some(format) => Ok(format),
                None => fail(list_at, "unsupported format"),
            };
        }
        expect(lexer, b',', "expected a comma or a closing square bracket")?;
        if data.is_some() && number.is_some() {
            return fail(lexer.start, "expected a closing square bracket");
        }
    }
}
