//! What the user may decide about code generation.

/// Settings of IR passes and selection; the same for all functions of a module.
#[derive(Clone, Debug)]
pub struct CodegenOptions {
    /// 0 to 3. Simplification does what legality needs at 0; from 1 on it also promotes stack objects, folds, shares
    /// common subexpressions, cleans up branches and merges memory accesses.
    pub opt_level: u8,
    /// Fuse `fmul` and `fadd` wherever it pays (`-fp-contract=fast`), even without `contract` flags.
    pub contract_all: bool,
}

impl Default for CodegenOptions {
    fn default() -> Self {
        Self { opt_level: 2, contract_all: false }
    }
}
