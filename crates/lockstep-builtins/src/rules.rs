//! What is special about each kind.

use lockstep_object::field::FieldErrors;
use lockstep_object::{Object, Value};

use crate::{autoscaling, begin, services};

/// The rules of one kind.
#[derive(Clone, Copy, Debug)]
pub struct KindRules {
    group: &'static str,
    kind: &'static str,
    /// Makes what another version says what this one says. Nothing happens if it says that already.
    pub convert: fn(&mut Object, &str),
    /// Gives a new object what the server decides.
    pub begin: fn(&mut Object),
    /// Gives the next state of a stored object what the server decides.
    pub next: fn(&mut Object, &Object),
    create: fn(&Value, &mut FieldErrors),
    update: fn(&Value, &Value, &mut FieldErrors),
}

/// A kind without rules of its own.
const PLAIN: KindRules = KindRules {
    group: "",
    kind: "",
    convert: |_, _| (),
    begin: |_| (),
    next: |_, _| (),
    create: |_, _| (),
    update: |_, _, _| (),
};

const TABLE: &[KindRules] = &[
    KindRules {
        kind: "Pod",
        begin: begin::pod,
        ..PLAIN
    },
    KindRules {
        kind: "Service",
        begin: services::begin,
        next: services::next,
        ..PLAIN
    },
    KindRules {
        kind: "PersistentVolume",
        begin: begin::pending,
        ..PLAIN
    },
    KindRules {
        kind: "PersistentVolumeClaim",
        begin: begin::pending,
        ..PLAIN
    },
    KindRules {
        group: "apps",
        kind: "DaemonSet",
        begin: begin::daemon_set,
        next: begin::daemon_set_again,
        ..PLAIN
    },
    KindRules {
        group: "batch",
        kind: "Job",
        begin: begin::job,
        ..PLAIN
    },
    KindRules {
        group: "autoscaling",
        kind: "HorizontalPodAutoscaler",
        convert: autoscaling::convert,
        ..PLAIN
    },
];

impl KindRules {
    /// The rules of a kind; none of its own if it has none.
    pub fn of(group: &str, kind: &str) -> &'static Self {
        let found = TABLE
            .iter()
            .find(|row| (row.group, row.kind) == (group, kind));
        found.unwrap_or(&PLAIN)
    }

    /// What is wrong with a new object, or with the next state of one.
    pub fn check(&self, object: &Value, old: Option<&Value>) -> FieldErrors {
        let mut errors = FieldErrors::new();
        match old {
            None => (self.create)(object, &mut errors),
            Some(old) => (self.update)(object, old, &mut errors),
        }
        errors
    }
}
