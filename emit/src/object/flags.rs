//! `e_flags` and the identification of an ELF header, read back to a target.
//!
//! Source: usage guide, "Header", tables of `EI_OSABI`, `EI_ABIVERSION` and `EF_AMDGPU_*`.

use mir::target::{Features, Os, PROCESSORS, Processor, Target, Vendor};

/// `EF_AMDGPU_MACH`.
const MACH_MASK: u32 = 0xff;

/// State of a switchable feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The processor has no such setting, or the flags do not tell.
    Unsupported,
    /// The code runs with it on and off.
    Any,
    /// The code needs it off.
    Off,
    /// The code needs it on, or, up to V3, may run with it on.
    On,
}

impl Setting {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unsupported => "unsupported",
            Self::Any => "any",
            Self::Off => "off",
            Self::On => "on",
        }
    }
}

/// What an ELF header says about the target.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The processor, where it is known.
    pub processor: Option<&'static Processor>,
    /// Its number.
    pub mach: u32,
    /// The system; `None` for an ABI that is none of AMD's.
    pub os: Option<Os>,
    /// Version of the code object, on amdhsa.
    pub version: Option<u8>,
    /// Replay of page faults.
    pub xnack: Setting,
    /// SRAM ECC.
    pub sramecc: Setting,
    /// Version of a generic processor, from V6 on; 0 for others.
    pub generic_version: u8,
    /// Flags without a meaning.
    pub unknown: u32,
}

impl Identity {
    /// Reads `EI_OSABI`, `EI_ABIVERSION` and `e_flags`.
    pub fn read(os_abi: u8, abi_version: u8, flags: u32) -> Self {
        let os = match os_abi {
            0 => Some(Os::Unknown),
            64 => Some(Os::AmdHsa),
            65 => Some(Os::AmdPal),
            66 => Some(Os::Mesa3d),
            _ => None,
        };
        let version = (os == Some(Os::AmdHsa) && abi_version <= 4).then_some(abi_version + 2);
        let mach = flags & MACH_MASK;
        let (xnack, sramecc, known) = match version {
            Some(4..) => {
                let setting = |bits: u32| match bits & 3 {
                    0 => Setting::Unsupported,
                    1 => Setting::Any,
                    2 => Setting::Off,
                    _ => Setting::On,
                };
                (setting(flags >> 8), setting(flags >> 10), 0xf00)
            }
            _ => {
                let setting = |bit: u32| if flags & bit != 0 { Setting::On } else { Setting::Off };
                (setting(0x100), setting(0x200), 0x300)
            }
        };
        Self {
            processor: PROCESSORS.iter().find(|processor| processor.elf_mach == mach),
            mach,
            os,
            version,
            xnack,
            sramecc,
            generic_version: (flags >> 24) as u8,
            unknown: flags & !(MACH_MASK | known | 0xff00_0000),
        }
    }

    /// The target with its settings, where the processor is known.
    pub fn target(&self) -> Option<Target> {
        let mut target = Target::new(self.processor?);
        target.os = self.os.unwrap_or(Os::Unknown);
        if target.os == Os::Mesa3d {
            target.vendor = Vendor::Mesa;
        }
        target.code_object_version = self.version.unwrap_or(target.code_object_version);
        for (setting, on, any) in [
            (self.xnack, Features::XNACK, Features::XNACK_ANY),
            (self.sramecc, Features::SRAM_ECC, Features::SRAM_ECC_ANY),
        ] {
            // Code that runs with either is made as if it were on.
            target.features.set(on, matches!(setting, Setting::On | Setting::Any));
            target.features.set(any, setting == Setting::Any);
        }
        Some(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{elf_flags, os_abi};

    #[test]
    fn flags_are_read_as_they_are_written() {
        for processor in PROCESSORS {
            for version in 2..=6 {
                for (on, any) in [(false, false), (true, false), (true, true)] {
                    let mut target = Target { code_object_version: version, ..Target::new(processor) };
                    if !processor.features.contains(Features::XNACK_SUPPORTED) || any && version < 4 {
                        continue;
                    }
                    target.features.set(Features::XNACK, on);
                    target.features.set(Features::XNACK_ANY, any);
                    let (os_abi, abi_version) = os_abi(&target);
                    let flags = elf_flags(&target);
                    let identity = Identity::read(os_abi, abi_version, flags);
                    let back = identity.target().expect("a processor of the table");
                    assert_eq!((elf_flags(&back), identity.unknown), (flags, 0), "{target} V{version}");
                    assert_eq!(back.code_object_version, version);
                }
            }
        }
        assert!(Identity::read(64, 9, 0xfe).target().is_none());
        assert_eq!(Identity::read(64, 2, 0x1000).unknown, 0x1000);
    }
}
