//! One input for one processor.

use super::clang::{Clang, Ran, Request, Task};
use super::dependencies::{self, Words};
use super::inputs::{self, Kind, Language};
use super::libraries::{Libraries, Provided, are_uniform};
use super::printf;
use super::workitem::Flavour;
use crate::commands::assemble;
use crate::commands::compile::{self, Args, Emit};
use crate::commands::{report, status};
use gcnc::{CompileOptions, FileType, Output};
use mir::target::Os;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What to do where libclc is missing.
const NO_LIBCLC: &str = "libclc, the library of OpenCL's functions, was not found: install it (`apt install libclc-22`), name it by --libclc or \
    $GCNC_LIBCLC, or do without (`-nogpulib`)";

/// What units of one processor share.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The element of `--offload-arch`, where there is one.
    pub target: Option<String>,
    /// Processor with settings, by LLVM's name for it.
    pub target_id: String,
    /// Options of gcnc.
    pub options: CompileOptions,
    /// Triple.
    pub triple: String,
    /// Its system.
    pub os: Os,
    /// Code object version.
    pub version: u8,
}

impl Setting {
    /// For a target of `--offload-arch`, or for the command line's processor.
    ///
    /// # Errors
    /// The exit status where there is no such processor; it is reported.
    pub fn new(args: &Args, target: Option<&str>) -> Result<Self, i32> {
        let mut options = args.options(FileType::Obj);
        let triple = if args.mtriple.is_empty() { "amdgcn-amd-amdhsa" } else { &args.mtriple };
        let mut settings = String::new();
        if let Some(target) = target {
            let mut parts = target.split(':');
            options.cpu = parts.next().unwrap_or_default().to_owned();
            for setting in parts {
                settings.push(':');
                settings.push_str(setting);
                let (name, sign) = setting.split_at(setting.len().saturating_sub(1));
                if !["+", "-"].contains(&sign) {
                    let message = format!("--offload-arch={target}: `{setting}` ends in neither + nor -");
                    return Err(compile::wrong(&message));
                }
                options.attributes.push(format!("{sign}{name}"));
            }
        }
        let found = options.target(triple, None).map_err(|error| report("arguments", &error))?;
        Ok(Self {
            target: target.map(str::to_owned),
            target_id: format!("{}{settings}", found.processor.name),
            options,
            triple: triple.to_owned(),
            os: found.os,
            version: found.code_object_version,
        })
    }
}

/// One input for one processor.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    /// The file.
    pub input: &'a Path,
    /// What it is.
    pub kind: Kind,
    /// For what.
    pub setting: &'a Setting,
}

impl Unit<'_> {
    /// The file that is written where no option names one.
    pub fn output(&self, emit: Emit) -> PathBuf {
        let beside = inputs::beside(self.input, emit.ending());
        match (&self.setting.target, beside.file_stem()) {
            (Some(_), Some(stem)) if beside != Path::new("-") => {
                let name = format!("{}-{}.{}", stem.to_string_lossy(), self.setting.target_id, emit.ending());
                beside.with_file_name(name)
            }
            _ => beside,
        }
    }

    fn name(&self) -> String {
        self.input.display().to_string()
    }
}

/// What all units share.
pub struct Work<'a> {
    /// The command line.
    pub args: &'a Args,
    /// What is written in the end.
    pub emit: Emit,
    /// clang, where one is needed.
    pub clang: Option<&'a Clang>,
    /// Files for clang.
    pub provided: &'a Provided,
    /// Words for clang.
    pub words: Words,
    /// Whether several objects become one file.
    pub is_linked: bool,
}

/// Why there is nothing.
#[derive(Debug)]
pub enum Failure {
    /// A message of ours.
    Message(String),
    /// Diagnostics of the compiler or the assembler.
    Diagnostics(gcnc::Errors),
    /// clang failed, and said why.
    Clang(i32),
}

/// What became of a unit. Messages are kept, so that units that are made at the same time do not mix them.
#[derive(Debug)]
pub struct Made {
    /// What clang said.
    messages: Vec<u8>,
    /// What the assembler said.
    notes: Vec<String>,
    /// The compiler's output beside the bytes.
    output: Option<Box<Output>>,
    /// The bytes.
    result: Result<Vec<u8>, Failure>,
    /// For messages.
    name: String,
}

impl Made {
    fn new(unit: &Unit<'_>, result: Result<Vec<u8>, Failure>) -> Self {
        Self { messages: Vec::new(), notes: Vec::new(), output: None, result, name: unit.name() }
    }

    /// Prints what there is to say.
    ///
    /// # Errors
    /// The exit status.
    pub fn tell(self) -> Result<Vec<u8>, i32> {
        // Nothing can be done about a standard error that is closed.
        let _ = std::io::stderr().write_all(&self.messages);
        self.notes.iter().for_each(|note| eprintln!("{note}"));
        self.result.map_err(|failure| match failure {
            Failure::Message(message) => crate::commands::refused(&format!("{}: {message}", self.name)),
            Failure::Diagnostics(errors) => {
                errors.iter().map(|error| report(&self.name, error)).max().unwrap_or(status::DEFECT)
            }
            Failure::Clang(status) => status,
        })
    }

