//! File attributes, in the layouts of `stat` and `statx` on x86-64 Linux.

use rustix::fs::Stat;

/// The type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    Regular,
    Folder,
    Link,
    Pipe,
    CharacterDevice,
    Other,
}

/// The attributes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStat {
    pub device: u64,
    pub inode: u64,
    pub mode: u32,
    pub links: u64,
    pub uid: u32,
    pub gid: u32,
    pub special: u64,
    pub size: u64,
    pub blocks: u64,
    /// Seconds and nanoseconds of the last access, modification and change.
    pub times: [(i64, u64); 3],
}

const BLOCK: u64 = 4096;

pub const REGULAR: u32 = 0o100_000;
pub const FOLDER: u32 = 0o040_000;
pub const LINK: u32 = 0o120_000;
pub const PIPE: u32 = 0o010_000;
pub const CHARACTER: u32 = 0o020_000;

impl FileStat {
    /// The attributes of an emulated file.
    pub fn made_up(mode: u32, size: u64, inode: u64) -> FileStat {
        FileStat { device: 1, inode, mode, links: 1, size, ..FileStat::default() }
    }

    pub fn file_type(&self) -> FileType {
        match self.mode & 0o170_000 {
            REGULAR => FileType::Regular,
            FOLDER => FileType::Folder,
            LINK => FileType::Link,
            PIPE => FileType::Pipe,
            CHARACTER => FileType::CharacterDevice,
            _ => FileType::Other,
        }
    }

    /// `struct stat`.
    pub fn stat_bytes(&self) -> [u8; 144] {
        let mut bytes = [0; 144];
        let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(0, self.device);
        put(8, self.inode);
        put(16, self.links);
        put(24, u64::from(self.mode) | u64::from(self.uid) << 32);
        put(32, self.gid.into());
        put(40, self.special);
        put(48, self.size);
        put(56, BLOCK);
        put(64, self.blocks);
        for (place, (seconds, nanoseconds)) in self.times.iter().enumerate() {
            put(72 + place * 16, *seconds as u64);
            put(80 + place * 16, *nanoseconds);
        }
        bytes
    }

    /// `struct statx`, with the fields of STATX_BASIC_STATS.
    pub fn statx_bytes(&self) -> [u8; 256] {
        const BASIC: u64 = 0x7ff;
        let mut bytes = [0; 256];
        let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(0, BASIC | BLOCK << 32);
        put(16, self.links & 0xffff_ffff | u64::from(self.uid) << 32);
        put(24, u64::from(self.gid) | u64::from(self.mode) << 32);
        put(32, self.inode);
        put(40, self.size);
        put(48, self.blocks);
        // Access time at 64, change time at 96, modification time at 112; the birth time between them is left out.
        for (at, time) in [(64, 0), (96, 2), (112, 1)] {
            put(at, self.times[time].0 as u64);
            put(at + 8, self.times[time].1);
        }
        put(128, major(self.special) | minor(self.special) << 32);
        put(136, major(self.device) | minor(self.device) << 32);
        bytes
    }
}

fn major(device: u64) -> u64 {
    device >> 8 & 0xfff | device >> 32 & 0xffff_f000
}

fn minor(device: u64) -> u64 {
    device & 0xff | device >> 12 & 0xffff_ff00
}

impl From<Stat> for FileStat {
    fn from(stat: Stat) -> FileStat {
        // The widths of these fields differ between hosts.
        #[allow(clippy::unnecessary_cast)]
        FileStat {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            mode: stat.st_mode as u32,
            links: stat.st_nlink as u64,
            uid: stat.st_uid,
            gid: stat.st_gid,
            special: stat.st_rdev as u64,
            size: stat.st_size as u64,
            blocks: stat.st_blocks as u64,
            times: [
                (stat.st_atime as i64, stat.st_atime_nsec as u64),
                (stat.st_mtime as i64, stat.st_mtime_nsec as u64),
                (stat.st_ctime as i64, stat.st_ctime_nsec as u64),
            ],
        }
    }
}
