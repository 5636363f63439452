//! Programs of IR text, run by a host of a few lines.
//!
//! A test is a kernel whose first parameter is the output buffer and whose second, if any, is the input; lanes are work-items of one work-group.

mod arithmetic;
mod control;
mod memory;
mod waves;

use super::*;
use mir::ir::{Func, Module, SymbolRef, parse_module};
use mir::target::{Os, Target};
use sim::Memory;
use sim::memory::RegionKind;

/// Knows functions by their number and global variables by nothing; remembers what happened.
#[derive(Default)]
pub struct Bench {
    /// Who stored where: lane and address.
    pub stores: Vec<(u32, Space, u64)>,
    /// First bytes of LDS at each barrier.
    pub barriers: Vec<Vec<u8>>,
    /// Places of variables in LDS, by number.
    pub lds: Vec<u64>,
}

/// Where functions are.
const CODE: u64 = 0x4000;

impl Host for Bench {
    fn symbol(&mut self, _user: Func, symbol: SymbolRef) -> Option<u64> {
        match symbol {
            SymbolRef::Func(func) => Some(CODE + 16 * u64::from(func.as_u32())),
            SymbolRef::Global(global) => self.lds.get(global.as_u32() as usize).copied(),
        }
    }

    fn function_at(&mut self, address: u64) -> Option<Func> {
        let offset = address.checked_sub(CODE)?;
        offset.is_multiple_of(16).then(|| Func::from_u32((offset / 16) as u32))
    }

    fn store(&mut self, store: &Store<'_>) {
        self.stores.push((store.site.lane, store.space, store.address));
    }

    fn barrier(&mut self, barrier: &Barrier<'_>) {
        assert_eq!(barrier.index as usize, self.barriers.len());
        self.barriers.push(barrier.lds[..barrier.lds.len().min(8)].to_vec());
    }
}

/// A run of kernel `k`.
pub struct Run {
    pub result: Result<Outcome, Fault>,
    pub out: Vec<u8>,
    pub undef: Vec<u8>,
    pub host: Bench,
}

pub fn target_of(processor: &str) -> Target {
    let mut target = Target::new(Target::processor_by_name(processor).expect("a processor of the table"));
    target.os = Os::AmdHsa;
    target
}

/// Runs `text`'s kernel `k` on `items` work-items with `input`, into `bytes` of zeros.
pub fn run_items(text: &str, items: u32, bytes: usize, input: &[u8], legal: bool) -> Run {
    run_on(target_of("gfx900"), text, items, bytes, input, legal)
}

/// The same for `target`.
pub fn run_on(target: Target, text: &str, items: u32, bytes: usize, input: &[u8], legal: bool) -> Run {
    let module = parse(text);
    let kernel = module.functions.iter().find(|(_, f)| f.name == "k").expect("a kernel k").0;
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; bytes]);
    let input = memory.add_buffer("in", input.to_vec());
    let arguments: Vec<u8> = [out, input].iter().flat_map(|b| b.address().to_le_bytes()).collect();
    let mut block = vec![0; 256];
    block[..16].copy_from_slice(&arguments);
    let kernarg = memory.map("kernarg", RegionKind::Runtime, block, false);
    let launch = Launch {
        target,
        group: [2, 0, 0],
        size: [items, 1, 1],
        kernarg: kernarg.address(),
        implicitarg: kernarg.address() + 16,
        dispatch: 0,
        queue: 0,
        dispatch_id: 7,
        shared_aperture: 1,
        private_aperture: 2,
        lds_bytes: 1024,
        static_lds_bytes: 512,
        fuel: 100_000,
    };
    let mut host = Bench { lds: vec![0, 64, 128], ..Bench::default() };
    let mut program = if legal { Program::legal(&module) } else { Program::new(&module) };
    let result = program.run_group(kernel, &launch, &mut host, &mut memory);
    Run { result, out: memory.bytes(out).to_vec(), undef: memory.undefined_bits(out).to_vec(), host }
}

pub fn parse(text: &str) -> Module {
    let module = parse_module(text, "test").unwrap_or_else(|error| panic!("{error}"));
    mir::ir::verify_module(&module).unwrap_or_else(|errors| panic!("{}", errors[0]));
    module
}

/// The dwords that 64 work-items store at their own place: `body` computes `v100: i32` from `v3: i32`, the work-item.
pub fn dwords(body: &str, legal: bool) -> Vec<(u32, u32)> {
    dwords_on(target_of("gfx900"), body, legal)
}

/// The same for `target`.
pub fn dwords_on(target: Target, body: &str, legal: bool) -> Vec<(u32, u32)> {
    let text = format!(
        "define kernel void @k(v0: ptr addrspace(1), v1: ptr addrspace(1)) {{\nblock0:\n  \
         v3: i32 = intrinsic amdgcn.workitem.id.x()\n{body}\n  \
         v101: ptr addrspace(1) = ptradd v0, v3 * 4 + 0\n  \
         store v101, v100 addrspace(1) align 4\n  ret\n}}\n"
    );
    let run = run_on(target, &text, 64, 256, &[], legal);
    run.result.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let word = |bytes: &[u8], l: usize| u32::from_le_bytes(bytes[4 * l..4 * l + 4].try_into().unwrap());
    (0..64).map(|l| (word(&run.out, l), word(&run.undef, l))).collect()
}

/// [`dwords`] that must be defined.
pub fn values(body: &str) -> Vec<u32> {
    let all = dwords(body, false);
    assert!(all.iter().all(|d| d.1 == 0), "{body}: {all:x?}");
    all.into_iter().map(|d| d.0).collect()
}
