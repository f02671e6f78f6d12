//! Code objects of every version, from files made by compilers.

mod support;

use gcn3::object::{AddressSpace, ArgumentKind, CodeObject, Hidden, ImplicitLayout, ObjectError, Version};
use mem::VirtAddr;
use support::Version2;

const V4: &[u8] = include_bytes!("objects/v4.hsaco");
const V5: &[u8] = include_bytes!("objects/v5.hsaco");
const UNLINKED: &[u8] = include_bytes!("objects/kernels.o");
const LIBCLC_O0: &[u8] = include_bytes!("objects/libclc_O0.hsaco");
const LIBCLC_O2: &[u8] = include_bytes!("objects/libclc_O2.hsaco");

const NAMES: [&str; 6] = ["saxpy", "reverse", "ids", "scratch", "anywhere", "variables"];

fn version_2(metadata: bool, isa: Option<[u32; 3]>) -> Vec<u8> {
    Version2 { from: V4, kernels: &["saxpy", "reverse", "ids", "scratch", "anywhere"], metadata, isa }.build()
}

/// A version 3 object: a version 4 one with the older number and without the target in its metadata.
fn version_3() -> Vec<u8> {
    let mut file = V4.to_vec();
    file[8] = 1;
    let key = file.windows(13).position(|window| window == b"amdhsa.target").expect("version 4 names its target");
    file[key..key + 13].copy_from_slice(b"amdhsa.forget");
    file
}

fn error(file: &[u8]) -> String {
    CodeObject::parse(file).expect_err("the file must be refused").to_string()
}

#[test]
fn every_version_names_its_kernels() {
    for (file, version) in [
        (V4.to_vec(), Version::V4),
        (V5.to_vec(), Version::V5),
        (version_3(), Version::V3),
        (UNLINKED.to_vec(), Version::V5),
    ] {
        let object = CodeObject::parse(&file).unwrap();
        assert_eq!(object.version(), version);
        let names: Vec<&str> = object.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, NAMES, "{version}");
    }
    let object = CodeObject::parse(&version_2(true, Some([8, 0, 3]))).unwrap();
    assert_eq!(object.version(), Version::V2);
    let names: Vec<&str> = object.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, NAMES[..5]);
}

#[test]
fn version_6_is_read_as_version_5() {
    let mut file = V5.to_vec();
    file[8] = 4;
    let object = CodeObject::parse(&file).unwrap();
    assert_eq!(object.version(), Version::V6);
    assert_eq!(object.kernel("saxpy").unwrap().kernarg_size, 280);
}

#[test]
fn arguments_carry_their_name_type_kind_and_place() {
    for file in [version_2(true, Some([8, 0, 3])), version_3(), V4.to_vec(), V5.to_vec()] {
        let object = CodeObject::parse(&file).unwrap();
        let kernel = object.kernel("saxpy").unwrap();
        assert!(kernel.described);
        let arguments: Vec<_> = kernel.explicit_arguments().collect();
        assert_eq!(arguments.len(), 3);
        let [x, y, a] = arguments[..] else { unreachable!("there are three") };
        assert_eq!((x.name.as_deref(), x.type_name.as_deref()), (Some("x"), Some("float*")));
        assert_eq!((x.kind, x.offset, x.size), (ArgumentKind::Buffer, 0, 8));
        assert_eq!(x.address_space, Some(AddressSpace::Global));
        assert_eq!((y.kind, y.offset, y.size), (ArgumentKind::Buffer, 8, 8));
        assert_eq!((a.name.as_deref(), a.type_name.as_deref()), (Some("a"), Some("float")));
        assert_eq!((a.kind, a.offset, a.size), (ArgumentKind::Value, 16, 4));
        let tile = object.kernel("reverse").unwrap().explicit_arguments().nth(1).unwrap();
        assert_eq!((tile.kind, tile.offset, tile.size), (ArgumentKind::DynamicLds, 8, 4));
        assert_eq!(tile.pointee_align, Some(4));
    }
}

