//! A work-group: its waves run in turns, each up to a barrier or its end.

use super::Program;
use super::host::{Barrier, Cause, Fault, Host, Launch, Outcome, Site};
use super::regs::{Flat, MAX_LANES, Regs};
use super::wave::{Status, Wave};
use cranelift_entity::EntityRef;
use mir::ir::{Func, Module};
use sim::memory::Bus;
use std::sync::Arc;

/// What the waves of a work-group share.
pub struct Group<'a> {
    pub launch: &'a Launch,
    /// Whether the module is legal IR.
    pub legal: bool,
    pub host: &'a mut dyn Host,
    pub bus: &'a mut dyn Bus,
    pub lds: Vec<u8>,
    pub lds_undef: Vec<u8>,
    pub outcome: Outcome,
    /// Instructions left.
    pub fuel: u64,
    pub functions: Functions<'a>,
}

/// Functions made ready, and registers for them.
pub struct Functions<'a> {
    pub module: &'a Module,
    flat: &'a mut Vec<Option<Arc<Flat>>>,
    pool: &'a mut Vec<Vec<Regs>>,
}

impl Functions<'_> {
    /// The prepared form of `func`.
    pub fn flat(&mut self, func: Func) -> Result<Arc<Flat>, Cause> {
        if let Some(flat) = &self.flat[func.index()] {
            return Ok(flat.clone());
        }
        let flat = Arc::new(Flat::new(self.module, &self.module.functions[func])?);
        self.flat[func.index()] = Some(flat.clone());
        Ok(flat)
    }

    /// Registers for an activation of `func`, which hold its constants; addresses of symbols are those of `host`.
    pub fn take(&mut self, func: Func, flat: &Flat, host: &mut dyn Host) -> Regs {
        let mut regs = self.pool[func.index()].pop().unwrap_or_else(|| Regs::new(flat));
        for (word, symbol, offset, mask) in flat.symbols() {
            match host.symbol(func, symbol) {
                Some(address) => {
                    regs.write(word, u64::MAX, &[address.wrapping_add(offset as u64) & mask; MAX_LANES]);
                }
                None => regs.set_undef(word, u64::MAX, mask),
            }
        }
        regs
    }

    /// Gives registers back.
    pub fn give(&mut self, func: Func, regs: Regs) {
        self.pool[func.index()].push(regs);
    }
}

/// Runs one work-group.
pub fn run(
    program: &mut Program<'_>,
    kernel: Func,
    launch: &Launch,
    host: &mut dyn Host,
    bus: &mut dyn Bus,
) -> Result<Outcome, Fault> {
    let lds_bytes = launch.lds_bytes as usize;
    let mut group = Group {
        launch,
        legal: program.legal,
        host,
        bus,
        lds: vec![0; lds_bytes],
        lds_undef: vec![0xff; lds_bytes],
        outcome: Outcome::default(),
        fuel: launch.fuel,
        functions: Functions { module: program.module, flat: &mut program.flat, pool: &mut program.pool },
    };
    let items = launch.size.iter().try_fold(1u32, |n, &size| n.checked_mul(size)).filter(|&n| n <= 1 << 16);
    let Some(items) = items else {
        return Err(Fault { cause: Cause::Malformed("the work-group is too large".to_owned()), site: None });
    };
    let mut waves = Vec::new();
    for index in 0..items.div_ceil(launch.target.wave_size()) {
        let wave = Wave::start(&mut group, kernel, index, items);
        waves.push(wave.map_err(|cause| Fault { cause, site: None })?);
    }
    let mut barriers = 0;
    loop {
        for wave in &mut waves {
            if wave.status == Status::Running {
                wave.run(&mut group)?;
            }
        }
        let waiting = |wave: &Wave| match wave.status {
            Status::Barrier(site) => Some(site),
            _ => None,
        };
        let Some(first) = waves.iter().find_map(waiting) else { break };
        meet(&waves, first)?;
        group.host.barrier(&Barrier {
            index: barriers,
            site: first,
            lds: &group.lds,
            lds_undef: &group.lds_undef,
        });
        barriers += 1;
        waves.iter_mut().for_each(|wave| wave.status = Status::Running);
    }
    waves.into_iter().for_each(|wave| wave.finish(&mut group));
    Ok(group.outcome)
}

/// All waves must wait at one barrier.
fn meet(waves: &[Wave], first: Site) -> Result<(), Fault> {
    for (index, wave) in waves.iter().enumerate() {
        let problem = match wave.status {
            Status::Barrier(site) if (site.func, site.inst) == (first.func, first.inst) => continue,
            Status::Barrier(site) => {
                format!(
                    "waves of the work-group wait at different barriers: {} and {}",
                    first.inst, site.inst
                )
            }
            _ => format!("wave {index} has ended while others wait at a barrier"),
        };
        return Err(Fault { cause: Cause::Barrier(problem), site: Some(first) });
    }
    Ok(())
}
