//! `cohesim disasm`: disassembled code objects.

use crate::support::{cohesim, object};

#[test]
fn a_kernel_is_shown_with_its_set_up_arguments_and_code() {
    let text = cohesim(&["disasm", &object("v4.hsaco"), "--kernel", "saxpy"]).result();
    let expected = "\
code object version 4 for gfx803

kernel saxpy
  registers   4 vector, 16 scalar
  memory      LDS 0 B, scratch 0 B per work-item, arguments 80 B
  work-group  at most 256 work-items
  MODE        0x3c0
  starts with
    s[0:3]    private segment buffer
    s[4:5]    dispatch packet
    s[6:7]    kernarg segment
    s8        work-group id x
    v0        work-item id x
  arguments
       0     8 B  buffer  float*  x
       8     8 B  buffer  float*  y
      16     4 B  value  float  a
      24     8 B  hidden global offset x
";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("v_mac_f32_e32 v3, s"), "{text}");
    assert!(text.trim_end().ends_with("s_endpgm"), "{text}");
    assert!(!text.contains("kernel reverse"), "only the kernel asked for is shown");
}

#[test]
fn the_whole_object_is_shown_with_its_variables() {
    let text = cohesim(&["disasm", &object("v5.hsaco")]).result();
    for kernel in ["saxpy", "reverse", "ids", "scratch", "anywhere", "variables"] {
        assert!(text.contains(&format!("\nkernel {kernel}\n")), "{kernel}");
    }
    assert!(text.contains("  work-group  64 x 1 x 1, as the source requires\n"));
    assert!(
        text.contains("\nvariables\n") && text.contains("4 B  counter\n") && text.contains("16 B  squares\n"),
        "{text}"
    );
    assert!(text.contains("  // scratch+0x"), "branches name their target");
}

#[test]
fn json_holds_every_instruction() {
    let value = cohesim(&["disasm", &object("v5.hsaco"), "--kernel", "saxpy", "--json"]).json();
    assert_eq!(value["code_object_version"], 5);
    let kernel = &value["kernels"][0];
    assert_eq!(kernel["arguments"][2]["type"], "float");
    assert_eq!(kernel["registers"][1]["holds"], "kernarg segment");
    let code = kernel["code"].as_array().unwrap();
    assert_eq!(code.last().unwrap()["text"], "s_endpgm");
    assert_eq!(code.last().unwrap()["words"], serde_json::json!([0xbf81_0000u32]));
}

#[test]
fn mesas_implicit_arguments_are_pointed_out() {
    let text = cohesim(&["disasm", &object("libclc_O2.hsaco"), "--kernel", "one"]).result();
    assert!(text.contains("and implicit ones, as the code shows: Mesa (libclc)"), "{text}");
    let text = cohesim(&["disasm", &object("v5.hsaco")]).result();
    assert!(!text.contains("implicit ones"), "{text}");
}

#[test]
fn other_files_are_refused() {
    let error = cohesim(&["disasm", &object("kernels.cl")]).error();
    assert!(error.contains("this is text, not a code object"), "{error}");
    let error = cohesim(&["disasm", &object("v5.hsaco"), "--kernel", "nothing"]).error();
    assert!(error.contains("no kernel named 'nothing'"), "{error}");
}
