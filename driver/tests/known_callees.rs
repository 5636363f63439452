//! Calls of functions whose code is known: callers keep values in registers that it leaves alone.

use std::fmt::Write;

/// Leaves, functions that call them, a recursion, a definition that may be replaced, a pointer.
fn module(copies: usize) -> String {
    let mut text = String::from("target triple = \"amdgcn-amd-amdhsa\"\n");
    for n in 0..copies {
        let _ = write!(
            text,
            "define internal i32 @leaf{n}(i32 %x) noinline {{
               %r = mul i32 %x, %x
               %s = xor i32 %r, {n}
               ret i32 %s
             }}
             define weak i32 @replaced{n}(i32 %x) noinline {{ %r = mul i32 %x, %x ret i32 %r }}
             define internal i32 @one{n}(i32 %x) noinline {{
               %c = icmp eq i32 %x, 0
               br i1 %c, label %a, label %b
             a:
               ret i32 1
             b:
               %y = sub i32 %x, 1
               %z = call i32 @two{n}(i32 %y)
               %w = call i32 @leaf{n}(i32 %z)
               ret i32 %w
             }}
             define internal i32 @two{n}(i32 %x) noinline {{
               %z = call i32 @one{n}(i32 %x)
               %w = add i32 %z, %x
               ret i32 %w
             }}
             define i32 @middle{n}(i32 %x, i32 %y) noinline {{
               %a = call i32 @leaf{n}(i32 %x)
               %b = call i32 @leaf{n}(i32 %y)
               %c = add i32 %a, %b
               %d = add i32 %c, %x
               ret i32 %d
             }}
             define amdgpu_kernel void @k{n}(ptr addrspace(1) %out, i32 %x, ptr %p) {{
               %a = call i32 @middle{n}(i32 %x, i32 3)
               %b = call i32 @replaced{n}(i32 %a)
               %c = call i32 @one{n}(i32 %b)
               %d = call i32 %p(i32 %c)
               %e = add i32 %a, %d
               store i32 %e, ptr addrspace(1) %out
               ret void
             }}\n"
        );
    }
    text
}

fn output(text: &str, flags: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("in.ll"), folder.path().join("out"));
    std::fs::write(&input, text).unwrap();
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_gcnc"))
        .args(["-mcpu=gfx900", "-verify-machineinstrs"])
        .args(flags)
        .arg(&input)
        .arg("-o")
        .arg(&out)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    std::fs::read(out).unwrap()
}

/// Lines of the sites of calls, by function.
fn sites(text: &str, function: &str) -> Vec<String> {
    let code = text.split("\nfunction ").find(|code| code.starts_with(&format!("{function},"))).unwrap();
    code.lines().filter(|line| line.starts_with("  call ")).map(str::to_owned).collect()
}

#[test]
fn what_is_known_of_callees() {
    let text = module(1);
    let printed = |flags: &[&str]| {
        String::from_utf8(output(&text, &[flags, &["-stop-after=allocate"]].concat())).unwrap()
    };
    let optimised = printed(&["-O2"]);
    let known = |function: &str| {
        sites(&optimised, function).iter().rev().map(|site| site.contains(" changes ")).collect::<Vec<_>>()
    };
    // In the order of the code, sites are numbered from its end: what may be replaced, and what is behind a pointer, may change all that the convention allows.
    assert_eq!(known("middle0"), [true, true]);
    assert_eq!(known("k0"), [true, false, true, false], "{optimised}");
    // Functions that call each other are not known to each other.
    assert_eq!(known("one0"), [false, true]);
    assert_eq!(known("two0"), [false]);
    // v1 is the second argument, which nothing in `leaf` touches.
    let site = &sites(&optimised, "middle0")[0];
    assert!(!site.split(" reads ").next().unwrap().contains("v1"), "{site}");
    assert!(!printed(&["-O0"]).contains(" changes "));
}

