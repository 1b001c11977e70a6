//! How strictly the settings of a server are read.

/// What to do with a gate that was removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RemovedGates {
    /// Refuse to start.
    #[default]
    Fail,
    /// Say so and go on, if it is set to the value it was locked to.
    Warn,
}

/// What to do with a Kubernetes gate that has no effect here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ForeignGates {
    /// Refuse to start.
    #[default]
    Fail,
    /// Say so and go on, so that the command line of another server can be used again.
    Ignore,
}

/// How strictly the settings are read.
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
