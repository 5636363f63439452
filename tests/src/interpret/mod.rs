//! Runs modules on the interpreter of IR, as host programs run objects on the simulator.

pub mod agree;

use interpret::ir::{Host, Launch, Outcome, Program};
use mir::abi::kernarg;
use mir::ir::{AddrSpace, Func, GlobalData, Module, SymbolRef};
use mir::target::Target;
use sim::memory::RegionKind;
use sim::{Arg, BufferId, Dispatch, Memory};

/// Address of the first function, and bytes from one to the next: no code is there.
const CODE: u64 = 0x7e00_0000_0000;
const FUNCTION_BYTES: u64 = 256;

/// High dwords of generic addresses in LDS and in scratch.
const APERTURES: [u32; 2] = [0x0001_0000, 0x0002_0000];

/// A module to run.
pub struct Interpreter {
    module: Module,
    target: Target,
    legal: bool,
    /// Most instructions of a work-group.
    pub fuel: u64,
}

/// Which function's symbols are where.
struct World<'a> {
    module: &'a Module,
    legal: bool,
    /// Addresses of variables, offsets of those in LDS.
    globals: Vec<Option<u64>>,
}

impl Host for World<'_> {
    fn symbol(&mut self, user: Func, symbol: SymbolRef) -> Option<u64> {
        let global = match symbol {
            SymbolRef::Func(func) => return Some(CODE + FUNCTION_BYTES * u64::from(func.as_u32())),
            SymbolRef::Global(global) => global,
        };
        if self.legal && self.module.globals[global].space == AddrSpace::LOCAL {
            let layout = self.module.lds.get(&user)?;
            return layout.globals.iter().find(|(g, _)| *g == global).map(|(_, at)| u64::from(*at));
        }
        self.globals.get(global.as_u32() as usize).copied().flatten()
    }

    fn function_at(&mut self, address: u64) -> Option<Func> {
        let offset = address.checked_sub(CODE)?;
        let number = u32::try_from(offset / FUNCTION_BYTES).ok()?;
        let exists = offset.is_multiple_of(FUNCTION_BYTES) && (number as usize) < self.module.functions.len();
        exists.then(|| Func::from_u32(number))
    }
}

impl Interpreter {
    /// A module as read from LLVM bitcode or text.
    ///
    /// # Errors
    /// A refusal, as text.
    pub fn as_read(input: &[u8], options: &gcnc::CompileOptions) -> Result<Self, String> {
        let reading = frontend::read(input, "input").map_err(|error| error.to_string())?;
        if let Some(error) = reading.errors.first() {
            return Err(error.to_string());
        }
        Self::new(reading.module, options)
    }

    /// What can be read of a module; other functions have no bodies. Without a triple it is for HSA.
    fn readable(input: &[u8], options: &gcnc::CompileOptions) -> Result<Self, String> {
        let mut module = frontend::read(input, "input").map_err(|error| error.to_string())?.module;
        if module.triple.is_empty() {
            module.triple = "amdgcn-amd-amdhsa".to_owned();
        }
        Self::new(module, options)
    }

    fn new(module: Module, options: &gcnc::CompileOptions) -> Result<Self, String> {
        let target = options.target(&module.triple, module.code_object_version_flag);
        let target = target.map_err(|error| error.to_string())?;
        Ok(Self { module, target, legal: false, fuel: 50_000_000 })
    }

    /// The same module, simplified.
    ///
    /// # Errors
    /// A refusal, as text.
    pub fn simplified(input: &[u8], options: &gcnc::CompileOptions) -> Result<Self, String> {
        let mut this = Self::as_read(input, options)?;
        let settings =
            mir::CodegenOptions { opt_level: options.opt_level, contract_all: options.contract_all };
        gcnc::legalize(&mut this.module, &this.target, &settings).map_err(|error| error.to_string())?;
        this.legal = true;
        Ok(this)
    }

    /// Another module for the same target.
    fn with(&self, module: Module, legal: bool) -> Self {
        Self { module, target: self.target, legal, fuel: 200_000 }
    }

