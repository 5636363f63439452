//! Programs as LLVM IR.

use super::*;
use crate::random::lines::Lines;
use std::fmt::Write;

struct Printer<'a> {
    program: &'a Exchange,
    out: Lines,
    functions: String,
    /// Value of each variable.
    names: Vec<String>,
    /// The rounds of the loops around.
    rounds: Vec<String>,
    /// What [`Map`]s add to their base, where that is computed early.
    early: Vec<Option<String>>,
}

impl Exchange {
    /// The program as a module with kernel `k`.
    pub fn text(&self) -> String {
        let mut p = Printer {
            program: self,
            out: Lines::default(),
            functions: String::new(),
            names: self.vars.iter().map(|_| "poison".to_owned()).collect(),
            rounds: Vec::new(),
            early: vec![None; self.maps.len()],
        };
        p.out.label("entry");
        p.start();
        p.body(&self.body);
        p.end();
        let mut text = "target triple = \"amdgcn-amd-amdhsa\"\n".to_owned();
        let noalias = if self.noalias { "noalias " } else { "" };
        let mut params: Vec<String> =
            ["out", "in"].iter().map(|name| format!("ptr addrspace(1) {noalias}%{name}")).collect();
        let (_, used) = self.used_maps();
        for (number, region) in self.regions.iter().enumerate() {
            if region.lds && !used[number] {
                continue;
            }
            if region.lds {
                let _ = writeln!(
                    text,
                    "@lds{number} = internal addrspace(3) global [{} x i32] poison, align {}",
                    region.bytes / 4,
                    region.align
                );
            } else {
                params.push(format!("ptr addrspace(1) %buffer{number}"));
            }
        }
        params.extend((0..self.trips.len()).map(|number| format!("i32 %n{number}")));
        let (params, items) = (params.join(", "), self.items);
        let _ = writeln!(
            text,
            "define amdgpu_kernel void @k({params}) #0 !reqd_work_group_size !0 {{\n{}}}\n\
             attributes #0 = {{ \"amdgpu-flat-work-group-size\"=\"{items},{items}\" }}\n\
             !0 = !{{i32 {items}, i32 1, i32 1}}\n\
             !1 = !{{!\"amdgpu-synchronize-as\", !\"global\"}}\n\
             !2 = !{{!\"amdgpu-synchronize-as\", !\"local\"}}",
            p.out.text
        );
        text.push_str(&p.functions);
        for declaration in [
            "i32 @llvm.amdgcn.workitem.id.x()",
            "i32 @llvm.amdgcn.workgroup.id.x()",
            "i32 @llvm.amdgcn.mbcnt.lo(i32, i32)",
            "i32 @llvm.amdgcn.mbcnt.hi(i32, i32)",
            "i32 @llvm.amdgcn.readfirstlane.i32(i32)",
            "void @llvm.amdgcn.wave.barrier()",
            "void @llvm.amdgcn.s.barrier()",
        ] {
            let name = declaration.split_once('(').map_or(declaration, |(name, _)| name);
            if text.contains(name) {
                let _ = writeln!(text, "declare {declaration}");
            }
        }
        text
    }
}

