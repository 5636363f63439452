//! The text of machine functions, both ways.

use super::*;
use crate::ir::{CallConv, Func};
use crate::isa::Opcode;
use crate::machine::*;
use cranelift_entity::EntityRef;

/// Something of everything. Not code that means anything.
const EVERYTHING: &str = "\
function \"k-1\", cc 91, source #fn3, linear
  vregs 20
  blocks 9
  lane_masks %1:s2
  whole_wave %3:v1
  pinned %1:s2, %3:v1
  uniform %9:v1
  hints %1:s2 = vcc_lo, %4:s1 = m0
  declare %6:v4, %7:s8
  called
  arguments_end 4
  wave_offset s9
  builds_scratch
  scratch_resource s12
  entry private_segment_buffer in s[0:3]
  entry %8:s2 = dispatch_ptr in s[4:5]
  entry kernarg_segment_ptr
  entry %3:v1 = argument v7
  slot0: 16 bytes align 4
  slot1: 4 bytes align 1 at 32
  sym0 = #fn2
  sym1 = #global5
  kernarg 64 bytes align 8 hidden at 8
  args 0: 8 bytes at 0 dynamic_shared_pointer space 3 pointee_align 16, 1: 4 bytes at 8 by_value, hidden: 8 bytes at 16 hidden_global_offset_x
  args hidden: 8 bytes at 24 hidden_global_offset_y
  lds 256 bytes gds 4 dynamic [0: #global1, 16: #global2]
  locs 0:12:5, 1:13:0
  uses_flat_scratch
  max_flat_workgroup_size 256
  resources sgprs 5 vgprs 6 sgpr_spills 7 vgpr_spills 8 scratch_bytes 9 vcc flat_scratch
  result_dwords 3
  shader_results v0, v1, s2
  frame_base s33
  dynamic_stack
  saves_from v248
  whole_wave_vgprs v40, v41
  call 0:
  call 1: #fn2 graphics tail result_dwords 2 stack_bytes 16 reads s4, v31
  asm 0: \"v_mov_b32 $0, \\22$1\\22\" named_sgprs 5 opaque (operand 5, -3, \"s7\")
    inside v0 = v_mov_b32 s7
    inside s_nop 3
mbb2 (%0:v1, %3:v1 | %1:s2), depth 3:
  head  exec = s_mov_b64 %1:s2
  head  s_nop 0
        %2:v2 = v_fma_f64_e64 -|%6.0:v2|, |%6.2:v2|, -(1) neg:128 op_sel:5 omod:2 clamp
        %9:v1 = v_add_f32_sdwa %0:v1, -%3:v1, tied %0:v1 dst_sel:byte1 dst_unused:preserve src0_sel:word1 src1_sel:dword sext:3
        %10:v1 = v_mov_b32_dpp %9:v1, tied %9:v1 dpp:0x111 row_mask:0xf bank_mask:0xc bound_ctrl !loc 2
        %11:v1 = ds_read2_b32 %9:v1 offset:4 offset1:255 gds !loc 1
        s4 = s_mov_b32 m0
        ttmp[4:7] = s_load_dwordx4 %8:s2, 0x12345 glc lit0 other_lanes [16 bytes, space 4, align 4, acquire workgroup, volatile, invariant, alias 3, place 7:-16]
        %7.3:s1 = s_load_dword 0xffffffffffff0000, off, tied sym0-4@rel32@hi, tied sym1+8@gotpcrel32@lo [4 bytes, space 1, align 1, not_atomic agent, one_as]
        s_branch flat_scratch_lo:3, tied mbb4, tied v[0:31], tied exec_hi, tied src_shared_base:2, tied preg150
  tail  %12:s2 = s_and_saveexec_b64 %1:s2
  wave vccnz -> mbb3, mbb4(%12, %4)   thread -> mbb4(%2), mbb3(%0, %3 | %12)
mbb4 ( | %13:s2, %14:s1):
  wave jump -> mbb3
mbb3:
  wave end
";

fn parsed(text: &str) -> Function {
    parse_function(text, "test").unwrap_or_else(|error| panic!("{error}: {:?}", error.location))
}

#[test]
fn everything_reads_back() {
    let f = parsed(EVERYTHING);
    assert_eq!(f.to_string(), EVERYTHING);
    assert_eq!((f.name.as_str(), f.call_conv, f.source.index()), ("k-1", CallConv::Other(91), 3));
    assert_eq!((f.vregs.len(), f.blocks.len(), f.layout.len()), (20, 9, 3));
    let flags = f.vregs[VReg::new(3)].flags;
    assert_eq!(flags, VRegFlags::WHOLE_WAVE | VRegFlags::PINNED);
    let block = &f.blocks[Block::new(2)];
    assert_eq!((block.head_len, block.tail_start, block.insts.len()), (2, 10, 11));
    assert_eq!(block.thread_sargs.len(), 2);
    let fma = &block.insts[2];
    assert_eq!((fma.encoding, fma.mods.neg, fma.mods.abs), (Encoding::E64, 0x85, 3));
    assert_eq!(fma.operands[3], Operand::Imm(1));
    assert_eq!(f.asm_sites[0].inside.len(), 2);
    assert_eq!(parsed(&f.to_string()), f);
}

#[test]
fn the_example_of_the_documentation_is_read() {
    let lines = include_str!("mod.rs").lines().filter_map(|line| line.strip_prefix("//! "));
    let example: Vec<&str> =
        lines.skip_while(|l| *l != "```text").skip(1).take_while(|l| *l != "```").collect();
    let text = example.join("\n") + "\n";
    let f = parsed(&text);
    assert_eq!((f.layout.len(), f.blocks[f.layout[0]].insts.len()), (1, 4));
    assert!(f.to_string().ends_with(&text[text.find("  lane_masks").unwrap()..]));
}

#[test]
fn small_texts_say_little() {
    let f = parsed(
        "function f\n\
         mbb0:\n\
         \x20 %1:s2 = v_cmp_lt_u32 0x1000, %0.1:v1\n\
         \x20 divergent %1 -> mbb1(%0:v2), mbb1(%0)\n\
         mbb1 (%2:v2):\n\
         \x20 global_store_dword %2, %1, off [4 bytes] ; where it goes\n\
         \x20 end\n",
    );
    let mut expected = Function::new("f", CallConv::Kernel, Func::new(0));
    let (a, b) = (expected.add_block(), expected.add_block());
    let wide = expected.new_vreg(RegFile::Vgpr, 2);
    let mask = expected.new_vreg(RegFile::Sgpr, 2);
    let param = expected.new_vreg(RegFile::Vgpr, 2);
    let operands = [Operand::vreg(mask, 2), Operand::Imm(4096), Operand::sub(wide, 1, 1)];
    expected.blocks[a].push(Inst::new(Opcode::V_CMP_LT_U32, operands));
    expected.blocks[a].term = Terminator::Divergent(mask);
    let edge = Edge { block: b, args: [wide].into_iter().collect() };
    expected.blocks[a].thread_succs = [edge.clone(), edge].into_iter().collect();
    expected.blocks[a].thread_sargs.resize(2, Default::default());
    expected.blocks[b].vparams.push(param);
    let mem = crate::ir::MemAccess::plain(crate::ir::AddrSpace::GLOBAL, 2);
    let operands = [Operand::vreg(param, 2), Operand::vreg(mask, 2), Operand::Off];
    let store = Inst::new(Opcode::GLOBAL_STORE_DWORD, operands).with_mem(MemRef::new(mem, 4));
    expected.blocks[b].push(store);
    expected.blocks[b].term = Terminator::EndProgram;
    assert_eq!(f, expected);
    assert_eq!(
        f.to_string(),
        "function f\n\
         mbb0:\n        \
         %1:s2 = v_cmp_lt_u32 0x1000, %0.1:v1\n  \
         divergent %1:s2 -> mbb1(%0), mbb1(%0)\n\
         mbb1 (%2:v2):\n        \
         global_store_dword %2:v2, %1:s2, off [4 bytes, space 1, align 4]\n  \
         end\n"
            .replace("function f\n", "function f\n  declare %0:v2\n")
    );
}

#[test]
fn functions_stand_behind_each_other() {
    let functions = parse_functions("function a, device\nfunction b\nmbb0:\n  end\n", "test").unwrap();
    assert_eq!(functions.len(), 2);
    assert!(functions[0].entry.called && !functions[1].entry.called);
    assert_eq!((functions[0].layout.len(), functions[1].layout.len()), (0, 1));
}

#[test]
fn errors_say_where_and_what() {
    let cases = [
        ("", 0, 0, "expected one function"),
        ("module", 1, 1, "expected a function"),
        ("function f\n  nonsense 3\n", 2, 3, "expected a line of the header or a block"),
        ("function", 1, 9, "expected a name"),
        ("function f, kernal", 1, 13, "expected a calling convention, 'wave32', 'source' or a stage"),
        ("function f\nmbb0:\n  s_nop 0\n", 4, 1, "expected an instruction or a terminator"),
        ("function f\nmbb0:\n  s_nope 0\n  end\n", 3, 3, "expected an instruction"),
        ("function f\nmbb0:\n  s_nop %1\n  end\n", 3, 9, "expected file and width of %1 somewhere, as %1:v1"),
        (
            "function f\nmbb0:\n  %1:s1 = s_mov_b32 %1:s2\n  end\n",
            3,
            21,
            "%1 has another file or width before",
        ),
        ("function f\nmbb0:\n  s_nop 0 offset:x\n  end\n", 3, 18, "expected a number"),
        ("function f\nmbb0:\n  s_nop 0 sometimes\n  end\n", 3, 11, "expected an operand or a modifier"),
        ("function f\nmbb0:\n  s_nop 0 !loc 1\n  end\n", 3, 16, "expected a number among the header's locs"),
        ("function f\nmbb0:\n  jump mbb1\n", 3, 8, "expected '-'"),
        ("function f\nmbb0:\n  end\nmbb0:\n  end\n", 4, 1, "mbb0 is there twice"),
        ("function f\nmbb0:\n  tail  s_nop 0\n  s_nop 0\n  end\n", 4, 3, "the tail of a block is at its end"),
        ("function f\nmbb0:\n  s_branch s[0:200000]\n  end\n", 3, 16, "number out of range"),
        ("function f\nmbb0:\n  s_branch sym0@rel32@lo\n  end\n", 3, 12, "expected a symbol of the header"),
        ("function f\nmbb0:\n  s_mov_b32 s4, m0\n  end\n", 3, 3, "expected 1 definition before '='"),
        (
            "function f\nmbb0:\n  s4 = s_mov_b32 tied s4\n  end\n",
            3,
            18,
            "this operand is tied to no definition",
        ),
        ("function f\n  sym1 = #fn0\n", 2, 3, "expected number 0"),
        (
            "function f\n  entry %0:v1 = workitem_id_x in v1\nmbb0:\n  end\n",
            2,
            34,
            "expected v0, where this value is",
        ),
        ("function f\n  vregs 99999999\n", 3, 1, "number of registers is too large"),
        ("function f\nmbb99999999:\n  end\n", 2, 1, "number of a block is too large"),
    ];
    for (text, line, column, message) in cases {
        let error = parse_function(text, "test").expect_err(text);
        assert_eq!(error.kind, crate::ErrorKind::Malformed);
        let place = error.location.as_ref().map_or((0, 0), |l| (l.line, l.column));
        assert_eq!((place, error.message.as_str()), ((line, column), message), "{text}");
    }
}

#[test]
fn damaged_text_is_refused_or_means_something() {
    let read_again = |text: &str| {
        if let Ok(functions) = parse_functions(text, "test") {
            for function in functions {
                let printed = function.to_string();
                let again = parse_function(&printed, "test").map(|f| f.to_string());
                assert_eq!(again.as_ref(), Ok(&printed), "{text}");
            }
        }
    };
    for end in (0..EVERYTHING.len()).filter(|&end| EVERYTHING.is_char_boundary(end)) {
        read_again(&EVERYTHING[..end]);
    }
    let mut rng = fastrand::Rng::with_seed(1);
    let mut random = |bound: usize| rng.usize(..bound);
    let alphabet = b"%:.,()|[]->=!@#\"\\ \n;0123456789abcdefsvmtx_~";
    for _ in 0..20_000 {
        let mut bytes = EVERYTHING.as_bytes().to_vec();
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = alphabet[random(alphabet.len())],
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, alphabet[random(alphabet.len())]),
            }
        }
        if let Ok(text) = std::str::from_utf8(&bytes) {
            read_again(text);
        }
    }
}

