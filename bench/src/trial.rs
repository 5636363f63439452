//! Trial runs: kernels that nobody wrote a host program for, run on the simulator with arguments made from their metadata.
//!
//! Two compilers' code of one kernel runs on the same buffers; what it leaves there is compared, and its cycles are known with the loops
//! that the data led it through, which a walk through the code ([`crate::estimate`]) does not see. Integers are sizes of a small image,
//! numbers lie between 0 and 1, integers in memory are small enough to be indices. What lies outside of the buffers reads as a function of
//! its address, so that no index leads a kernel astray; images are of that kind as well.

use mir::abi::metadata::{ArgMeta, KernelMeta};
use sim::report::OpaqueImages;
use sim::{Arg, BufferId, Checks, CodeObject, Config, Dispatch, Kind, Memory, Model, Stats, Unmapped};

/// Bytes of a buffer.
const BUFFER_BYTES: usize = 1 << 20;
/// Bytes in front of what a pointer points to: indices may be negative.
const IN_FRONT: u64 = 1 << 18;
/// Bytes behind all buffers where nothing is: indices go anywhere, and what the simulator puts behind has another size for each object.
const BEHIND: u64 = 1 << 37;
/// Bytes behind a pointer to dynamic LDS.
const LOCAL_BYTES: u32 = 4096;
/// Instructions that waves of the second compiler may execute together; the first may execute four times as many.
const BUDGET: u64 = 4_000_000;
/// What integers among the arguments are, in turn, until a run ends within the budget.
const SIZES: [u8; 3] = [64, 16, 4];
/// Seeds of orders in which the second compiler's waves run, where the results differ.
const ORDERS: std::ops::Range<u64> = 1..4;
/// What all images are, as their resources would say (Vega ISA, "Image Resource").
const IMAGE_2D: u8 = 9;
/// Work-items in two dimensions.
const GRID: u32 = 64;
/// The share of a buffer's elements that may differ: where a comparison goes the other way after a rounding.
const DIFFERENT: f64 = 0.01;

/// What became of a kernel.
#[derive(Debug)]
pub enum Outcome {
    /// Both ran and left the same, but for roundings: the first compiler's counts, and the second's.
    Same(Box<[Stats; 2]>),
    /// Both ran, and left this.
    Different(String),
    /// The first compiler's code broke a check, with this report.
    Broken(String),
    /// There is nothing to compare, for this reason.
    Skipped(String),
}

/// Runs `kernel` of two linked objects. With `per_instruction` the counts say what each instruction cost.
pub fn run(objects: &[CodeObject; 2], kernel: &str, per_instruction: bool) -> Outcome {
    let mut reason = "it stores nothing".to_owned();
    let model = Model { per_instruction, ..Model::default() };
    for size in SIZES {
        // What a program leaves undefined each compiler has where it likes.
        let checks = Checks::default().difference(Checks::UNDEF_STORE);
        let trial = |object, budget, seed| Trial::run(object, kernel, size, budget, seed, model, checks);
        let theirs = match trial(&objects[1], BUDGET, 0) {
            Ok(trial) if trial.stats.bytes_stored > 0 => trial,
            Ok(_) => continue,
            Err((Kind::Budget, message)) => {
                reason = message;
                continue;
            }
            Err((_, message)) => return Outcome::Skipped(message),
        };
        let ours = match trial(&objects[0], 4 * BUDGET, 0) {
            Ok(trial) => trial,
            Err((_, message)) => return Outcome::Broken(message),
        };
        return match ours.difference(&theirs) {
            None => Outcome::Same(Box::new([ours.stats, theirs.stats])),
            Some(difference) => {
                let again = ORDERS.filter_map(|seed| trial(&objects[1], 4 * BUDGET, seed).ok());
                if let Some(own) = again.filter_map(|again| again.difference(&theirs)).next() {
                    return Outcome::Skipped(format!("its results depend on the order of waves: {own}"));
                }
                match Trial::run(&objects[1], kernel, size, 4 * BUDGET, 0, model, Checks::default()) {
                    Err((Kind::UndefStore, message)) => Outcome::Skipped(message),
                    _ => Outcome::Different(difference),
                }
            }
        };
    }
    Outcome::Skipped(reason)
}