#[test]
fn hidden_arguments_lie_where_each_version_puts_them() {
    let place = |file: &[u8], hidden: Hidden| {
        let object = CodeObject::parse(file).unwrap();
        let kernel = object.kernel("saxpy").unwrap();
        let argument = kernel.hidden_arguments().find(|argument| argument.kind == ArgumentKind::Hidden(hidden));
        argument.map(|argument| (argument.offset, argument.size))
    };
    for file in [version_2(true, Some([8, 0, 3])), version_3(), V4.to_vec()] {
        assert_eq!(place(&file, Hidden::GlobalOffsetX), Some((24, 8)));
        assert_eq!(place(&file, Hidden::GlobalOffsetZ), Some((40, 8)));
        assert_eq!(place(&file, Hidden::BlockCountX), None);
    }
    assert_eq!(place(V5, Hidden::BlockCountX), Some((24, 4)));
    assert_eq!(place(V5, Hidden::GroupSizeX), Some((36, 2)));
    assert_eq!(place(V5, Hidden::RemainderX), Some((42, 2)));
    assert_eq!(place(V5, Hidden::GlobalOffsetX), Some((64, 8)));
    assert_eq!(place(V5, Hidden::GridDims), Some((88, 2)));
}

#[test]
fn descriptors_say_which_registers_are_filled_in() {
    for file in [version_2(true, Some([8, 0, 3])), version_3(), V4.to_vec()] {
        let object = CodeObject::parse(&file).unwrap();
        let setup = object.kernel("saxpy").unwrap().descriptor.setup;
        assert!(setup.private_segment_buffer && setup.dispatch_ptr && setup.kernarg_segment_ptr);
        assert!(!setup.queue_ptr && !setup.dispatch_id && !setup.flat_scratch_init && !setup.private_segment_size);
        assert_eq!(setup.workgroup_id, [true, false, false]);
        assert_eq!(setup.workitem_ids, 1);
        let ids = object.kernel("ids").unwrap().descriptor.setup;
        assert_eq!((ids.workgroup_id, ids.workitem_ids), ([true; 3], 3));
        let anywhere = object.kernel("anywhere").unwrap();
        assert!(anywhere.descriptor.setup.queue_ptr, "the windows of flat addresses are in the queue before version 5");
        assert!(anywhere.descriptor.setup.flat_scratch_init && anywhere.descriptor.setup.scratch_wave_offset);
    }
    let object = CodeObject::parse(V5).unwrap();
    assert!(!object.kernel("saxpy").unwrap().descriptor.setup.dispatch_ptr, "version 5 has hidden arguments for that");
    let anywhere = object.kernel("anywhere").unwrap();
    assert!(!anywhere.descriptor.setup.queue_ptr);
    assert_eq!((anywhere.lds_size, anywhere.private_size), (256, 8));
    assert_eq!(object.kernel("reverse").unwrap().required_group, Some([64, 1, 1]));
    let mode = object.kernel("saxpy").unwrap().descriptor.float_mode;
    assert_eq!((mode.round_32, mode.denorm_32, mode.denorm_16_64), (0, 0, 3), "gfx803 flushes single denormals");
    assert!(mode.dx10_clamp && mode.ieee);
    assert_eq!(mode.mode_register(), 0x3c0);
}

#[test]
fn the_same_kernel_has_the_same_set_up_in_version_2_and_4() {
    let (new, old) = (CodeObject::parse(V4).unwrap(), CodeObject::parse(&version_2(true, Some([8, 0, 3]))).unwrap());
    for name in &NAMES[..5] {
        let (new, old) = (new.kernel(name).unwrap(), old.kernel(name).unwrap());
        assert_eq!(new.descriptor.setup, old.descriptor.setup, "{name}");
        assert_eq!(new.descriptor.user_sgprs, old.descriptor.user_sgprs, "{name}");
        assert_eq!((new.sgprs, new.vgprs), (old.sgprs, old.vgprs), "{name}");
        assert_eq!(
            (new.lds_size, new.private_size, new.kernarg_size),
            (old.lds_size, old.private_size, old.kernarg_size)
        );
        assert_eq!(
            new.arguments,
            old.arguments
                .iter()
                .cloned()
                .map(|mut argument| {
                    // Version 2 does not record `const` here.
                    argument.is_const = new.arguments.iter().any(|new| new.offset == argument.offset && new.is_const);
                    argument
                })
                .collect::<Vec<_>>(),
            "{name}"
        );
        assert_eq!(new.code_size, old.code_size, "{name}");
        assert_eq!(old.descriptor.entry.0 - old.descriptor.address.0, 256, "{name}");
    }
}