    /// [`Self::tell`], with warnings and numbers of the compiler.
    ///
    /// # Errors
    /// The exit status.
    pub fn tell_of(mut self, args: &Args, unit: &Unit<'_>) -> Result<Vec<u8>, i32> {
        let output = self.output.take();
        let bytes = self.tell()?;
        if let Some(output) = output {
            args.tell(&output, &unit.name())?;
            args.tell_numbers(&output);
        }
        Ok(bytes)
    }
}

impl Work<'_> {
    /// Makes what is asked for of a unit: for a code object, its object.
    pub fn make(&self, unit: &Unit<'_>) -> Made {
        let only_dependencies = self.words.only_dependencies();
        match unit.kind {
            Kind::Source(_) => {
                let made = self.bitcode(unit);
                let is_done = matches!(self.emit, Emit::LlvmIr | Emit::LlvmBc | Emit::Preprocessed);
                if is_done || only_dependencies { made } else { self.compile(unit, made) }
            }
            _ if only_dependencies => Made::new(unit, Ok(Vec::new())),
            Kind::Ir | Kind::Mir => {
                let read = compile::read(unit.input).map_err(|error| Failure::Message(error.to_string()));
                let made = Made::new(unit, read);
                match self.emit {
                    Emit::LlvmIr | Emit::LlvmBc => self.rewrite(unit, made),
                    Emit::Preprocessed => made,
                    _ => self.compile(unit, made),
                }
            }
            Kind::Assembly { preprocessed } => self.assemble(unit, preprocessed),
            Kind::Object => self.object(unit),
        }
    }

    /// What clang makes of a source.
    pub fn bitcode(&self, unit: &Unit<'_>) -> Made {
        let mut made = Made::new(unit, Ok(Vec::new()));
        match self.clang(unit) {
            Ok(ran) => {
                made.messages = ran.messages;
                made.result = if ran.status == 0 { Ok(ran.output) } else { Err(Failure::Clang(ran.status)) };
            }
            Err(message) => made.result = Err(Failure::Message(message)),
        }
        made
    }

    fn clang(&self, unit: &Unit<'_>) -> Result<Ran, String> {
        let clang = self.clang.ok_or("clang is missing")?;
        let setting = unit.setting;
        let words = self.words.others();
        let language = match unit.kind {
            Kind::Source(language) => Some(language),
            _ => None,
        };
        let found = match language {
            Some(language) => {
                self.args.libraries.find(language, &setting.triple, words, || clang.resources())?
            }
            None => Libraries::None,
        };
        let is_hsa = setting.triple.starts_with("amdgcn-amd-amdhsa");
        let libraries = match language {
            Some(language) => {
                let uniform = are_uniform(language, words);
                let flavour = Flavour { mesa: setting.os == Os::Mesa3d, version: setting.version, uniform };
                // HIP's header names its functions, and the linker those that are missing.
                let is_needed = language != Language::Hip && self.emit != Emit::Preprocessed;
                if found == Libraries::Libclc(None) && is_needed {
                    return Err(NO_LIBCLC.to_owned());
                }
                let own_header = language == Language::Hip && !words.iter().any(|word| word == "-nogpuinc");
                self.provided.words(
                    &found,
                    own_header,
                    (is_hsa || flavour.mesa).then_some(flavour).filter(|_| language != Language::Hip),
                )?
            }
            None => Vec::new(),
        };
        let only_dependencies = self.words.only_dependencies();
        let output = match (&self.args.output, self.is_linked) {
            (Some(path), false) => path.clone(),
            _ => unit.output(if self.is_linked { Emit::Obj } else { self.emit }),
        };
        let is_hip = language == Some(Language::Hip);
        let (dependencies, rules) = match is_hip {
            true => {
                // Others are made at the same time.
                let name = unit.input.to_string_lossy().replace('/', "_");
                let file = self.provided.folder().join(format!("{name}-{}.rules", setting.target_id));
                self.words.for_device(&output, &file)
            }
            false => self.words.for_output(&output),
        };
        let mut request = Request {
            task: match self.emit {
                _ if only_dependencies && is_hip => Task::Preprocess,
                _ if only_dependencies => Task::Dependencies,
                Emit::Preprocessed => Task::Preprocess,
                Emit::LlvmIr => Task::Text,
                _ if language.is_none() => Task::Preprocess,
                _ => Task::Bitcode,
            },
            language,
            input: unit.input,
            target_id: &setting.target_id,
            triple: &setting.triple,
            version: setting.version,
            level: &self.args.opt_level.word,
            libraries: &libraries,
            words,
            dependencies: &dependencies,
        };
        let is_ir = matches!(request.task, Task::Bitcode | Task::Text);
        let may_miss = is_ir && is_hsa && language.is_some() && matches!(found, Libraries::Libclc(_));
        // Standard input can be read once.
        let is_stream = unit.input == Path::new("-");
        let with = |prints: bool, has_images: bool| -> Result<Vec<OsString>, String> {
            let mut words = libraries.clone();
            if prints {
                words.extend(self.provided.printf_words(setting.version)?);
            }
            if has_images {
                words.extend(self.provided.image_words()?);
            }
            Ok(words)
        };
        let all = if may_miss && is_stream { with(true, true)? } else { Vec::new() };
        if !all.is_empty() {
            request.libraries = &all;
        }
        let mut ran = clang.run(&request)?;
        let more;
        if may_miss && !is_stream && ran.status == 0 {
            let (prints, has_images) =
                (printf::is_used(&ran.output), gcnc::image_library::is_used(&ran.output));
            if prints || has_images {
                // Few sources print or have images, so that clang runs twice for them alone.
                more = with(prints, has_images)?;
                request.libraries = &more;
                ran = clang.run(&request)?;
            }
        }
        let folder = self.provided.folder();
        if let (Some(rules), 0) = (rules, ran.status)
            && let Ok(text) = std::fs::read_to_string(&rules)
        {
            let text = dependencies::without(&text, folder);
            if only_dependencies {
                return Ok(Ran { output: text.into_bytes(), ..ran });
            }
            std::fs::write(&rules, text).map_err(|error| format!("{}: {error}", rules.display()))?;
        }
        if only_dependencies {
            let text = dependencies::without(&String::from_utf8_lossy(&ran.output), folder);
            return Ok(Ran { output: text.into_bytes(), ..ran });
        }
        Ok(ran)
    }

    /// Compiles the bitcode that `made` has.
    fn compile(&self, unit: &Unit<'_>, mut made: Made) -> Made {
        let Ok(bytes) = &made.result else { return made };
        let file_type = match self.emit {
            Emit::Hsaco => FileType::Obj,
            emit => emit.file_type(),
        };
        let options = CompileOptions { file_type, ..unit.setting.options.clone() };
        made.result = match gcnc::compile(bytes, &unit.name(), &options) {
            Ok(mut output) => {
                let bytes = std::mem::take(&mut output.bytes);
                made.output = Some(Box::new(output));
                Ok(bytes)
            }
            Err(errors) => Err(Failure::Diagnostics(errors)),
        };
        made
    }

    /// IR in the other form.
    fn rewrite(&self, unit: &Unit<'_>, mut made: Made) -> Made {
        let Ok(bytes) = &made.result else { return made };
        let context = frontend::Context::create();
        made.result = match frontend::parse(&context, bytes, &unit.name()) {
            Ok(module) if self.emit == Emit::LlvmIr => Ok(module.print_to_string().to_bytes().to_vec()),
            Ok(module) => Ok(module.write_bitcode_to_memory().as_slice().to_vec()),
            Err(error) => Err(Failure::Diagnostics(vec![error])),
        };
        made
    }

    fn assemble(&self, unit: &Unit<'_>, preprocessed: bool) -> Made {
        let is_text = matches!(self.emit, Emit::Asm | Emit::Preprocessed);
        let mut made = match preprocessed {
            true => self.bitcode(unit),
            false => {
                let read = compile::read(unit.input).map_err(|error| Failure::Message(error.to_string()));
                Made::new(unit, read)
            }
        };
        let Ok(bytes) = &made.result else { return made };
        if is_text {
            return made;
        }
        if matches!(self.emit, Emit::LlvmIr | Emit::LlvmBc) {
            made.result = Err(Failure::Message("assembly has no LLVM IR".to_owned()));
            return made;
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            made.result = Err(Failure::Message("the text is not UTF-8".to_owned()));
            return made;
        };
        let options = &unit.setting.options;
        let source = assemble::Source {
            path: unit.input,
            text,
            cpu: &options.cpu,
            triple: &self.args.mtriple,
            attributes: &options.attributes,
            version: options.code_object_version,
            folders: &[],
        };
        made.result = match assemble::assemble(&source) {
            Ok((object, notes)) => {
                made.notes = notes;
                Ok(object)
            }
            Err(errors) => Err(Failure::Diagnostics(errors)),
        };
        made
    }

    fn object(&self, unit: &Unit<'_>) -> Made {
        if self.emit != Emit::Hsaco {
            let message = "an object is linked, and nothing is linked here: leave it out, or write a code object (--emit=hsaco)";
            return Made::new(unit, Err(Failure::Message(message.to_owned())));
        }
        let read = compile::read(unit.input).map_err(|error| error.to_string());
        let whole = read.and_then(|bytes| match crate::commands::thin::is_thin(&bytes) {
            true => crate::commands::thin::whole(&bytes, unit.input),
            false => Ok(bytes),
        });
        Made::new(unit, whole.map_err(Failure::Message))
    }
}