/// What elements of a buffer are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Element {
    Byte,
    Short,
    Int,
    Long,
    Half,
    Float,
    Double,
}

impl Element {
    /// Of a type in OpenCL's spelling; what is no number holds small integers.
    fn of(name: &str) -> Self {
        let name = name.trim_end_matches(['*', ' ']).trim_end_matches(|c: char| c.is_ascii_digit());
        match name {
            "char" | "uchar" | "bool" => Self::Byte,
            "short" | "ushort" => Self::Short,
            "long" | "ulong" | "size_t" => Self::Long,
            "half" => Self::Half,
            "float" => Self::Float,
            "double" => Self::Double,
            _ => Self::Int,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Short | Self::Half => 2,
            Self::Int | Self::Float => 4,
            Self::Long | Self::Double => 8,
        }
    }

    /// Writes an element made of random bits.
    fn write(self, random: u64, out: &mut [u8]) {
        let number = (random >> 40) as f32 / (1u32 << 24) as f32;
        match self {
            Self::Byte => out[0] = random as u8,
            Self::Short => out.copy_from_slice(&(random as u16 & 0xff).to_le_bytes()),
            Self::Int => out.copy_from_slice(&(random as u32 & 63).to_le_bytes()),
            Self::Long => out.copy_from_slice(&(random & 63).to_le_bytes()),
            // Between 1/2 and 1, which needs no rounding.
            Self::Half => out.copy_from_slice(&(0x3800 | random as u16 & 0x3ff).to_le_bytes()),
            Self::Float => out.copy_from_slice(&number.to_le_bytes()),
            Self::Double => out.copy_from_slice(&f64::from(number).to_le_bytes()),
        }
    }

