//! Fields of an object that must agree with each other. `gcnc-fields` compares objects with those of llc.

use gcnc_tests::fields::facts::report;
use gcnc_tests::fields::matrix::{self, Module};
use gcnc_tests::fields::{compile, consistency};

#[test]
fn contradictions_are_noticed() {
    let path = matrix::modules_folder().join("scratch_static.ll");
    let module = Module::read(&path, 0).expect("the module");
    let setting = matrix::settings().into_iter().find(|s| s.to_string() == "amdhsa gfx803 V6");
    let bytes = compile(&module, &setting.expect("the setting")).expect("compiles");
    let mut object = report(&bytes).expect("an object");
    assert_eq!(consistency(&object), Vec::<String>::new());
    for field in ["vgpr_blocks", "sgpr_blocks", "private_segment_fixed_size"] {
        let mut wrong = object.clone();
        let fields = &mut wrong.kernels[0].fields;
        fields.iter_mut().find(|f| f.name == field).expect("the field").value += 1;
        assert_eq!(consistency(&wrong).len(), 1, "{field}");
    }
    object.target.processor = None;
    assert_eq!(consistency(&object).len(), 1);
}
