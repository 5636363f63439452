//! Whether the text of every step reads back: printed, parsed and printed again it is the same, and a
//! compilation that goes on from what was parsed, after every step, ends with the same bytes or the same
//! refusal.

use emit::FinalFunction;
use gcnc::{CompileOptions, FileType, Observer, Pass, compile_observed};
use mir::ir::Module;
use mir::machine::{self, Function, Inst, Reg, RegFile, Terminator, VReg, VRegData, VRegFlags};
use mir::text;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What came of a module.
#[derive(Debug, Default)]
pub struct Findings {
    /// Texts that were read back.
    pub texts: usize,
    /// Damaged texts that were parsed, to see that nothing panics.
    pub damaged: usize,
    /// Whether the module was accepted, so that there were bytes to compare.
    pub compiled: bool,
    /// What differs, a line each.
    pub wrong: Vec<String>,
}

/// Compiles `module` twice, the second time from the text after every step, and compares. Also damages each
/// text `damage` times, and parses that: whatever it makes of it, the parser does not panic.
pub fn check(module: &Module, options: &CompileOptions, damage: u32) -> Findings {
    let options = CompileOptions { file_type: FileType::Obj, threads: 1, ..options.clone() };
    let plain = gcnc::compile_module(module.clone(), &options);
    let reader = Rereader { damage, ..Rereader::default() };
    let reread = compile_observed(module.clone(), &options, Some(&reader));
    let mut findings = Findings {
        texts: reader.texts.into_inner(),
        damaged: reader.damaged.into_inner(),
        compiled: plain.is_ok(),
        wrong: reader.wrong.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()),
    };
    match (plain, reread) {
        (Ok(a), Ok(b)) if a.bytes == b.bytes => {}
        (Ok(_), Ok(_)) => findings.wrong.push("final bytes differ".to_owned()),
        (Err(a), Err(b)) if a == b => {}
        (Err(_), Err(b)) => findings.wrong.push(format!("refused otherwise: {}", b[0])),
        (Ok(_), Err(b)) => findings.wrong.push(format!("refused: {}", b[0])),
        (Err(a), Ok(_)) => findings.wrong.push(format!("not refused: {}", a[0])),
    }
    findings
}

/// Replaces what each step made by what its text says.
#[derive(Default)]
struct Rereader {
    damage: u32,
    texts: AtomicUsize,
    damaged: AtomicUsize,
    wrong: Mutex<Vec<String>>,
}

impl Rereader {
    /// Parses damaged copies of a text.
    fn damage(&self, text: &str) {
        let mut rng = fastrand::Rng::with_seed(text.len() as u64);
        for _ in 0..self.damage {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..bytes.len());
                match rng.u8(..4) {
                    0 => bytes[at] = rng.u8(b' '..0x7f),
                    1 => drop(bytes.remove(at)),
                    2 => bytes.insert(at, rng.u8(b' '..0x7f)),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            if let Ok(text) = std::str::from_utf8(&bytes) {
                self.damaged.fetch_add(1, Ordering::Relaxed);
                // Either is fine.
                let _ = text::parse_program(text, "damaged");
                let _ = machine::parse_functions(text, "damaged");
            }
        }
    }

    fn note(&self, pass: &'static Pass, what: &str, message: impl std::fmt::Display) {
        let mut wrong = self.wrong.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        wrong.push(format!("{what} after {}: {message}", pass.name));
    }
}

impl Rereader {
    /// The function that the text of `function` means.
    fn reread(&self, pass: &'static Pass, function: &Function) -> Option<Function> {
        self.texts.fetch_add(1, Ordering::Relaxed);
        let text = function.to_string();
        self.damage(&text);
        match machine::parse_function(&text, "dump") {
            Ok(parsed) => {
                if let Some(difference) = difference(&text, &parsed.to_string()) {
                    self.note(pass, &function.name, difference);
                } else if let Some(part) = lost(function, &parsed) {
                    self.note(pass, &function.name, format!("{part} is lost"));
                }
                Some(parsed)
            }
            Err(error) => {
                self.note(pass, &function.name, place(&text, &error));
                None
            }
        }
    }
}

