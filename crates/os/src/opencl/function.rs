//! OpenCL functions by their numbers in the library's interface.

macro_rules! functions {
    ($($name:ident $number:literal)*) => {
        /// A function of `CL/cl.h`, without its `cl` prefix.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Function { $($name = $number,)* }

        impl Function {
            pub fn by_number(number: u32) -> Option<Function> {
                match number { $($number => Some(Function::$name),)* _ => None }
            }

            #[cfg(test)]
            pub const ALL: &'static [(&'static str, u32)] = &[$((stringify!($name), $number),)*];
        }
    };
}

functions! {
    GetPlatformIDs 1
    GetPlatformInfo 2
    GetDeviceIDs 3
    GetDeviceInfo 4
    CreateSubDevices 5
    RetainDevice 6
    ReleaseDevice 7
    SetDefaultDeviceCommandQueue 8
    GetDeviceAndHostTimer 9
    GetHostTimer 10
    CreateContext 11
    CreateContextFromType 12
    RetainContext 13
    ReleaseContext 14
    GetContextInfo 15
    SetContextDestructorCallback 16
    CreateCommandQueueWithProperties 17
    RetainCommandQueue 18
    ReleaseCommandQueue 19
    GetCommandQueueInfo 20
    CreateBuffer 21
    CreateSubBuffer 22
    CreateImage 23
    CreatePipe 24
    CreateBufferWithProperties 25
    CreateImageWithProperties 26
    RetainMemObject 27
    ReleaseMemObject 28
    GetSupportedImageFormats 29
    GetMemObjectInfo 30
    GetImageInfo 31
    GetPipeInfo 32
    SetMemObjectDestructorCallback 33
    SVMAlloc 34
    SVMFree 35
    CreateSamplerWithProperties 36
    RetainSampler 37
    ReleaseSampler 38
    GetSamplerInfo 39
    CreateProgramWithSource 40
    CreateProgramWithBinary 41
    CreateProgramWithBuiltInKernels 42
    CreateProgramWithIL 43
    RetainProgram 44
    ReleaseProgram 45
    BuildProgram 46
    CompileProgram 47
    LinkProgram 48
    SetProgramReleaseCallback 49
    SetProgramSpecializationConstant 50
    UnloadPlatformCompiler 51
    GetProgramInfo 52
    GetProgramBuildInfo 53
    CreateKernel 54
    CreateKernelsInProgram 55
    CloneKernel 56
    RetainKernel 57
    ReleaseKernel 58
    SetKernelArg 59
    SetKernelArgSVMPointer 60
    SetKernelExecInfo 61
    GetKernelInfo 62
    GetKernelArgInfo 63
    GetKernelWorkGroupInfo 64
    GetKernelSubGroupInfo 65
    WaitForEvents 66
    GetEventInfo 67
    CreateUserEvent 68
    RetainEvent 69
    ReleaseEvent 70
    SetUserEventStatus 71
    SetEventCallback 72
    GetEventProfilingInfo 73
    Flush 74
    Finish 75
    EnqueueReadBuffer 76
    EnqueueReadBufferRect 77
    EnqueueWriteBuffer 78
    EnqueueWriteBufferRect 79
    EnqueueFillBuffer 80
    EnqueueCopyBuffer 81
    EnqueueCopyBufferRect 82
    EnqueueReadImage 83
    EnqueueWriteImage 84
    EnqueueFillImage 85
    EnqueueCopyImage 86
    EnqueueCopyImageToBuffer 87
    EnqueueCopyBufferToImage 88
    EnqueueMapBuffer 89
    EnqueueMapImage 90
    EnqueueUnmapMemObject 91
    EnqueueMigrateMemObjects 92
    EnqueueNDRangeKernel 93
    EnqueueNativeKernel 94
    EnqueueMarkerWithWaitList 95
    EnqueueBarrierWithWaitList 96
    EnqueueSVMFree 97
    EnqueueSVMMemcpy 98
    EnqueueSVMMemFill 99
    EnqueueSVMMap 100
    EnqueueSVMUnmap 101
    EnqueueSVMMigrateMem 102
    GetExtensionFunctionAddressForPlatform 103
    SetCommandQueueProperty 104
    CreateImage2D 105
    CreateImage3D 106
    EnqueueMarker 107
    EnqueueWaitForEvents 108
    EnqueueBarrier 109
    UnloadCompiler 110
    GetExtensionFunctionAddress 111
    CreateCommandQueue 112
    CreateSampler 113
    EnqueueTask 114
}

/// The call of the thread that serves the driver; not an OpenCL function.
pub const SERVE: u32 = 1000;

/// How a function reports an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Returns the status.
    Status,
    /// Returns something else, and writes the status through the pointer argument of this number.
    Through(usize),
    /// Returns a pointer, which is null on failure, or nothing.
    Pointer,
}

impl Function {
    pub fn returns(self) -> Returns {
        use Function::*;
        match self {
            SVMAlloc | SVMFree | GetExtensionFunctionAddress | GetExtensionFunctionAddressForPlatform => {
                Returns::Pointer
            }
            CloneKernel | CreateUserEvent => Returns::Through(1),
            CreateSamplerWithProperties | CreateKernel => Returns::Through(2),
            CreateCommandQueueWithProperties | CreateProgramWithIL | CreateCommandQueue => Returns::Through(3),
            CreateContextFromType
            | CreateBuffer
            | CreateSubBuffer
            | CreateProgramWithSource
            | CreateProgramWithBuiltInKernels
            | CreateSampler => Returns::Through(4),
            CreateContext | CreateImage | CreatePipe | CreateBufferWithProperties => Returns::Through(5),
            CreateImageWithProperties | CreateProgramWithBinary => Returns::Through(6),
            CreateImage2D => Returns::Through(7),
            LinkProgram => Returns::Through(8),
            EnqueueMapBuffer | CreateImage3D => Returns::Through(9),
            EnqueueMapImage => Returns::Through(11),
            _ => Returns::Status,
        }
    }
}

impl Function {
    /// Whether the function copies, fills, maps, unmaps or migrates memory.
    pub fn moves_data(self) -> bool {
        use Function::*;
        matches!(
            self,
            EnqueueReadBuffer
                | EnqueueReadBufferRect
                | EnqueueWriteBuffer
                | EnqueueWriteBufferRect
                | EnqueueFillBuffer
                | EnqueueCopyBuffer
                | EnqueueCopyBufferRect
                | EnqueueReadImage
                | EnqueueWriteImage
                | EnqueueFillImage
                | EnqueueCopyImage
                | EnqueueCopyImageToBuffer
                | EnqueueCopyBufferToImage
                | EnqueueMapBuffer
                | EnqueueMapImage
                | EnqueueUnmapMemObject
                | EnqueueMigrateMemObjects
                | EnqueueSVMMemcpy
                | EnqueueSVMMemFill
                | EnqueueSVMMap
                | EnqueueSVMUnmap
                | EnqueueSVMMigrateMem
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_and_driver_give_functions_the_same_numbers() {
        let header = include_str!("../../../../sdk/functions.h");
        let lines = header.lines().filter_map(|line| line.trim().strip_prefix("cl")?.strip_suffix(','));
        let theirs: Vec<String> = lines.map(str::to_owned).collect();
        let ours: Vec<String> = Function::ALL.iter().map(|(name, n)| format!("{name}_NUMBER = {n}")).collect();
        assert_eq!(theirs, ours);
        assert!(ours.len() >= 114, "the whole of CL/cl.h");
    }
}