impl Printer<'_> {
    fn start(&mut self) {
        let program = self.program;
        self.out.line("%id = call i32 @llvm.amdgcn.workitem.id.x()");
        self.out.line("%group = call i32 @llvm.amdgcn.workgroup.id.x()");
        let (used_maps, used_regions) = program.used_maps();
        let used_map = |number: usize| used_maps[number];
        let maps_of_waves =
            (0..used_maps.len()).any(|number| used_map(number) && program.maps[number].is_of_waves());
        if maps_of_waves || asks_for_lanes(&program.body) {
            self.wave();
        }
        let first = self.out.op(&format!("mul i32 %group, {}", program.items));
        self.out.line(&format!("%item = add i32 {first}, %id"));
        let (slots, stride) = program.slots();
        let part = self.out.op(&format!("mul i32 %item, {stride}"));
        self.out.line(&format!("%part = zext i32 {part} to i64"));
        let used = program.used();
        for (var, ty) in program.vars.iter().enumerate().filter(|&(var, _)| used[var]) {
            let place = self.out.op("getelementptr i8, ptr addrspace(1) %in, i64 %part");
            let place =
                self.out.op(&format!("getelementptr i8, ptr addrspace(1) {place}, i64 {}", slots[var]));
            self.names[var] =
                self.out.op(&format!("load {}, ptr addrspace(1) {place}, align {}", ty.name(), ty.bytes()));
        }
        for (number, region) in program.regions.iter().enumerate() {
            if region.lds || !used_regions[number] {
                continue;
            }
            let bytes = self.out.op(&format!("mul i32 %group, {}", region.bytes));
            let bytes = self.out.op(&format!("zext i32 {bytes} to i64"));
            self.out.line(&format!(
                "%slice{number} = getelementptr i8, ptr addrspace(1) %buffer{number}, i64 {bytes}"
            ));
        }
        for (number, map) in
            program.maps.iter().enumerate().filter(|&(number, map)| map.early && used_map(number))
        {
            self.early[number] = Some(self.bytes_of(map));
        }
    }

    /// The number of the wave, and that of the lane in it.
    fn wave(&mut self) {
        let program = self.program;
        let lanes = program.lanes();
        if program.counted_lane {
            self.out.line("%low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)");
            let high = if program.form.wave == 64 {
                self.out.op("call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)")
            } else {
                "%low".to_owned()
            };
            self.out.line(&format!("%lane = add i32 {high}, 0"));
        } else {
            self.out.line(&format!("%lane = and i32 %id, {}", lanes - 1));
        }
        let wave = self.out.op(&format!("lshr i32 %id, {}", lanes.ilog2()));
        if program.scalar_wave {
            self.out.line(&format!("%wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 {wave})"));
        } else {
            self.out.line(&format!("%wave = add i32 {wave}, 0"));
        }
    }

    fn end(&mut self) {
        let program = self.program;
        let (slots, _) = program.slots();
        let used = program.used();
        for (var, ty) in program.vars.iter().enumerate().filter(|&(var, _)| used[var]) {
            let place = self.out.op("getelementptr i8, ptr addrspace(1) %out, i64 %part");
            let place =
                self.out.op(&format!("getelementptr i8, ptr addrspace(1) {place}, i64 {}", slots[var]));
            let (name, value) = (ty.name(), self.names[var].clone());
            self.out.line(&format!("store {name} {value}, ptr addrspace(1) {place}, align {}", ty.bytes()));
        }
        self.out.line("ret void");
    }

    /// `number * scale + wave * slice` of a map.
    fn bytes_of(&mut self, map: &Map) -> String {
        let program = self.program;
        let (items, lanes) = (program.items, program.lanes());
        let number = match map.number {
            Number::Own => "%id".to_owned(),
            Number::Xor(bits) => self.out.op(&format!("xor i32 %id, {bits}")),
            Number::Reversed => self.out.op(&format!("sub nuw nsw i32 {}, %id", items - 1)),
            Number::Rotated(by) => {
                let next = self.out.op(&format!("add nuw nsw i32 %id, {by}"));
                self.out.op(&format!("and i32 {next}, {}", items - 1))
            }
            Number::InWave(0) => "%lane".to_owned(),
            Number::InWave(by) => {
                let next = self.out.op(&format!("add i32 %lane, {by}"));
                self.out.op(&format!("and i32 {next}, {}", lanes - 1))
            }
            Number::XorInWave(bits) => self.out.op(&format!("xor i32 %lane, {bits}")),
            Number::Wave => "%wave".to_owned(),
            Number::Zero => "0".to_owned(),
            Number::Shared(shift) => self.out.op(&format!("lshr i32 %id, {shift}")),
            Number::Value(var, mask) => {
                let word = self.operand(Operand::Var(var, 0));
                self.out.op(&format!("and i32 {word}, {mask}"))
            }
        };
        let bytes = if number == "0" {
            number
        } else if map.scale.is_power_of_two() {
            self.out.op(&format!("shl i32 {number}, {}", map.scale.ilog2()))
        } else {
            self.out.op(&format!("mul nuw nsw i32 {number}, {}", map.scale))
        };
        if map.slice == 0 {
            return bytes;
        }
        let slice = self.out.op(&format!("mul i32 %wave, {}", map.slice));
        self.out.op(&format!("add i32 {slice}, {bytes}"))
    }

    /// Space and address of an access.
    fn place(&mut self, access: &Access) -> String {
        let program = self.program;
        let map = &program.maps[access.map];
        let region = map.region;
        let (space, base) = match program.regions[region].lds {
            true => (3, format!("@lds{region}")),
            false => (1, format!("%slice{region}")),
        };
        let bytes = match self.early[access.map].clone() {
            Some(bytes) => bytes,
            None => self.bytes_of(map),
        };
        let constant = map.base + access.offset;
        let step = access.step.and_then(|(depth, bytes)| Some((self.rounds.get(depth)?.clone(), bytes)));
        let step = step.map(|(round, bytes)| self.out.op(&format!("mul i32 {round}, {bytes}")));
        let at = |p: &mut Self, base: String, index: String, element: &str| {
            let index = if map.wide && index.starts_with('%') {
                format!("i64 {}", p.out.op(&format!("zext i32 {index} to i64")))
            } else {
                format!("i32 {index}")
            };
            p.out.op(&format!("getelementptr {element}, ptr addrspace({space}) {base}, {index}"))
        };
        if map.form == Form::Steps {
            let mut place = at(self, base, bytes, "i8");
            if let Some(step) = step {
                place = at(self, place, step, "i8");
            }
            if constant > 0 {
                place = at(self, place, constant.to_string(), "i8");
            }
            return format!("ptr addrspace({space}) {place}");
        }
        let mut sum = bytes;
        if let Some(step) = step {
            sum = self.out.op(&format!("add i32 {sum}, {step}"));
        }
        if constant > 0 {
            sum = self.out.op(&format!("add i32 {sum}, {constant}"));
        }
        let parts = map.scale | map.slice | constant | access.step.map_or(0, |(_, bytes)| bytes);
        let place = if map.form == Form::Dwords && parts.is_multiple_of(4) {
            let index = self.out.op(&format!("lshr exact i32 {sum}, 2"));
            at(self, base, index, "i32")
        } else {
            at(self, base, sum, "i8")
        };
        format!("ptr addrspace({space}) {place}")
    }

    fn operand(&mut self, operand: Operand) -> String {
        match operand {
            Operand::Var(var, part) => {
                let (ty, value) = (self.program.vars[var], self.names[var].clone());
                self.word(ty, &value, part)
            }
            Operand::Const(value) => (value as i32).to_string(),
            Operand::Item => "%id".to_owned(),
            Operand::Lane => "%lane".to_owned(),
            Operand::Group => "%group".to_owned(),
            Operand::Round(depth) => self.rounds.get(depth).cloned().unwrap_or_else(|| "0".to_owned()),
        }
    }

    /// As [`super::evaluate::word`].
    fn word(&mut self, ty: Ty, value: &str, part: u8) -> String {
        match ty {
            Ty::Int(32) => value.to_owned(),
            Ty::Int(64) if part % 2 == 1 => {
                let high = self.out.op(&format!("lshr i64 {value}, 32"));
                self.out.op(&format!("trunc i64 {high} to i32"))
            }
            Ty::Int(64) => self.out.op(&format!("trunc i64 {value} to i32")),
            Ty::Int(bits) => {
                let extension = if part % 2 == 1 { "sext" } else { "zext" };
                self.out.op(&format!("{extension} i{bits} {value} to i32"))
            }
            Ty::Vec(_, lanes) => {
                let element = u32::from(part) % lanes;
                self.out.op(&format!("extractelement {} {value}, i32 {element}", ty.name()))
            }
            Ty::F32 | Ty::F64 => self.out.op(&format!("bitcast {} {value} to i32", ty.name())),
        }
    }

    fn set_word(&mut self, var: usize, part: u8, word: &str) {
        let (ty, old) = (self.program.vars[var], self.names[var].clone());
        self.names[var] = match ty {
            Ty::Int(32) => word.to_owned(),
            Ty::Int(64) => {
                let wide = self.out.op(&format!("zext i32 {word} to i64"));
                if part % 2 == 1 { self.out.op(&format!("xor i64 {old}, {wide}")) } else { wide }
            }
            Ty::Int(bits) => self.out.op(&format!("trunc i32 {word} to i{bits}")),
            Ty::Vec(_, lanes) => {
                let element = u32::from(part) % lanes;
                self.out.op(&format!("insertelement {} {old}, i32 {word}, i32 {element}", ty.name()))
            }
            Ty::F32 | Ty::F64 => self.out.op(&format!("bitcast i32 {word} to {}", ty.name())),
        };
    }

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            Kind::Compute { dst, part, op, args } => {
                let [a, b] = args.map(|arg| self.operand(arg));
                let word = self.out.op(&format!("{op} i32 {a}, {b}"));
                self.set_word(*dst, *part, &word);
            }
            Kind::Wide { dst, op, arg } => {
                let (ty, a, b) = (self.program.vars[*dst].name(), &self.names[*dst], &self.names[*arg]);
                let text = format!("{op} {ty} {a}, {b}");
                self.names[*dst] = self.out.op(&text);
            }
            Kind::Load { access, dst, op } => {
                let (place, ty) = (self.place(access), access.ty.name());
                let mut value = self.out.op(&match access.how {
                    How::Plain => format!("load {ty}, {place}, align {}", access.align),
                    How::Volatile => format!("load volatile {ty}, {place}, align {}", access.align),
                    How::Atomic(sync) => {
                        let align = access.ty.bytes();
                        format!("load atomic {ty}, {place} syncscope(\"{sync}\") monotonic, align {align}")
                    }
                });
                if let Some(op) = op {
                    let old = self.names[*dst].clone();
                    value = self.out.op(&format!("{op} {ty} {old}, {value}"));
                }
                self.names[*dst] = value;
            }
            Kind::Store { access, value } => {
                let (place, ty, value) = (self.place(access), access.ty.name(), self.names[*value].clone());
                self.out.line(&match access.how {
                    How::Plain => format!("store {ty} {value}, {place}, align {}", access.align),
                    How::Volatile => format!("store volatile {ty} {value}, {place}, align {}", access.align),
                    How::Atomic(sync) => {
                        let align = access.ty.bytes();
                        format!("store atomic {ty} {value}, {place} syncscope(\"{sync}\") monotonic, align {align}")
                    }
                });
            }
            Kind::Atomic { access, op, sync, value, dst } => {
                let (place, ty, value) = (self.place(access), access.ty.name(), self.names[*value].clone());
                let old = self
                    .out
                    .op(&format!("atomicrmw {op} {place}, {ty} {value} syncscope(\"{sync}\") monotonic"));
                if let Some(dst) = dst {
                    self.names[*dst] = old;
                }
            }
            Kind::If { cond, arms } => self.branch(*cond, arms),
            Kind::Order(order) => self.order(order),
            Kind::Loop { trips, down, guarded, body } => self.turns(*trips, *down, *guarded, body),
        }
    }

    fn order(&mut self, order: &Order) {
        let note = match order.only {
            None => "",
            Some(false) => ", !mmra !1",
            Some(true) => ", !mmra !2",
        };
        let sync = match order.sync {
            "" => String::new(),
            sync => format!("syncscope(\"{sync}\") "),
        };
        let [first, second] = order.fences.map(|ordering| format!("fence {sync}{ordering}{note}"));
        let wave = "call void @llvm.amdgcn.wave.barrier()".to_owned();
        let group = "call void @llvm.amdgcn.s.barrier()".to_owned();
        let lines = match order.way {
            Way::WaveBarrier => vec![wave],
            Way::Barrier => vec![group],
            Way::Fence => vec![first],
            Way::Fences => vec![first, second],
            Way::FencedWaveBarrier => vec![first, wave, second],
            Way::FencedBarrier => vec![first, group, second],
        };
        let Some(inlined) = order.called else {
            lines.iter().for_each(|line| self.out.line(line));
            return;
        };
        let n = self.out.number();
        let attribute = if inlined { "alwaysinline" } else { "noinline" };
        let _ = writeln!(
            self.functions,
            "define internal void @order{n}() convergent {attribute} {{\n  {}\n  ret void\n}}",
            lines.join("\n  ")
        );
        self.out.line(&format!("call void @order{n}()"));
    }

    fn branch(&mut self, cond: Cond, arms: &[Vec<Stmt>; 2]) {
        let n = self.out.number();
        let cond = match cond {
            Cond::Bits(of, mask, value) => {
                let of = self.operand(of);
                let bits = self.out.op(&format!("and i32 {of}, {mask}"));
                self.out.op(&format!("icmp eq i32 {bits}, {value}"))
            }
            Cond::Below(of, limit) => {
                let of = self.operand(of);
                self.out.op(&format!("icmp ult i32 {of}, {limit}"))
            }
        };
        let other = if arms[1].is_empty() { "join" } else { "else" };
        self.out.line(&format!("br i1 {cond}, label %then{n}, label %{other}{n}"));
        let before = (self.names.clone(), self.out.block.clone());
        let mut ways = Vec::new();
        for (name, arm) in ["then", "else"].iter().zip(arms) {
            self.names.clone_from(&before.0);
            if arm.is_empty() && *name == "else" {
                ways.push(before.clone());
                continue;
            }
            self.out.label(&format!("{name}{n}"));
            self.body(arm);
            ways.push((self.names.clone(), self.out.block.clone()));
            self.out.line(&format!("br label %join{n}"));
        }
        self.out.label(&format!("join{n}"));
        let [(yes, yes_block), (no, no_block)] = &ways[..] else { return };
        for (var, ty) in self.program.vars.iter().enumerate() {
            self.names[var] = if yes[var] == no[var] {
                yes[var].clone()
            } else {
                let ways = format!("[ {}, %{yes_block} ], [ {}, %{no_block} ]", yes[var], no[var]);
                self.out.op(&format!("phi {} {ways}", ty.name()))
            };
        }
    }

    fn turns(&mut self, trips: Trips, down: bool, guarded: bool, body: &[Stmt]) {
        let n = self.out.number();
        let limit = match trips {
            Trips::Const(count) => count.to_string(),
            Trips::Arg(number) => format!("%n{number}"),
        };
        let (first, last) = if down {
            (self.out.op(&format!("sub i32 {limit}, 1")), "-1".to_owned())
        } else {
            ("0".to_owned(), limit)
        };
        self.out.line(&format!("br label %loop{n}"));
        let (before, start) = (self.out.block.clone(), self.names.clone());
        let mut changed = vec![false; self.names.len()];
        mentioned(body, &mut changed);
        for (var, _) in changed.iter().enumerate().filter(|(_, changed)| **changed) {
            self.names[var] = format!("%v{var}.{n}");
        }
        let inside = self.names.clone();
        let outer = std::mem::take(&mut self.out.text);
        self.out.block = format!("loop{n}");
        if guarded {
            let more = self.out.op(&format!("icmp ne i32 %i{n}, {last}"));
            self.out.line(&format!("br i1 {more}, label %body{n}, label %done{n}"));
            self.out.label(&format!("body{n}"));
        }
        self.rounds.push(format!("%i{n}"));
        self.body(body);
        self.rounds.pop();
        self.out.line(&format!("%next{n} = add nsw i32 %i{n}, {}", if down { -1 } else { 1 }));
        if guarded {
            self.out.line(&format!("br label %loop{n}"));
        } else {
            let more = self.out.op(&format!("icmp ne i32 %next{n}, {last}"));
            self.out.line(&format!("br i1 {more}, label %loop{n}, label %done{n}"));
        }
        let inner = std::mem::replace(&mut self.out.text, outer);
        let latch = std::mem::replace(&mut self.out.block, format!("done{n}"));
        let _ = writeln!(self.out.text, "loop{n}:");
        self.out.line(&format!("%i{n} = phi i32 [ {first}, %{before} ], [ %next{n}, %{latch} ]"));
        for (var, ty) in self.program.vars.iter().enumerate().filter(|&(var, _)| changed[var]) {
            let (name, from, to) = (inside[var].clone(), start[var].clone(), self.names[var].clone());
            self.out.line(&format!("{name} = phi {} [ {from}, %{before} ], [ {to}, %{latch} ]", ty.name()));
        }
        self.out.text.push_str(&inner);
        self.out.label(&format!("done{n}"));
        if guarded {
            self.names = inside;
        }
    }
}
