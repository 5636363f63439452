//! What ends a compilation early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Cancels the compilations that were given it, from any thread. Clones are the same token.
///
/// ```
/// let token = gcnc::CancelToken::new();
/// token.cancel();
/// let compiler = gcnc::Compiler::new("gfx900")?;
/// let result = compiler.job().cancelled_by(&token).compile("define amdgpu_kernel void @k() { ret void }");
/// assert_eq!(result.unwrap_err(), gcnc::Error::Cancelled);
/// # Ok::<(), gcnc::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(pub(crate) Arc<AtomicBool>);

impl CancelToken {
    /// A token that nobody has pulled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all compilations that have this token, and those that will get it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Self::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