#[test]
fn an_old_object_without_metadata_still_loads() {
    for isa in [Some([8, 0, 3]), None] {
        let object = CodeObject::parse(&version_2(false, isa)).unwrap();
        let kernel = object.kernel("saxpy").unwrap();
        assert!(!kernel.described);
        assert_eq!(kernel.arguments, []);
        assert_eq!(kernel.kernarg_size, 80);
    }
}

#[test]
fn variables_and_the_addresses_in_them_follow_the_base() {
    for file in [V4, V5, UNLINKED] {
        let object = CodeObject::parse(file).unwrap();
        let variable = |name: &str| {
            let found = object.variables().into_iter().find(|variable| variable.name == name);
            found.unwrap_or_else(|| panic!("variable '{name}' is missing"))
        };
        assert_eq!((variable("counter").size, variable("squares").size, variable("counters").size), (4, 16, 16));
        for base in [0x10_0000, 0x7_0000_0000] {
            let image = object.load(VirtAddr(base)).unwrap();
            let word = |address: u64, size: usize| {
                let bytes = image.bytes(VirtAddr(base + address), size).expect("the variable is loaded");
                bytes.iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte))
            };
            assert_eq!(word(variable("squares").address.0 + 12, 4), 9);
            assert_eq!(word(variable("counter").address.0, 4), 5);
            assert_eq!(word(variable("counters").address.0, 8), base + variable("counter").address.0);
            assert_eq!(word(variable("counters").address.0 + 8, 8), base + variable("counter").address.0);
        }
    }
}

#[test]
fn an_unlinked_object_reaches_its_variables_as_the_linked_one_does() {
    // `s_getpc_b64 s; s_add_u32 s, s, low; s_addc_u32 s, s, high` computes the variable's address, by two relocations.
    for file in [V5, UNLINKED] {
        let object = CodeObject::parse(file).unwrap();
        let image = object.load(VirtAddr(0x40_0000)).unwrap();
        let kernel = object.kernel("variables").unwrap();
        let entry = image.kernel_entry(kernel);
        let code = image.bytes(entry, kernel.code_size as usize).unwrap();
        let word = |at: usize| u32::from_le_bytes(code[at..at + 4].try_into().unwrap());
        let reached: Vec<u64> = (0..code.len() - 20)
            .step_by(4)
            .filter(|at| word(*at) & 0xff80_ffff == 0xbe80_1c00)
            .map(|at| {
                let distance = u64::from(word(at + 8)) | u64::from(word(at + 16)) << 32;
                (entry.0 + at as u64 + 4).wrapping_add(distance)
            })
            .collect();
        let variables = object.variables();
        let address = |name: &str| 0x40_0000 + variables.iter().find(|v| v.name == name).unwrap().address.0;
        assert!(reached.contains(&address("squares")), "{reached:x?}");
        assert!(reached.contains(&address("counter")), "{reached:x?}");
    }
}

#[test]
fn a_base_that_breaks_the_alignment_is_refused() {
    let object = CodeObject::parse(V5).unwrap();
    assert!(object.load(VirtAddr(0x100)).unwrap_err().to_string().contains("multiple of 0x1000, not at 0x100"));
}

#[test]
fn libclc_is_recognised_by_what_its_code_reads() {
    for (file, one, three) in [(LIBCLC_O2, 8, 16), (LIBCLC_O0, 8, 16)] {
        let object = CodeObject::parse(file).unwrap();
        let layout = |name: &str| object.kernel(name).unwrap().implicit;
        assert_eq!(layout("one"), ImplicitLayout::Mesa { offset: one });
        assert_eq!(layout("three"), ImplicitLayout::Mesa { offset: three });
        assert_eq!(layout("local_only"), ImplicitLayout::Mesa { offset: one }, "as its neighbours");
    }
    for file in [V4.to_vec(), V5.to_vec(), version_2(true, Some([8, 0, 3]))] {
        for kernel in CodeObject::parse(&file).unwrap().kernels() {
            assert_eq!(kernel.implicit, ImplicitLayout::Hsa, "{}", kernel.name);
        }
    }
}

