//! What the host of a WebAssembly module gives the lanes: a compiler for modules that are made
//! while the program runs.
//!
//! Two functions in the import namespace `panza` (`wasm/lanes.js`):
//!
//! - `panza_install(bytes, length)` compiles a module on the same memory, puts its function `run`
//!   into the table of functions and returns its index there, or a negative number where it cannot;
//! - `panza_remove(index)` takes it out again.
//!
//! Never uses: programs.

#[cfg(target_family = "wasm")]
pub use imported::{Installed, is_supported};

/// A module that is valid where there are vectors: its function `run`, of three numbers, makes one
/// and drops it.
#[cfg(any(test, target_family = "wasm"))]
pub(super) const TRIAL: [u8; 55] = [
    0x00, b'a', b's', b'm', 0x01, 0x00, 0x00, 0x00, // the version
    0x01, 0x07, 0x01, 0x60, 0x03, 0x7f, 0x7f, 0x7f, 0x00, // the type
    0x03, 0x02, 0x01, 0x00, // the function
    0x07, 0x07, 0x01, 0x03, b'r', b'u', b'n', 0x00, 0x00, // its name
    0x0a, 0x17, 0x01, 0x15, 0x00, // its code: no locals
    0xfd, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // v128.const
    0x1a, 0x0b, // drop, end
];

#[cfg(target_family = "wasm")]
mod imported {
    use std::sync::OnceLock;

    #[link(wasm_import_module = "panza")]
    unsafe extern "C" {
        fn panza_install(bytes: *const u8, length: usize) -> i32;
        safe fn panza_remove(index: u32);
    }

    /// A function of a module, by its index in the table of functions.
    #[derive(Debug)]
    pub struct Installed(u32);

    impl Installed {
        /// Compiles a module and puts its function into the table. `None` where the host cannot.
        pub fn new(module: &[u8]) -> Option<Self> {
            // SAFETY: the host reads `length` bytes at `bytes`, before it returns.
            let index = unsafe { panza_install(module.as_ptr(), module.len()) };
            u32::try_from(index).ok().map(Self)
        }

        /// The index, which stays the function's until this is dropped.
        pub fn index(&self) -> usize {
            self.0 as usize
        }
    }

    impl Drop for Installed {
        fn drop(&mut self) {
            panza_remove(self.0);
        }
    }

    /// Whether the host compiles modules with vectors.
    pub fn is_supported() -> bool {
        static IS_SUPPORTED: OnceLock<bool> = OnceLock::new();
        // Each thread would have a table of its own.
        let has_threads = cfg!(target_feature = "atomics");
        !has_threads && *IS_SUPPORTED.get_or_init(|| Installed::new(&super::TRIAL).is_some())
    }
}
