//! Strictness options.

/// Handling of removed gates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RemovedGates {
    /// Refuse to start.
    #[default]
    Fail,
    /// Warn and continue, if the gate is set to the value it was locked to.
    Warn,
}

/// Handling of Kubernetes gates that have no effect here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ForeignGates {
    /// Refuse to start.
    #[default]
    Fail,
    /// Warn and continue, so that the command line of a kube-apiserver can be reused.
    Ignore,
}

/// Strictness options of a server's settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// `--strict-emulation`: alpha features while emulating are an error, not a warning.
    pub strict_emulation: bool,
    /// `--removed-feature-gates`.
    pub removed: RemovedGates,
    /// `--foreign-feature-gates`.
    pub foreign: ForeignGates,
    /// `--emulation-forward-compatible`.
    pub emulation_forward_compatible: bool,
    /// `--runtime-config-emulation-forward-compatible`.
    pub runtime_config_emulation_forward_compatible: bool,
}