    /// The number that an element is, where it is none but integers.
    fn number(self, bytes: &[u8]) -> Option<f64> {
        match self {
            Self::Half => Some(mir::half::to_f64(u16::from_le_bytes(bytes.try_into().ok()?))),
            Self::Float => Some(f32::from_le_bytes(bytes.try_into().ok()?).into()),
            Self::Double => Some(f64::from_le_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }

    /// Whether two elements are the same but for roundings; of an image's integers, which were rounded, the neighbours are.
    fn agree(self, a: &[u8], b: &[u8]) -> bool {
        if a == b {
            return true;
        }
        match (self.number(a), self.number(b)) {
            (Some(a), Some(b)) => {
                (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-3 * a.abs().max(b.abs()) + 1e-5
            }
            _ if self == Self::Byte => a[0].abs_diff(b[0]) <= 1,
            // A number in a structure, perhaps; small integers would be subnormal ones.
            _ if self == Self::Int => {
                let number =
                    |bytes| Self::Float.number(bytes).filter(|&x| x == 0.0 || (x as f32).is_normal());
                number(a).zip(number(b)).is_some_and(|(a, b)| (a - b).abs() <= 1e-3 * a.abs().max(b.abs()))
            }
            _ => false,
        }
    }
}

/// A run of one compiler's code.
struct Trial {
    memory: Memory,
    buffers: Vec<(BufferId, Element)>,
    stats: Stats,
}

impl Trial {
    fn run(
        object: &CodeObject,
        kernel: &str,
        size: u8,
        budget: u64,
        seed: u64,
        model: Model,
        checks: Checks,
    ) -> Result<Self, (Kind, String)> {
        let lacks = |what: &str| (Kind::BadDispatch, format!("no {what}"));
        let found = object.kernel(kernel).ok_or_else(|| lacks("such kernel"))?;
        let meta = found.metadata.as_ref().ok_or_else(|| lacks("metadata"))?;
        let (mut memory, mut buffers) = (Memory::new(), Vec::new());
        let explicit = meta.args.iter().filter(|arg| !arg.is_hidden()).enumerate();
        let args =
            explicit.map(|(k, arg)| argument(arg, k as u64, size, &mut memory, &mut buffers)).collect();
        memory.leave_gap(BEHIND);
        let (grid, group) = shape(meta);
        let dispatch = Dispatch { kernel: kernel.to_owned(), grid, group, args, ..Dispatch::default() };
        let config = Config {
            unmapped: Unmapped::Hash,
            opaque_images: Some(OpaqueImages { ty: IMAGE_2D, quads: false }),
            budget,
            seed,
            checks,
            model: Some(model),
            threads: 1,
            ..Config::default()
        };
        let stats = sim::run(object, &mut memory, &dispatch, &config)
            .map_err(|report| (report.kind, report.to_string()))?;
        Ok(Self { memory, buffers, stats })
    }

    /// The first buffer that differs from what `other` left by more than roundings.
    fn difference(&self, other: &Self) -> Option<String> {
        self.buffers.iter().zip(&other.buffers).enumerate().find_map(|(k, (&(a, element), &(b, _)))| {
            let undefined = [self.memory.undefined_bits(a), other.memory.undefined_bits(b)];
            let [a, b] = [self.memory.bytes(a), other.memory.bytes(b)];
            if a == b {
                return None;
            }
            let n = element.bytes();
            let defined = |at: usize| undefined.iter().all(|bits| bits[at..at + n].iter().all(|&b| b == 0));
            let differ: Vec<usize> =
                (0..a.len()).step_by(n).filter(|&at| a[at..at + n] != b[at..at + n] && defined(at)).collect();
            let bad = |&at: &usize| {
                // Bytes may be those of numbers.
                let word = at & !3..(at & !3) + 4;
                let number = n < 4 && Element::Int.agree(&a[word.clone()], &b[word]);
                !number && !element.agree(&a[at..at + n], &b[at..at + n])
            };
            let at = *differ.iter().find(|at| bad(at))?;
            let bad = differ.iter().filter(|at| bad(at)).count();
            // Of those that were stored, which are not known, at least those that differ at all.
            let stored = differ.len().max(1024);
            let of = |bytes: &[u8]| match element.number(&bytes[at..at + element.bytes()]) {
                Some(number) => number.to_string(),
                None => format!("{:02x?}", &bytes[at..at + element.bytes()]),
            };
            (bad as f64 > DIFFERENT * stored as f64).then(|| {
                let at = at as i64 - IN_FRONT as i64;
                format!("buffer {k}: {bad} elements differ, the first at byte {at}: {} for {}", of(a), of(b))
            })
        })
    }
}

/// An argument, the `k`th.
fn argument(
    arg: &ArgMeta,
    k: u64,
    size: u8,
    memory: &mut Memory,
    buffers: &mut Vec<(BufferId, Element)>,
) -> Arg {
    let element = Element::of(arg.type_name.as_deref().unwrap_or_default());
    match arg.value_kind.as_str() {
        "global_buffer" if arg.size == 8 => {
            let mut data = vec![0; BUFFER_BYTES];
            let mut state = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(k + 1);
            for place in data.chunks_mut(element.bytes()) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                element.write(state, place);
            }
            let id = memory.add_buffer(&format!("argument {k}"), data);
            buffers.push((id, element));
            Arg::Address(id.address() + IN_FRONT)
        }
        "dynamic_shared_pointer" => Arg::Local(LOCAL_BYTES),
        "image" | "sampler" | "pipe" | "queue" => Arg::Address(0x2000_0000_0000 + (k << 36)),
        _ => {
            let mut bytes = vec![0; arg.size as usize];
            for (i, place) in bytes.chunks_exact_mut(element.bytes()).enumerate() {
                match element {
                    Element::Half | Element::Float | Element::Double => {
                        element.write((k + i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15), place);
                    }
                    _ => place[0] = size,
                }
            }
            Arg::Value(bytes)
        }
    }
}

/// The grid and a work-group of it.
fn shape(meta: &KernelMeta) -> ([u32; 3], [u32; 3]) {
    let group = match meta.reqd_workgroup_size {
        Some(group) => group.map(|items| items.max(1)),
        None => {
            let items = meta.max_flat_workgroup_size.clamp(1, 256);
            [items.min(GRID), (items / GRID).max(1), 1]
        }
    };
    let grid = std::array::from_fn(|k| match k {
        2 => group[k],
        _ => GRID.next_multiple_of(group[k]),
    });
    (grid, group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> CodeObject {
        let options = gcnc::CompileOptions {
            cpu: "gfx900".to_owned(),
            file_type: gcnc::FileType::Obj,
            ..gcnc::CompileOptions::default()
        };
        let bytes = gcnc::compile(text.as_bytes(), "k.ll", &options).expect("it compiles").bytes;
        CodeObject::load(&bytes).expect("it loads")
    }

    /// A kernel that stores `value`, computed from `%x` and `%n`, for each work-item of the first row.
    fn kernel(value: &str) -> String {
        format!(
            "target triple = \"amdgcn-amd-amdhsa\"
             declare i32 @llvm.amdgcn.workitem.id.x()
             declare i32 @llvm.amdgcn.workitem.id.y()
             define amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %n) !kernel_arg_type !0 !kernel_arg_base_type !0
                 !kernel_arg_addr_space !1 !kernel_arg_access_qual !2 !kernel_arg_type_qual !3 {{
               %x = call i32 @llvm.amdgcn.workitem.id.x()
               %inside = icmp ult i32 %x, %n
               br i1 %inside, label %store, label %end
             store:
               %p = getelementptr i32, ptr addrspace(1) %out, i32 %x
               {value}
               store i32 %v, ptr addrspace(1) %p
               br label %end
             end:
               ret void
             }}
             !0 = !{{!\"int*\", !\"int\"}}
             !1 = !{{i32 1, i32 0}}
             !2 = !{{!\"none\", !\"none\"}}
             !3 = !{{!\"\", !\"\"}}"
        )
    }

    #[test]
    fn the_same_is_found_the_same_and_what_differs_different() {
        let objects = |a: &str, b: &str| [object(&kernel(a)), object(&kernel(b))];
        let (times, shift) = ("%v = mul i32 %x, 4096", "%v = shl i32 %x, 12");
        match run(&objects(times, shift), "k", false) {
            Outcome::Same(stats) => {
                assert!(stats.iter().all(|s| s.bytes_stored > 0 && s.model.is_some()), "{stats:?}");
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(run(&objects(times, "%v = shl i32 %x, 13"), "k", false), Outcome::Different(_)));
        assert!(matches!(run(&objects(times, shift), "other", false), Outcome::Skipped(_)));
    }

    #[test]
    fn what_waves_decide_is_not_compared() {
        let objects = |a: &str, b: &str| [object(&kernel(a)), object(&kernel(b))];
        // Each row stores to the same places.
        let row = "%v = call i32 @llvm.amdgcn.workitem.id.y()";
        let last = "%y = call i32 @llvm.amdgcn.workitem.id.y() %v = sub i32 3, %y";
        assert!(matches!(run(&objects(row, row), "k", false), Outcome::Same(_)));
        match run(&objects(last, row), "k", false) {
            Outcome::Skipped(message) => assert!(message.contains("order of waves"), "{message}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_is_behind_the_buffers() {
        // The first byte behind the unmapped ones that follow a buffer.
        let object = || {
            object(&kernel(
                "%far = getelementptr i8, ptr addrspace(1) %out, i32 851968
                 store i32 1, ptr addrspace(1) %far
                 %v = add i32 %x, 1",
            ))
        };
        assert!(matches!(run(&[object(), object()], "k", false), Outcome::Same(_)));
    }

    #[test]
    fn elements_follow_the_type_and_agree_but_for_roundings() {
        assert_eq!(Element::of("float4*"), Element::Float);
        assert_eq!(Element::of("uchar*"), Element::Byte);
        assert_eq!(Element::of("struct point*"), Element::Int);
        let agree = |a: f32, b: f32| Element::Float.agree(&a.to_le_bytes(), &b.to_le_bytes());
        assert!(agree(1.0, 1.0001) && agree(f32::NAN, -f32::NAN) && !agree(1.0, 1.01));
        assert!(Element::Byte.agree(&[7], &[8]) && !Element::Byte.agree(&[7], &[9]));
        assert!(!Element::Long.agree(&1u64.to_le_bytes(), &2u64.to_le_bytes()));
    }
}
