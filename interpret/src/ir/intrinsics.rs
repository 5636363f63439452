//! Intrinsics: who executes which, and those that ask for the place of execution or change it.

use super::exec::{Cx, Flow, Step, Stop};
use super::host::Cause;
use super::layout::ones;
use super::regs::{MAX_LANES, lanes};
use mir::ir::{AddrSpace, InstFlags, Intrinsic, IntrinsicProps, Type, Value};

impl Cx<'_, '_> {
    /// An intrinsic.
    pub fn intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        flags: InstFlags,
        args: &[Value],
        ty: Type,
        dst: usize,
    ) -> Step<Flow> {
        if let Some(flow) = self.control(intrinsic, args)? {
            return Ok(flow);
        }
        let done = self.place_of_execution(intrinsic, args, ty, dst)?
            // Masks of pointers to buffers are no integer's.
            || self.buffer_intrinsic(intrinsic, args, ty, dst)?
            || self.int_intrinsic(intrinsic, args, ty, dst)?
            || self.float_intrinsic(intrinsic, flags, args, ty, dst)?
            || self.hardware(intrinsic, args, ty, dst)?
            || self.lane_intrinsic(intrinsic, args, ty, dst)?
            || self.memory_intrinsic(intrinsic, args, ty, dst)?
            || self.vector_intrinsic(intrinsic, args, ty, dst)?;
        if !done {
            return Err(Stop::unsupported(format!("llvm.{}", intrinsic.name())));
        }
        Ok(Flow::Next)
    }

    /// What has an effect on control, or none at all.
    fn control(&mut self, intrinsic: Intrinsic, args: &[Value]) -> Step<Option<Flow>> {
        use Intrinsic::*;
        Ok(Some(match intrinsic {
            _ if intrinsic.props().contains(IntrinsicProps::DROPPED) => Flow::Next,
            SBarrier => Flow::Barrier,
            WaveBarrier | SchedBarrier | SchedGroupBarrier | IglpOpt | Prefetch | Debugtrap | SWaitcnt
            | SSleep | SSetprio | SNop | SDcacheInv | SDcacheWb | SDcacheInvVol | SDcacheWbVol
            | BufferWbinvl1 | BufferWbinvl1Sc | BufferWbinvl1Vol | STtracedata | SIncperflevel
            | SDecperflevel => Flow::Next,
            Trap | Ubsantrap => return Err(Stop::new(Cause::Trap)),
            AmdgcnUnreachable => return Err(Stop::new(Cause::Unreachable)),
            Endpgm => Flow::End(self.mask),
            // In legal IR the lanes have been told apart: a return follows.
            Kill if args.is_empty() => Flow::Next,
            Kill => {
                let slot = self.arg(args, 0)?;
                let mut dead = 0;
                for l in lanes(self.mask) {
                    dead |= u64::from(self.defined(slot, l, "the end of a lane")? & 1 == 0) << l;
                }
                Flow::End(dead)
            }
            _ => return Ok(None),
        }))
    }

    /// What is known from where the code runs.
    fn place_of_execution(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        ty: Type,
        dst: usize,
    ) -> Step<bool> {
        use Intrinsic::*;
        let launch = self.group.launch;
        let same = match intrinsic {
            WorkitemIdX | WorkitemIdY | WorkitemIdZ => {
                let direction = match intrinsic {
                    WorkitemIdX => 0,
                    WorkitemIdY => 1,
                    _ => 2,
                };
                let ids = &self.wave.ids[direction];
                let ids = std::array::from_fn(|l| u64::from(ids[l]));
                self.regs.write(dst, self.mask, &ids);
                return Ok(true);
            }
            WorkgroupIdX => launch.group[0].into(),
            WorkgroupIdY => launch.group[1].into(),
            WorkgroupIdZ => launch.group[2].into(),
            DispatchPtr => launch.dispatch,
            DispatchId => launch.dispatch_id,
            QueuePtr => launch.queue,
            ImplicitargPtr => launch.implicitarg,
            KernargSegmentPtr => launch.kernarg,
            Groupstaticsize => launch.static_lds_bytes.into(),
            Wavefrontsize => launch.target.wave_size().into(),
            WaveId => self.wave.index.into(),
            GetDynamicAreaOffset => 0,
            AllowRuntimeCheck | AllowUbsanCheck | WidenableCondition => 1,
            _ => return self.place_of_pointer(intrinsic, args, ty, dst),
        };
        let width = ones(self.scalar_of(ty)?.bits());
        self.regs.write(dst, self.mask, &[same & width; MAX_LANES]);
        Ok(true)
    }

    fn place_of_pointer(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type, dst: usize) -> Step<bool> {
        use Intrinsic::*;
        let launch = self.group.launch;
        match intrinsic {
            IsShared | IsPrivate => {
                let high =
                    if intrinsic == IsShared { launch.shared_aperture } else { launch.private_aperture };
                let slot = self.arg(args, 0)?;
                self.map1(dst, slot, 1, |x| u64::from((x >> 32) as u32 == high));
            }
            AddrspacecastNonnull => {
                let value = self.value(args, 0)?;
                let (from, to) = (self.ty(value).addr_space(), ty.addr_space());
                let (from, to) = (from.unwrap_or(AddrSpace::FLAT), to.unwrap_or(AddrSpace::FLAT));
                let slot = self.slot(value);
                self.cast_space(to, from, dst, slot)?;
            }
            Expect
            | ExpectWithProbability
            | LaunderInvariantGroup
            | StripInvariantGroup
            | SsaCopy
            | PtrAnnotation
            | Annotation
            | ArithmeticFence
            | ThreadlocalAddress => {
                let value = self.value(args, 0)?;
                self.regs.copy(dst, self.slot(value), self.flat.words_of(value), self.mask);
            }
            IsConstant => {
                let known = self.f.as_const(self.value(args, 0)?).is_some();
                self.regs.write(dst, self.mask, &[u64::from(known); MAX_LANES]);
            }
            Objectsize => {
                let minimum = self.immediate(args, 1)? & 1 != 0;
                let size = if minimum { 0 } else { ones(self.scalar_of(ty)?.bits()) };
                self.regs.write(dst, self.mask, &[size; MAX_LANES]);
            }
            // Time passes as it likes.
            Readcyclecounter
            | Readsteadycounter
            | SMemtime
            | SMemrealtime
            | SGetpc
            | Returnaddress
            | Frameaddress
            | Addressofreturnaddress
            | Sponentry => {
                let scalar = self.scalar_of(ty)?;
                self.regs.write(dst, self.mask, &[0; MAX_LANES]);
                self.poison(dst, scalar, self.mask);
            }
            SGetreg => {
                let value = self.read_mode(self.immediate(args, 0)?)?;
                self.regs.write(dst, self.mask, &[value; MAX_LANES]);
            }
            SSetreg => self.write_mode(args)?,
            LdsKernelId => match self.f.kernel.lds_kernel_id {
                Some(id) => self.regs.write(dst, self.mask, &[id.into(); MAX_LANES]),
                None => return Ok(false),
            },
            R600ReadNgroupsX | R600ReadNgroupsY | R600ReadNgroupsZ | R600ReadGlobalSizeX
            | R600ReadGlobalSizeY | R600ReadGlobalSizeZ | R600ReadLocalSizeX | R600ReadLocalSizeY
            | R600ReadLocalSizeZ => self.read_header(intrinsic, ty, dst)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A dword of the header in front of kernel arguments.
    fn read_header(&mut self, intrinsic: Intrinsic, ty: Type, dst: usize) -> Step<()> {
        use Intrinsic::*;
        let order = [
            R600ReadNgroupsX,
            R600ReadNgroupsY,
            R600ReadNgroupsZ,
            R600ReadGlobalSizeX,
            R600ReadGlobalSizeY,
            R600ReadGlobalSizeZ,
            R600ReadLocalSizeX,
            R600ReadLocalSizeY,
            R600ReadLocalSizeZ,
        ];
        let number = order.iter().position(|&i| i == intrinsic).unwrap_or(0) as u64;
        let place = super::memory::Place::Global(self.group.launch.kernarg + 4 * number);
        for l in lanes(self.mask) {
            self.load_value(place, l, ty, dst)?;
        }
        Ok(())
    }

    /// The bits of MODE that a hardware register operand names. Source: Vega ISA, "S_GETREG_B32": register in bits 5:0, first bit in 10:6, bits less
    /// one in 15:11.
    fn mode_field(&self, operand: u64) -> Step<(u32, u32)> {
        let (register, first, count) =
            (operand & 63, operand as u32 >> 6 & 31, (operand as u32 >> 11 & 31) + 1);
        if register != 1 {
            return Err(Stop::unsupported(format!("hardware register {register}")));
        }
        Ok((first, ones(count) as u32))
    }

    fn read_mode(&self, operand: u64) -> Step<u64> {
        let (first, mask) = self.mode_field(operand)?;
        Ok((self.wave.mode >> first & mask).into())
    }

    fn write_mode(&mut self, args: &[Value]) -> Step<()> {
        let (first, mask) = self.mode_field(self.immediate(args, 0)?)?;
        let value = self.uniform(self.arg(args, 1)?, "MODE")? as u32 & mask;
        self.wave.mode = self.wave.mode & !(mask << first) | value << first;
        Ok(())
    }

    /// Whether this file executes `intrinsic`; if so, does: memory by block, the stack.
    fn memory_intrinsic(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type, dst: usize) -> Step<bool> {
        use Intrinsic::*;
        match intrinsic {
            Memcpy | MemcpyInline | Memmove => self.copy_memory(args)?,
            Memset | MemsetInline | MemsetPattern => self.fill_memory(args)?,
            LifetimeStart | LifetimeEnd => self.forget_object(self.value(args, 0)?)?,
            Stacksave => self.save_stack(dst, ones(self.scalar_of(ty)?.bits())),
            Stackrestore => self.restore_stack(self.arg(args, 0)?)?,
            DsFadd | DsFmin | DsFmax => {
                let op = match intrinsic {
                    DsFadd => mir::ir::AtomicOp::FAdd,
                    DsFmin => mir::ir::AtomicOp::FMin,
                    _ => mir::ir::AtomicOp::FMax,
                };
                self.atomic_rmw(op, self.value(args, 0)?, AddrSpace::LOCAL, self.value(args, 1)?, dst)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
