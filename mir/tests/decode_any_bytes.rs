//! Decoder, printer and encoder on arbitrary bytes and on bytes near instructions.

mod common;
#[path = "common/property.rs"]
mod property;

use common::{rows, target};
use fastrand::Rng;
use mir::isa::format::layout;
use property::any_bytes;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        any_bytes(&bytes);
    }
}

/// Fixed bits and opcode of each row, everything else random.
#[test]
fn near_instructions() {
    let mut random = Rng::with_seed(11);
    for (number, processor) in mir::target::PROCESSORS.iter().enumerate() {
        let target = target(processor.name);
        let generation = target.generation();
        for (op, encoding) in rows(&target) {
            let info = op.info();
            let Some(layout) = layout(info, encoding, generation) else { continue };
            let code = match encoding {
                mir::machine::Encoding::E64 if info.format != mir::isa::Format::Vop3p => {
                    info.vop3_code(generation)
                }
                _ => info.code(generation),
            };
            let Some(code) = code else { continue };
            for _ in 0..8 {
                let mut bits = random.u64(..);
                if random.u64(..2) == 0 {
                    bits &= random.u64(..) & layout.used;
                }
                bits &= !(layout.op.mask() | layout.op_high.mask());
                bits |= layout.put_code(code) | layout.fixed;
                let mut bytes = vec![number as u8];
                bytes.extend(bits.to_le_bytes());
                bytes.extend((random.u64(..) as u32).to_le_bytes());
                any_bytes(&bytes);
            }
        }
    }
}