/// Which element is written only the run tells, so all of the tuple may be, though each instruction names one register.
#[test]
fn an_element_of_an_argument_is_written_in_place() {
    let text = "target triple = \"amdgcn-amd-amdhsa\"
        define internal i32 @f(i32 %y, <4 x i32> %v, i32 inreg %i, i32 inreg %j, i32 %x) noinline {
          %r = insertelement <4 x i32> %v, i32 %x, i32 %i
          %e = extractelement <4 x i32> %r, i32 %j
          ret i32 %e
        }
        define amdgpu_kernel void @k(ptr addrspace(1) %p, <4 x i32> %v, i32 %i, i32 %j) {
          %r = call i32 @f(i32 1, <4 x i32> %v, i32 inreg %i, i32 inreg %j, i32 7)
          store i32 %r, ptr addrspace(1) %p
          ret void
        }";
    for level in ["-O1", "-O2"] {
        let printed = String::from_utf8(output(text, &[level, "-stop-after=note-callees"])).unwrap();
        let site = &sites(&printed, "k")[0];
        assert!(site.contains(", v[0:4] reads "), "{site}");
    }
}

/// A compilation that stops on its way has the callers that one which goes all the way has.
#[test]
fn stops_make_no_difference() {
    let text = module(2);
    let whole = output(&text, &["-O2", "-filetype=asm"]);
    for pass in ["note-callees", "allocate", "insert-waits", "lower-branches"] {
        let stopped = String::from_utf8(output(&text, &["-O2", &format!("-stop-after={pass}")])).unwrap();
        let again = output(&stopped, &["-O2", "-x", "mir", &format!("-start-after={pass}"), "-filetype=asm"]);
        assert!(again == whole, "behind {pass}");
    }
}

#[test]
fn threads_make_no_difference() {
    let text = module(12);
    let of = |threads: &str| output(&text, &["-O2", "-filetype=obj", threads]);
    let one = of("--threads=1");
    for threads in ["--threads=2", "--threads=3", "--threads=8"] {
        assert!(of(threads) == one, "{threads}");
    }
}

/// A function that callers outside may have takes what they do not expect back; where that lies so high that a wave less fits, a long one saves some of the rest.
#[test]
fn a_long_function_saves_registers_for_a_wave() {
    let function = |values: usize, steps: usize| {
        let mut text = String::from(
            "target triple = \"amdgcn-amd-amdhsa\"
             define void @f(ptr addrspace(1) %p) \"amdgpu-flat-work-group-size\"=\"1,64\" {\n",
        );
        let at = |n: usize| format!("%p{n} = getelementptr i32, ptr addrspace(1) %p, i32 {n}\n");
        for n in 0..values {
            let _ = writeln!(text, "{} %v0.{n} = load volatile i32, ptr addrspace(1) %p{n}", at(n));
        }
        for step in 0..steps {
            for n in 0..values {
                let (next, other) = (step + 1, (n + 1) % values);
                let _ = writeln!(text, "%v{next}.{n} = sub i32 %v{step}.{n}, %v{step}.{other}");
            }
        }
        for n in 0..values {
            let _ = writeln!(text, "store volatile i32 %v{steps}.{n}, ptr addrspace(1) %p{n}");
        }
        text + "ret void\n}\n"
    };
    let highest = |values, steps| {
        let code = String::from_utf8(output(&function(values, steps), &["-O2", "-filetype=asm"])).unwrap();
        let count =
            code.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(|word| word.strip_prefix('v'));
        let saves = code.matches("buffer_store_dword").count();
        (count.filter_map(|n| n.parse::<u32>().ok()).max().unwrap(), saves)
    };
    let (high, saves) = highest(81, 12);
    assert!((120..128).contains(&high) && (1..=8).contains(&saves), "v{high}, {saves} saved");
    // What it is too short for.
    let (high, saves) = highest(86, 0);
    assert!(high >= 128 && saves == 0, "v{high}, {saves} saved");
}
