//! What holds for any bytes: proved by random tests here and by the fuzzer in `mir/fuzz`.

use mir::isa::{decode, decode_lenient, encode};
use mir::target::{PROCESSORS, Target};

/// Reads `bytes` as code of the processor that its first byte chooses. Panics where decoder, printer and encoder do not fit together.
pub fn any_bytes(bytes: &[u8]) {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let Some(processor) = PROCESSORS.get(usize::from(first) % PROCESSORS.len()) else { return };
    let target = Target::new(processor);
    let words: Vec<u32> =
        rest.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let mut at = 0;
    while at < words.len() {
        let step = one(&words[at..], &target);
        assert!((1..=5).contains(&step), "an instruction has one to five dwords");
        at += step;
    }
}

/// Decodes one instruction; returns its length, 1 where there is none.
fn one(words: &[u32], target: &Target) -> usize {
    let strict = decode(words, target);
    let lenient = decode_lenient(words, target);
    if let Ok((inst, length)) = &strict {
        let mut again = Vec::new();
        let encoded = encode(inst, target, &mut again);
        assert!(encoded.is_ok(), "{target}: `{}` does not encode", inst.display(target));
        // The high half of a 16-bit operand's literal, which is the last dword, is not kept.
        let same = again.len() == *length
            && again.iter().zip(words).enumerate().all(|(i, (a, b))| {
                a == b || (i > 0 && i + 1 == *length && *a as u16 == *b as u16 && a >> 16 == 0)
            });
        assert!(same, "{target}: `{}` {words:08x?} becomes {again:08x?}", inst.display(target));
        let same = lenient.as_ref().is_ok_and(|(other, n)| other == inst && n == length);
        assert!(same, "{target}: `{}` is read in two ways", inst.display(target));
    }
    let Ok((inst, length)) = lenient else { return 1 };
    let text = inst.display(target).to_string();
    assert!(!text.is_empty() && text.is_ascii(), "{text}");
    // Bits without use may be lost, but not the instruction.
    let mut again = Vec::new();
    if encode(&inst, target, &mut again).is_ok() {
        let back = decode_lenient(&again, target);
        let back = back.map(|(inst, _)| inst.display(target).to_string());
        assert_eq!(back.as_deref(), Ok(text.as_str()), "{target}");
    }
    length
}