    /// Runs a dispatch. Approximate operations are told by the outcome.
    ///
    /// # Errors
    /// What stopped it, with the instruction.
    pub fn run(&self, memory: &mut Memory, dispatch: &Dispatch) -> Result<Outcome, String> {
        let module = &self.module;
        let kernel = module.functions.iter().find(|(_, f)| f.name == dispatch.kernel && f.is_kernel());
        let kernel = kernel.ok_or_else(|| format!("no kernel {}", dispatch.kernel))?.0;
        let mut mapped = Vec::new();
        let (globals, mut lds_bytes) = self.map_globals(memory, &mut mapped);
        if let (true, Some(layout)) = (self.legal, module.lds.get(&kernel)) {
            lds_bytes = layout.size_bytes;
        }
        let static_lds_bytes = lds_bytes;
        let (block, implicit) = self.kernarg(kernel, dispatch, &mut lds_bytes)?;
        let packet = memory.map("packet", RegionKind::Runtime, packet(dispatch), false);
        let mut queue = vec![0; 256];
        queue[0x40..0x44].copy_from_slice(&APERTURES[0].to_le_bytes());
        queue[0x44..0x48].copy_from_slice(&APERTURES[1].to_le_bytes());
        let queue = memory.map("queue", RegionKind::Runtime, queue, false);
        let kernarg = memory.map("kernarg", RegionKind::Runtime, block, false);
        mapped.extend([packet, queue, kernarg]);
        let mut world = World { module, legal: self.legal, globals };
        let mut program = if self.legal { Program::legal(module) } else { Program::new(module) };
        let mut total = Outcome::default();
        let groups: [u32; 3] = std::array::from_fn(|k| dispatch.grid[k].div_ceil(dispatch.group[k]));
        let mut result = Ok(());
        'groups: for z in 0..groups[2] {
            for y in 0..groups[1] {
                for x in 0..groups[0] {
                    let group = [x, y, z];
                    let rest = |k: usize| dispatch.grid[k] - group[k] * dispatch.group[k];
                    let launch = Launch {
                        target: self.target,
                        group,
                        size: std::array::from_fn(|k| dispatch.group[k].min(rest(k))),
                        kernarg: kernarg.address(),
                        implicitarg: kernarg.address() + u64::from(implicit),
                        dispatch: packet.address(),
                        queue: queue.address(),
                        dispatch_id: 0,
                        shared_aperture: APERTURES[0],
                        private_aperture: APERTURES[1],
                        lds_bytes: lds_bytes + dispatch.dynamic_lds,
                        static_lds_bytes,
                        fuel: self.fuel,
                    };
                    match program.run_group(kernel, &launch, &mut world, memory) {
                        Ok(outcome) => {
                            total.instructions += outcome.instructions;
                            total.approximate |= outcome.approximate;
                        }
                        Err(fault) => {
                            result = Err(self.explain(&fault));
                            break 'groups;
                        }
                    }
                }
            }
        }
        mapped.into_iter().for_each(|id| memory.unmap(id));
        result.map(|()| total)
    }

    /// A fault with the text of its instruction.
    fn explain(&self, fault: &interpret::ir::Fault) -> String {
        let Some(site) = fault.site else { return fault.to_string() };
        let f = &self.module.functions[site.func];
        format!("{fault}\nin {}: {}", f.name, f.display_inst(&self.module, site.inst))
    }

    /// Maps variables; their addresses, and the bytes of LDS.
    fn map_globals(&self, memory: &mut Memory, mapped: &mut Vec<BufferId>) -> (Vec<Option<u64>>, u32) {
        let mut lds = 0u64;
        let mut addresses = Vec::new();
        let local = |g: &GlobalData| g.space == AddrSpace::LOCAL;
        for global in self.module.globals.values() {
            let align = 1u64 << global.align_log2.min(16);
            addresses.push(if local(global) {
                let at = lds.next_multiple_of(align);
                lds = at + global.size_bytes;
                // Dynamic LDS is behind everything else.
                (global.size_bytes != 0).then_some(at)
            } else {
                global.init.as_ref().map(|init| {
                    let mut bytes = init.bytes.clone();
                    bytes.resize(global.size_bytes as usize, 0);
                    let id = memory.map("variable", RegionKind::Code, bytes, true);
                    mapped.push(id);
                    id.address()
                })
            });
        }
        for (slot, global) in addresses.iter_mut().zip(self.module.globals.values()) {
            if local(global) && global.size_bytes == 0 {
                *slot = Some(lds.next_multiple_of(16));
            }
        }
        // Addresses in initialisers, now that all are known.
        for (n, global) in self.module.globals.values().enumerate() {
            let (Some(address), Some(init)) = (addresses[n], &global.init) else { continue };
            if local(global) {
                continue;
            }
            for relocation in &init.relocations {
                let target = match relocation.symbol {
                    SymbolRef::Func(func) => CODE + FUNCTION_BYTES * u64::from(func.as_u32()),
                    SymbolRef::Global(global) => addresses[global.as_u32() as usize].unwrap_or(0),
                };
                let origin = if relocation.is_relative { address + relocation.offset_bytes } else { 0 };
                let value = target.wrapping_add(relocation.addend as u64).wrapping_sub(origin).to_le_bytes();
                let at = relocation.offset_bytes as usize;
                let width = usize::from(relocation.width_bytes);
                let slot = mapped.iter().find(|id| id.address() == address);
                if let Some(place) = slot.and_then(|&id| memory.bytes_mut(id).get_mut(at..at + width)) {
                    place.copy_from_slice(&value[..width]);
                }
            }
        }
        (addresses, lds.next_multiple_of(16) as u32)
    }

    /// The kernarg segment and the offset of the implicit arguments.
    fn kernarg(&self, kernel: Func, d: &Dispatch, lds_bytes: &mut u32) -> Result<(Vec<u8>, u32), String> {
        let layout = kernarg::layout(&self.module, &self.module.functions[kernel], &self.target);
        let mut block = vec![0; layout.size_bytes.max(layout.implicit_offset) as usize + 64];
        let mut explicit = d.args.iter();
        for place in &layout.args {
            let count = |k: usize| (d.grid[k] / d.group[k]).to_le_bytes().to_vec();
            let size = |k: usize| (d.group[k] as u16).to_le_bytes().to_vec();
            let remainder = |k: usize| ((d.grid[k] % d.group[k]) as u16).to_le_bytes().to_vec();
            let bytes: Vec<u8> = match place.value_kind {
                "hidden_global_offset_x" => d.offset[0].to_le_bytes().to_vec(),
                "hidden_global_offset_y" => d.offset[1].to_le_bytes().to_vec(),
                "hidden_global_offset_z" => d.offset[2].to_le_bytes().to_vec(),
                "hidden_block_count_x" => count(0),
                "hidden_block_count_y" => count(1),
                "hidden_block_count_z" => count(2),
                "hidden_group_size_x" => size(0),
                "hidden_group_size_y" => size(1),
                "hidden_group_size_z" => size(2),
                "hidden_remainder_x" => remainder(0),
                "hidden_remainder_y" => remainder(1),
                "hidden_remainder_z" => remainder(2),
                "hidden_grid_dims" => vec![3, 0],
                "hidden_private_base" => APERTURES[1].to_le_bytes().to_vec(),
                "hidden_shared_base" => APERTURES[0].to_le_bytes().to_vec(),
                kind if kind.starts_with("hidden") => continue,
                _ => match explicit.next() {
                    Some(Arg::Buffer(id)) => id.address().to_le_bytes().to_vec(),
                    Some(Arg::Address(address)) => address.to_le_bytes().to_vec(),
                    Some(Arg::Local(bytes)) => {
                        let at = lds_bytes.next_multiple_of(16);
                        *lds_bytes = at + bytes;
                        at.to_le_bytes().to_vec()
                    }
                    Some(Arg::Value(bytes)) => bytes.clone(),
                    None => return Err(format!("{} takes more arguments", d.kernel)),
                },
            };
            let at = place.offset_bytes as usize;
            let len = bytes.len().min(place.size_bytes as usize);
            block[at..at + len].copy_from_slice(&bytes[..len]);
        }
        Ok((block, layout.implicit_offset))
    }
}

/// The dispatch packet.
fn packet(d: &Dispatch) -> Vec<u8> {
    let mut packet = vec![0u8; 64];
    for k in 0..3 {
        packet[4 + 2 * k..6 + 2 * k].copy_from_slice(&(d.group[k] as u16).to_le_bytes());
        packet[12 + 4 * k..16 + 4 * k].copy_from_slice(&d.grid[k].to_le_bytes());
    }
    packet
}
