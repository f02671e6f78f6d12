//! Does everything with a file that precedes its first instruction. Used by the fuzz target and the bounded test of CI,
//! which only require that it returns.

use gcn3::{
    dispatch::{ArgumentValue, Dispatch, Places},
    object::{ArgumentKind, CodeObject},
};
use mem::VirtAddr;

/// Reads, loads and launches a file with arbitrary contents. Returns the number of kernels that could be launched.
pub fn exercise(file: &[u8]) -> usize {
    let Ok(object) = CodeObject::parse(file) else { return 0 };
    let _ = (object.functions(), object.variables(), object.printf_formats());
    let _ = object.load(VirtAddr(0x1_0000_0000));
    let places = Places { image: VirtAddr(0x1_0000_0000), scratch_size: 1 << 20, ..Places::default() };
    let mut launched = 0;
    for kernel in object.kernels() {
        let group = kernel.required_group.unwrap_or([16, 2, 1]);
        let Ok(mut dispatch) = Dispatch::new(kernel, [100, 7, 3], group, [1, 2, 3]) else { continue };
        let values: Vec<ArgumentValue> = kernel
            .explicit_arguments()
            .map(|argument| match argument.kind {
                ArgumentKind::Value => ArgumentValue::Bytes(vec![1; argument.size as usize]),
                ArgumentKind::DynamicLds => ArgumentValue::Local(100),
                _ => ArgumentValue::Pointer(VirtAddr(0x2_0000_0000)),
            })
            .collect();
        let _ = dispatch.set_arguments(&values);
        let _ = dispatch.set_raw_arguments(&[1; 24]);
        let _ = (dispatch.kernarg(&places), dispatch.packet(&places), dispatch.queue(&places));
        let [x, y, z] = dispatch.groups().map(|count| count - 1);
        let _ = (dispatch.wave_init(&places, [0, 0, 0], 0, 0), dispatch.wave_init(&places, [x, y, z], 15, 9));
        launched += 1;
    }
    launched
}