impl Observer for Rereader {
    fn module(&self, pass: &'static Pass, module: &mut Module) {
        self.texts.fetch_add(1, Ordering::Relaxed);
        let text = text::print_program(module, []);
        self.damage(&text);
        match text::parse_program(&text, "dump") {
            Ok(program) => {
                let again = text::print_program(&program.module, &program.functions);
                if let Some(difference) = difference(&text, &again) {
                    self.note(pass, "module", difference);
                }
                *module = program.module;
            }
            Err(error) => self.note(pass, "module", place(&text, &error)),
        }
    }

    fn function(&self, pass: &'static Pass, function: &mut Function) {
        if let Some(parsed) = self.reread(pass, function) {
            *function = parsed;
        }
    }

    fn finished(&self, functions: &[FinalFunction]) {
        let Some(last) = gcnc::pipeline::PASSES.iter().find(|pass| pass.name == "encode") else { return };
        for function in functions {
            self.reread(last, &function.function);
        }
    }
}

/// The message of a parser with the line it is about.
fn place(text: &str, error: &mir::Diagnostic) -> String {
    let Some(location) = &error.location else { return error.to_string() };
    let line = text.lines().nth(location.line as usize - 1).unwrap_or_default();
    format!("{error}, column {} of: {line}", location.column)
}

/// The first line in which two texts differ.
fn difference(a: &str, b: &str) -> Option<String> {
    if a == b {
        return None;
    }
    let differing = a.lines().zip(b.lines()).find(|(a, b)| a != b);
    Some(match differing {
        Some((a, b)) => format!("printed\n  {a}\nthen\n  {b}"),
        None => "one text is longer".to_owned(),
    })
}

/// What of a function is not in the function that was read from its text.
fn lost(original: &Function, parsed: &Function) -> Option<String> {
    let original = without_dead(original);
    if original == *parsed {
        return None;
    }
    let [a, b] = [&original, parsed];
    let block = a.layout.iter().find(|&&block| a.blocks.get(block) != b.blocks.get(block));
    Some(match block {
        Some(block) => {
            format!("something of {block}: {:?}, now {:?}", a.blocks.get(*block), b.blocks.get(*block))
        }
        None if a.vregs != b.vregs => "something of the registers".to_owned(),
        None if a.entry != b.entry => format!("something of the entry: {:?}, now {:?}", a.entry, b.entry),
        None => "something of the header".to_owned(),
    })
}

/// The function without the contents of what nothing names, which the text leaves out.
fn without_dead(f: &Function) -> Function {
    let mut out = f.clone();
    let mut named = vec![false; f.vregs.len()];
    let mut name = |reg: VReg| {
        if let Some(slot) = named.get_mut(reg.as_u32() as usize) {
            *slot = true;
        }
    };
    let insts = |insts: &[Inst], name: &mut dyn FnMut(VReg)| {
        for reg in insts.iter().flat_map(|inst| &inst.operands).filter_map(|operand| operand.as_reg()) {
            if let Reg::Virtual(reg) = reg.reg {
                name(reg);
            }
        }
    };
    f.entry.registers().into_iter().filter_map(|(.., reg)| reg).for_each(&mut name);
    f.asm_sites.iter().for_each(|site| insts(&site.inside, &mut name));
    for &block in &f.layout {
        let data = &f.blocks[block];
        data.vparams.iter().chain(&data.sparams).copied().for_each(&mut name);
        let edges = data.thread_succs.iter().chain(&data.wave_succs).flat_map(|edge| &edge.args);
        edges.chain(data.thread_sargs.iter().flatten()).copied().for_each(&mut name);
        insts(&data.insts, &mut name);
        if let Terminator::Divergent(mask) = data.term {
            name(mask);
        }
    }
    for (reg, _) in f.vregs.iter().filter(|(reg, _)| !named[reg.as_u32() as usize]) {
        out.vregs[reg] = VRegData { file: RegFile::Sgpr, dwords: 1, flags: VRegFlags::empty(), hint: None };
    }
    for data in out.blocks.values_mut().filter(|_| f.stage > machine::Stage::Allocated) {
        // Parts of blocks mean nothing any more.
        (data.head_len, data.tail_start) = (0, data.insts.len() as u32);
    }
    for (block, data) in f.blocks.iter() {
        if !f.layout.contains(&block) {
            out.blocks[block] = machine::BlockData::default();
        } else if !f.is_linear() {
            out.blocks[block].thread_sargs.resize(data.thread_succs.len(), Default::default());
        }
    }
    out
}