#[test]
fn names_mean_one_thing() {
    let words = ["head", "tail", "wave", "jump", "divergent", "end", "return", "unreachable", "off", "tied"];
    let mut names: Vec<String> = Opcode::ALL.iter().map(|op| format!("{op:?}").to_lowercase()).collect();
    for suffix in ["_e32", "_e64", "_sdwa", "_dpp"] {
        for name in &names {
            let whole = name.strip_suffix(suffix).is_some_and(|base| names.iter().any(|other| other == base));
            assert!(!whole, "{name} is another instruction's encoding");
        }
    }
    names.extend(words.map(str::to_owned));
    let conditions = ["scc0", "scc1", "vccz", "vccnz", "execz", "execnz"];
    assert!(conditions.iter().all(|word| Condition::from_word(word).is_some_and(|c| c.word() == *word)));
    names.extend(conditions.map(str::to_owned));
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
    for name in MOD_FLAGS.map(|(_, word)| word) {
        assert!(PReg::from_name(name).is_none(), "{name}");
    }
    assert_eq!(MOD_FLAGS.iter().fold(ModFlags::empty(), |all, (flag, _)| all | *flag), ModFlags::all());
    assert_eq!(VREG_FLAGS.iter().fold(VRegFlags::empty(), |all, (flag, _)| all | *flag), VRegFlags::all());
    assert!(EntryValue::ALL.iter().all(|value| ENTRY_VALUES.iter().any(|(known, _)| known == value)));
}

#[test]
fn physical_registers_have_names() {
    for reg in (0..=150).chain(512..768).map(PReg) {
        assert_eq!(PReg::from_name(&reg.to_string()), Some(reg));
    }
    for name in ["s106", "v256", "ttmp16", "s", "s-1", "s+1", "vcc", "preg", ""] {
        assert_eq!(PReg::from_name(name), None, "{name}");
    }
}

#[test]
fn masks_of_32_lanes_are_read_and_judged() {
    let text = "function f, wave32\n\
        \x20 entry %0:v1 = workitem_id_x in v0\n\
        mbb0:\n\
        \x20 %1:s1 = v_cmp_lt_u32 0x1000, %0:v1\n\
        \x20 divergent %1 -> mbb1, mbb2\n\
        mbb1:\n\
        \x20 jump -> mbb2\n\
        mbb2:\n\
        \x20 end\n";
    let f = parsed(text);
    assert_eq!(f.wave, crate::target::WaveSize::W32);
    assert_eq!(parsed(&f.to_string()), f);
    crate::machine::verify(&f).unwrap();
    let wide = text.replace(", wave32", "");
    let error = crate::machine::verify(&parsed(&wide)).unwrap_err().to_string();
    assert!(error.contains("is no lane mask"), "{error}");
}
