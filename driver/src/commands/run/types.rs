//! Types of kernels' arguments as IR has them, for kernels whose metadata has no names of types: HIP's, and those written in IR.

use super::values::Element;
use mir::abi::metadata::ArgMeta;
use mir::ir::{Aggregate, Float, Scalar, Type, TypeTable};

/// Members that a type is looked through for at most.
const MOST: usize = 64;

/// Puts the types that `ir` (bitcode or text) has into `arguments` of `kernel` where they name none. What cannot be read names none either: the compiler
/// has said what is wrong with it.
pub fn complete(ir: &[u8], kernel: &str, arguments: &mut [ArgMeta]) {
    let Ok(module) = frontend::read(ir, "input").map(|reading| reading.module) else { return };
    let Some(function) = module.functions.values().find(|function| function.name == kernel) else { return };
    let explicit = arguments.iter_mut().filter(|argument| !argument.is_hidden());
    for (argument, parameter) in explicit.zip(&function.params) {
        if argument.type_name.is_none() && argument.value_kind == "by_value" {
            let ty = parameter.indirect.map_or_else(|| function.ty(parameter.value), |indirect| indirect.ty);
            argument.type_name = element(&module.types, ty).map(|element| element.name().to_owned());
        }
    }
}

/// What a value consists of, where that is one type of numbers.
fn element(types: &TypeTable, ty: Type) -> Option<Element> {
    let (mut work, mut found, mut seen) = (vec![ty], None, 0);
    while let Some(ty) = work.pop() {
        seen += 1;
        let scalar = match ty {
            _ if seen > MOST => return None,
            Type::Scalar(scalar) | Type::Vector(scalar, _) => scalar,
            Type::Aggregate(aggregate) => {
                match &types.aggregates[aggregate] {
                    Aggregate::Struct { fields, .. } => {
                        work.extend(fields.iter().take(MOST).map(|field| field.0))
                    }
                    Aggregate::Array { element, .. } => work.push(*element),
                }
                continue;
            }
            Type::Void => return None,
        };
        let here = match scalar {
            Scalar::Int(1) => Element::Int { bytes: 1, signed: false },
            Scalar::Int(bits @ (8 | 16 | 32 | 64)) => Element::Int { bytes: (bits / 8) as u8, signed: true },
            Scalar::Float(Float::Half) => Element::Float { bytes: 2 },
            Scalar::Float(Float::Single) => Element::Float { bytes: 4 },
            Scalar::Float(Float::Double) => Element::Float { bytes: 8 },
            _ => return None,
        };
        if found.is_some_and(|found| found != here) {
            return None;
        }
        found = Some(here);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_one_type_are_known() {
        let text = b"
            define amdgpu_kernel void @k(ptr addrspace(1) %p, float %f, i32 %n, <2 x half> %h, { float, [3 x float] } %s, { i32, float } %m, bfloat %b, i1 %c) {
              ret void
            }";
        let by_value = |kind: &str| ArgMeta { value_kind: kind.into(), ..ArgMeta::default() };
        let mut arguments: Vec<ArgMeta> =
            std::iter::once(by_value("global_buffer")).chain((0..7).map(|_| by_value("by_value"))).collect();
        arguments[2].type_name = Some("uint".into());
        complete(text, "k", &mut arguments);
        let names: Vec<_> = arguments.iter().map(|argument| argument.type_name.as_deref()).collect();
        assert_eq!(
            names,
            [None, Some("f32"), Some("uint"), Some("f16"), Some("f32"), None, None, Some("u8")]
        );
    }
}