#[test]
fn other_targets_are_refused_by_name() {
    let mut gfx900 = V5.to_vec();
    gfx900[48] = 0x2c;
    assert_eq!(
        error(&gfx900),
        "the code object is for gfx900, but cohesim runs gfx803: compile with -mcpu=gfx803, or use `cohesim cc`"
    );
    assert!(error(&version_2(true, Some([7, 0, 1]))).contains("is for gfx701"));
    let mut target = V5.to_vec();
    let at = target.windows(6).rposition(|window| window == b"gfx803").unwrap();
    target[at + 3..at + 6].copy_from_slice(b"906");
    assert!(error(&target).contains("amdgcn-amd-amdhsa--gfx906"));
}

#[test]
fn other_systems_and_versions_are_refused_by_name() {
    let patched = |at: usize, value: u8| {
        let mut file = V5.to_vec();
        file[at] = value;
        error(&file)
    };
    assert!(patched(7, 66).contains("is for Mesa (amdgcn-mesa-mesa3d)"));
    assert!(patched(7, 65).contains("is for AMD PAL"));
    assert!(patched(7, 0).contains("no operating system"));
    assert!(patched(8, 9).contains("ELF ABI version 9 is not known; versions 2 to 6 are"));
    assert!(patched(18, 62).contains("an ELF file for x86-64, not a code object; compile OpenCL C with `cohesim cc"));
    assert!(patched(4, 1).contains("R600"));
}

#[test]
fn files_that_are_no_elf_are_refused_by_what_they_are() {
    assert!(error(b"").contains("an empty file"));
    assert!(error(b"\x03\x02\x23\x07....").contains("a SPIR-V module"));
    assert!(error(b"BC\xc0\xde....").contains("LLVM bitcode"));
    assert!(error(b"__kernel void f() {}\n").contains("this is text"));
    assert!(error(b"__CLANG_OFFLOAD_BUNDLE__\0\0\x01").contains("the bundle of code objects"));
    assert!(error(&[0xff; 100]).contains("no ELF file"));
}

#[test]
fn a_truncated_file_is_an_error_wherever_it_ends() {
    for file in [V5.to_vec(), version_2(true, Some([8, 0, 3])), UNLINKED.to_vec()] {
        for end in 0..file.len() {
            // Only what follows the last table may be missing.
            if let Ok(object) = CodeObject::parse(&file[..end]) {
                panic!("{} of {} bytes gave {} kernels", end, file.len(), object.kernels().len());
            }
        }
    }
}

#[test]
fn a_kernel_that_is_not_there_is_named_with_those_that_are() {
    let object = CodeObject::parse(LIBCLC_O2).unwrap();
    assert_eq!(
        object.kernel("two"),
        Err(ObjectError::NoSuchKernel {
            name: "two".into(),
            known: vec!["one".into(), "three".into(), "local_only".into()]
        })
    );
    let text = object.kernel("two").unwrap_err().to_string();
    assert_eq!(text, "the code object holds no kernel named 'two'; it holds 'one', 'three', 'local_only'");
}

#[test]
fn damaged_descriptors_are_refused() {
    let object = CodeObject::parse(V5).unwrap();
    let at = object.kernel("saxpy").unwrap().descriptor.address.0 as usize;
    let patched = |offset: usize, bytes: &[u8]| {
        let mut file = V5.to_vec();
        file[at + offset..at + offset + bytes.len()].copy_from_slice(bytes);
        error(&file)
    };
    assert!(patched(52, &[0, 0, 0, 0]).contains("reserves 0 user SGPRs but its requests take 6"));
    assert!(patched(16, &[0xff; 8]).contains("outside the code"));
    assert!(patched(57, &[4]).contains("wavefronts other than 64"));
}

#[test]
fn the_committed_version_2_object_is_what_the_writer_makes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/objects/v2.hsaco");
    let made = version_2(true, Some([8, 0, 3]));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let committed = std::fs::read(path).expect("run the test with BLESS=1 to write the file");
    assert!(committed == made, "{path} is out of date: run the test with BLESS=1 to write it anew");
}
