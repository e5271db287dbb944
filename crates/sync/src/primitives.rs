//! The few primitives that [`sync`](super) is built from, in two editions.
//!
//! Normally these are the standard library's, and crossbeam's parker. Under
//! `--cfg panza_loom` they are loom's, which records every access and tries the
//! interleavings. Both editions have the same names and signatures, so
//! production and models run the same code above them.

#[cfg(not(panza_loom))]
mod edition {
    pub(crate) use crossbeam::sync::{Parker, Unparker};
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
    pub(crate) use std::sync::{Arc, Mutex};

    /// [`std::cell::UnsafeCell`] with loom's closure interface, through which a
    /// model sees when an access begins and ends.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> UnsafeCell<T> {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        /// Passes a pointer for reading.
        #[inline(always)]
        pub(crate) fn with<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
            access(self.0.get())
        }

        /// Passes a pointer for writing.
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
            access(self.0.get())
        }
    }
}

#[cfg(panza_loom)]
mod edition {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
    pub(crate) use loom::sync::{Arc, Mutex};

    use loom::sync::Notify;

    /// crossbeam's parker as a model: loom's `Notify` is the same one-token
    /// device for a single waiter, spurious wake-ups included.
    #[derive(Debug)]
    pub(crate) struct Parker(Unparker);

    /// Gives the token of its [`Parker`].
    #[derive(Debug, Clone)]
    pub(crate) struct Unparker(Arc<Notify>);

    impl Parker {
        pub(crate) fn new() -> Parker {
            Parker(Unparker(Arc::new(Notify::new())))
        }

        pub(crate) fn unparker(&self) -> &Unparker {
            &self.0
        }

        pub(crate) fn park(&self) {
            self.0.0.wait();
        }
    }

    impl Unparker {
        pub(crate) fn unpark(&self) {
            self.0.notify();
        }
    }
}

pub(crate) use edition::*;
