use super::super::ImageParts;
use super::*;
use crate::target::{Counter, PROCESSORS, Target, WaveSize};

/// Mnemonics are the witness of relation, signedness and strides.
#[test]
fn facts_agree_with_mnemonics() {
    let relation = |name: &str| {
        let rest = ["v_cmpx_", "v_cmpsx_", "v_cmps_", "v_cmp_"].iter().find_map(|p| name.strip_prefix(p))?;
        let wanted = match rest.split('_').next()? {
            "class" => return Some(Comparison::Class),
            "f" => 0,
            "lt" => 1,
            "eq" => 2,
            "le" => 3,
            "gt" => 4,
            "lg" | "ne" => 5,
            "ge" => 6,
            "o" => 7,
            "u" => 8,
            "nge" => 9,
            "nlg" => 10,
            "ngt" => 11,
            "nle" => 12,
            "neq" => 13,
            "nlt" => 14,
            "tru" | "t" => 15,
            other => panic!("{other}"),
        };
        Some(Comparison::Relation(Relation::from_bits_truncate(wanted)))
    };
    for &op in Opcode::ALL {
        let (info, facts) = (op.info(), op.facts());
        let name = info.name;
        assert_eq!(facts.comparison, relation(name), "{name}");
        if let Some(memory) = facts.memory {
            let signed =
                ["_sbyte", "_sshort", "read_i8", "read_i16", "_sgn"].iter().any(|s| name.contains(s));
            assert_eq!(memory.sign_extends, signed, "{name}");
            let stride = if name.contains("st64") { 64 } else { u16::from(name.contains('2')) };
            let two = info.flags.contains(OpFlags::DS_TWO);
            assert_eq!(
                memory.stride_bytes,
                if two { stride * u16::from(memory.element_bytes) } else { 0 },
                "{name}"
            );
            let counts = ["ds_append", "ds_consume", "ds_condxchg32_rtn_b64", "ds_ordered_count"];
            let atomic = memory.action.contains(MemoryAction::ATOMIC) && !counts.contains(&name);
            assert_eq!(memory.rmw.is_some(), atomic, "{name}");
            if let (Some(rmw), Some((_, word))) = (memory.rmw, name.split_once("atomic_")) {
                let kind = format!("{rmw:?}").to_lowercase();
                assert_eq!(word.trim_end_matches("_x2"), kind, "{name}");
            }
            assert_eq!(
                memory.kind == MemoryKind::ScalarBuffer,
                name.starts_with("s_") && name.contains("_buffer"),
                "{name}"
            );
        }
        assert_eq!(info.flags.contains(OpFlags::DS_SRC2), name.contains("src2"), "{name}");
        assert_eq!(info.flags.contains(OpFlags::EARLY_CLOBBER), name.contains("qsad_"), "{name}");
    }
}

#[test]
fn image_parts_agree_with_mnemonics() {
    for &op in Opcode::ALL.iter().filter(|op| op.facts().memory.is_some_and(|m| m.kind == MemoryKind::Image))
    {
        let (name, parts) = (op.info().name, op.info().image);
        let sampled = ["image_sample", "image_gather4", "image_get_lod"].iter().any(|p| name.starts_with(p));
        let has = |words: &[&str]| name.split('_').any(|part| words.contains(&part));
        let wanted = [
            (ImageParts::SAMPLED, sampled),
            (ImageParts::OFFSET, has(&["o"])),
            (ImageParts::BIAS, has(&["b"])),
            (ImageParts::COMPARE, has(&["c"])),
            (ImageParts::DERIVATIVES, has(&["d", "cd"])),
            (ImageParts::LOD, has(&["l"])),
            (ImageParts::LOD_ZERO, has(&["lz"])),
            (ImageParts::LOD_CLAMP, has(&["cl"])),
            (ImageParts::LOD_QUERY, name == "image_get_lod"),
            (ImageParts::SIZE_QUERY, name == "image_get_resinfo"),
            (ImageParts::MIP, has(&["mip"])),
            (ImageParts::PACKED, has(&["pck"])),
            (ImageParts::HORIZONTAL, has(&["gather4h"])),
        ];
        for (part, there) in wanted {
            assert_eq!(parts.contains(part), there, "{name}: {part:?}");
        }
    }
}

/// What the rows' columns and flags say together.
#[test]
fn units_and_memory_fit() {
    for &op in Opcode::ALL {
        let (info, facts) = (op.info(), op.facts());
        let memory_unit = matches!(facts.unit, Unit::Smem | Unit::Vmem | Unit::Ds);
        assert_eq!(facts.memory.is_some(), memory_unit, "{op:?}");
        assert_eq!(facts.memory.is_some(), info.format.is_memory(), "{op:?}");
        assert_eq!(facts.unit == Unit::Pseudo, info.format == Format::Pseudo, "{op:?}");
        if facts.unit.is_vector() && !info.flags.contains(OpFlags::IGNORES_EXEC) {
            assert!(facts.implicit.contains(Implicit::EXEC_USE), "{op:?}");
        }
    }
}

/// Every instruction with a counter flag is an event of that counter, and no other is.
#[test]
fn events_fit_the_counter_flags() {
    for processor in PROCESSORS {
        let target = Target::new(processor);
        for &op in Opcode::ALL {
            let flags = op.info().flags;
            let events = Inst::new(op, []).counter_events(&target);
            let counts = |counter| {
                let kinds = events.kinds.iter().flatten();
                kinds
                    .chain(&events.sources)
                    .any(|&kind| target.waits().kind(kind).is_some_and(|of| of.0 == counter))
            };
            let access = op.facts().memory.is_none_or(|m| m.is_access());
            // Stores count apart where there is a counter for them.
            let vector = counts(Counter::Vm) || counts(Counter::Vs);
            assert_eq!(vector, flags.contains(OpFlags::VM) && access, "{op:?}");
            // Cache control of scalar memory counts or not; it is never waited for by register.
            let smem = op.facts().unit == Unit::Smem;
            assert_eq!(counts(Counter::Lgkm), flags.contains(OpFlags::LGKM) || smem, "{op:?}");
        }
    }
}

/// Implicit registers are listed once each, in the table's order.
#[test]
fn implicit_registers() {
    let of =
        |op: Opcode| (op.facts().implicit & Implicit::LISTED).registers(WaveSize::W64).collect::<Vec<_>>();
    assert_eq!(of(Opcode::S_ADDC_U32), [(PReg::SCC, 1, false), (PReg::SCC, 1, true)]);
    assert_eq!(of(Opcode::V_DIV_FMAS_F32), [(PReg::VCC_LO, 2, false)]);
    assert_eq!(of(Opcode::S_AND_SAVEEXEC_B64), [(PReg::SCC, 1, true), (PReg::EXEC_LO, 2, true)]);
    assert!(Opcode::V_ADD_F32.facts().implicit.contains(Implicit::EXEC_USE | Implicit::MODE_USE));
    assert!(!Opcode::V_READLANE_B32.facts().implicit.contains(Implicit::EXEC_USE));
    assert!(Opcode::FLAT_LOAD_DWORD.facts().implicit.contains(Implicit::FLAT_SCRATCH_USE));
}
