//! Binary interfaces of code objects: kernel descriptors, metadata, entry registers.
