//! What the pipeline metadata of amdpal say of hardware stages on GFX10: how compute units share work-groups, in what order memory operations
//! are counted, and how large waves are.

use gcnc::{CompileOptions, FileType};

/// The metadata's text for an empty shader of `stage`, behind the module's own.
fn metadata(stage: &str, cpu: &str, features: &str, own: &str) -> String {
    let ir = format!("define amdgpu_{stage} void @_amdgpu_{stage}_main() {{\n  ret void\n}}\n{own}");
    let options = CompileOptions {
        triple: "amdgcn--amdpal".into(),
        cpu: cpu.into(),
        attributes: features.split_terminator(',').map(str::to_owned).collect(),
        file_type: FileType::Asm,
        ..CompileOptions::default()
    };
    let output = gcnc::compile(ir.as_bytes(), "test.ll", &options).unwrap_or_else(|e| panic!("{e:?}"));
    let text = String::from_utf8(output.bytes).expect("UTF-8");
    text.split("\t.amdgpu_pal_metadata\n").nth(1).expect("metadata").to_owned()
}

/// Values as llc 22 has them.
#[test]
fn registers_have_the_modes_where_their_stage_has_them() {
    let stages = [
        (
            "gs",
            "0x2c8a (SPI_SHADER_PGM_RSRC1_GS)",
            0x0a2f_0000,
            Some("'0xa2d5 (VGT_SHADER_STAGES_EN)': 4194304"),
        ),
        (
            "hs",
            "0x2d0a (SPI_SHADER_PGM_RSRC1_HS)",
            0x052f_0000,
            Some("'0xa2d5 (VGT_SHADER_STAGES_EN)': 2097152"),
        ),
        (
            "vs",
            "0x2c4a (SPI_SHADER_PGM_RSRC1_VS)",
            0x082f_0000,
            Some("'0xa2d5 (VGT_SHADER_STAGES_EN)': 8388608"),
        ),
        ("ps", "0x2c0a (SPI_SHADER_PGM_RSRC1_PS)", 0x022f_0000, Some("'0xa1b6 (SPI_PS_IN_CONTROL)': 32768")),
        (
            "cs",
            "0x2e12 (COMPUTE_PGM_RSRC1)",
            0xe02f_0000u32,
            Some("'0x2e00 (COMPUTE_DISPATCH_INITIATOR)': 32768"),
        ),
        ("es", "0x2cca (SPI_SHADER_PGM_RSRC1_ES)", 0x002f_0000, None),
        ("ls", "0x2d4a (SPI_SHADER_PGM_RSRC1_LS)", 0x002f_0000, None),
    ];
    for (stage, register, value, small_waves) in stages {
        for cpu in ["gfx1010", "gfx1030"] {
            for (features, small) in [("+wavefrontsize32", true), ("+wavefrontsize64", false)] {
                let text = metadata(stage, cpu, features, "");
                assert!(text.contains(&format!("'{register}': {value}\n")), "{stage} {cpu}: {text}");
                if let Some(line) = small_waves {
                    assert_eq!(text.contains(line), small, "{stage} {cpu} {features}: {text}");
                }
            }
        }
    }
    let text = metadata("gs", "gfx1030", "+cumode", "");
    assert!(text.contains("'0x2c8a (SPI_SHADER_PGM_RSRC1_GS)': 36634624\n"), "{text}");
    let text = metadata("gs", "gfx900", "", "");
    assert!(!text.contains("VGT_SHADER_STAGES_EN"), "{text}");
}

#[test]
fn members_have_the_modes() {
    let own = |minor: &str| {
        let map = format!(r"\82\B0amdpal.pipelines\91\80\AEamdpal.version\92\03\{minor}");
        format!("!amdgpu.pal.metadata.msgpack = !{{!0}}\n!0 = !{{!\"{map}\"}}\n")
    };
    for stage in ["gs", "hs", "vs", "ps", "cs", "es", "ls"] {
        for (features, wgp) in [("", true), ("+cumode", false)] {
            let text = metadata(stage, "gfx1030", features, &own("06"));
            assert!(!text.contains(".entry_point:"), "{text}");
            for (key, value) in [(".forward_progress", true), (".mem_ordered", true), (".wgp_mode", wgp)] {
                let line =
                    text.lines().find(|line| line.trim().starts_with(&format!("{key}:"))).expect("a mode");
                assert!(line.ends_with(if value { "true" } else { "false" }), "{stage}: {line}");
            }
        }
    }
    let text = metadata("cs", "gfx900", "", &own("00"));
    assert!(text.contains(".entry_point:") && !text.contains("true"), "{text}");
}
