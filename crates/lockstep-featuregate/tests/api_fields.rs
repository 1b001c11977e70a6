//! Fields and values behind a gate (feature-gates.md §10).

#[path = "support/sets.rs"]
mod sets;

use lockstep_featuregate::{
    Gates,
    api_field::{Each, Field, ValidationOptions, Within, drop_disabled},
    features, v,
};
use sets::builder;

features! {
    kube {
        /// Adds `restartDelay` to containers; it has a default, so it is required once it exists.
        RestartDelay { "1.36": Alpha, api },
        /// Adds the value `Gradual` to the strategy of a deployment.
        GradualStrategy { "1.36": Alpha, api },
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Container {
    restart_delay: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Pod {
    containers: Vec<Container>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Deployment {
    generation: u64,
    strategy: &'static str,
    template: Option<Pod>,
}

const CONTAINER_FIELD: Field<Container> = Field::new(
    |container| container.restart_delay.is_some(),
    |container| container.restart_delay = None,
);
const POD_FIELD: Each<Pod, Container, Field<Container>> = Each::new(
    |pod| &pod.containers,
    |pod| &mut pod.containers,
    CONTAINER_FIELD,
);
const TEMPLATE_FIELD: Within<Deployment, Pod, Each<Pod, Container, Field<Container>>> = Within::new(
    |deployment| deployment.template.as_ref(),
    |deployment| deployment.template.as_mut(),
    POD_FIELD,
);

fn gates(flag: &str) -> Gates {
    let started = builder(v(1, 36), &[&KUBE]).flag(flag).try_finish();
    started.expect("it starts").gates
}

const ON: &str = "RestartDelay=true,GradualStrategy=true";
const OFF: &str = "";

const UNUSED: Container = Container {
    restart_delay: None,
};

const fn used(seconds: u32) -> Container {
    Container {
        restart_delay: Some(seconds),
    }
}

/// The four rows of the table, by the two columns it decides; the first row for each operation.
const MATRIX: [(&str, Option<Container>, bool, bool); 6] = [
    // gate, old object, sent field is kept, validation allows and requires
    (ON, None, true, true),
    (ON, Some(UNUSED), true, true),
    (ON, Some(used(1)), true, true),
    (OFF, None, false, false),
    (OFF, Some(UNUSED), false, false),
    (OFF, Some(used(1)), true, true),
];

/// feature-gates.md §10/on, §10/off-create, §10/off-unused, §10/off-used, §10/helpers.
#[test]
fn a_field_is_dropped_unless_its_gate_is_on_or_the_old_object_uses_it() {
    for (flag, old, kept, _) in MATRIX {
        let gates = gates(flag);
        for sent in [UNUSED, used(1), used(2)] {
            let mut new = sent.clone();
            let dropped = drop_disabled(
                &gates,
                RESTART_DELAY,
                &mut new,
                old.as_ref(),
                &CONTAINER_FIELD,
            );
            let expected = if kept { sent.clone() } else { UNUSED };
            let changed = expected != sent;
            assert_eq!(
                (new, dropped),
                (expected, changed),
                "{flag:?} {old:?} {sent:?}"
            );
        }
    }
}

/// feature-gates.md §10/on, §10/off-create, §10/off-unused, §10/off-used, §10/helpers.
#[test]
fn validation_allows_a_field_if_its_gate_is_on_or_the_old_object_uses_it() {
    for (flag, old, _, allowed) in MATRIX {
        let gates = gates(flag);
        let options = ValidationOptions::new(&gates);
        assert!(!options.allows(RESTART_DELAY), "not allowed yet");
        let in_use = old.as_ref().is_some_and(|old| old.restart_delay.is_some());
        let by_hand = options.clone().allow(RESTART_DELAY, in_use);
        let by_field = options.allow_field(RESTART_DELAY, old.as_ref(), &CONTAINER_FIELD);
        let answers = [by_hand, by_field].map(|options| options.allows(RESTART_DELAY));
        assert_eq!(answers, [allowed; 2], "{flag:?} {old:?}");
    }
}

#[test]
fn one_gate_does_not_allow_what_another_brings() {
    let gates = gates("RestartDelay=true");
    let options = ValidationOptions::new(&gates)
        .allow(GRADUAL_STRATEGY, false)
        .allow(RESTART_DELAY, false);
    let allowed = [RESTART_DELAY, GRADUAL_STRATEGY].map(|gate| options.allows(gate));
    assert_eq!(allowed, [true, false]);
}

/// The write path of a server: drop disabled fields, bump the generation, apply defaults, validate.
fn write(
    gates: &Gates,
    old: Option<&Deployment>,
    sent: &Deployment,
) -> Result<Deployment, Vec<String>> {
    let mut new = sent.clone();
    drop_disabled(gates, RESTART_DELAY, &mut new, old, &TEMPLATE_FIELD);
    let same_spec =
        |old: &Deployment| (old.strategy, &old.template) == (new.strategy, &new.template);
    new.generation = old.map_or(1, |old| old.generation + u64::from(!same_spec(old)));
    let gradual = old.is_some_and(|old| old.strategy == "Gradual");
    let options = ValidationOptions::new(gates)
        .allow_field(RESTART_DELAY, old, &TEMPLATE_FIELD)
        .allow(GRADUAL_STRATEGY, gradual);
    let errors = validate(&new, &options);
    if errors.is_empty() {
        Ok(new)
    } else {
        Err(errors)
    }
}

fn validate(deployment: &Deployment, options: &ValidationOptions<'_>) -> Vec<String> {
    let mut errors = Vec::new();
    let strategy = deployment.strategy;
    let gradual = strategy == "Gradual" && options.allows(GRADUAL_STRATEGY);
    if !(strategy == "Recreate" || gradual) {
        errors.push(format!("strategy: Unsupported value: {strategy:?}"));
    }
    let containers = deployment.template.iter().flat_map(|pod| &pod.containers);
    for (at, container) in containers.enumerate() {
        let path = format!("template.containers[{at}].restartDelay");
        match container.restart_delay {
            None if options.allows(RESTART_DELAY) => errors.push(format!("{path}: Required value")),
            Some(seconds) if seconds > 100 => {
                errors.push(format!("{path}: Invalid value: {seconds}"));
            }
            _ => {}
        }
    }
    errors
}

fn deployment(generation: u64, strategy: &'static str, containers: &[Container]) -> Deployment {
    let containers = containers.to_vec();
    Deployment {
        generation,
        strategy,
        template: Some(Pod { containers }),
    }
}

/// feature-gates.md §10/helpers, §10/generation, §10/logic: objects that do not use the field stay as they are.
#[test]
fn a_nested_field_follows_the_same_table_and_generations_count_what_is_stored() {
    let [on, off] = [ON, OFF].map(gates);
    let sent = deployment(0, "Recreate", &[used(5), used(6)]);
    let without = deployment(1, "Recreate", &[UNUSED, UNUSED]);
    let with = deployment(1, "Recreate", &[used(5), used(6)]);
    assert_eq!(write(&on, None, &sent), Ok(with.clone()));
    assert_eq!(write(&off, None, &sent), Ok(without.clone()));
    // A field that is dropped is no change, so the generation stays.
    assert_eq!(write(&off, Some(&without), &sent), Ok(without.clone()));
    // One container uses the field: the whole list keeps what is sent.
    let one = deployment(1, "Recreate", &[used(5), UNUSED]);
    let both = deployment(2, "Recreate", &[used(7), used(8)]);
    let sent = deployment(0, "Recreate", &[used(7), used(8)]);
    assert_eq!(write(&off, Some(&one), &sent), Ok(both));
    // A part that is not there neither uses the field nor can lose it.
    let bare = Deployment {
        strategy: "Recreate",
        ..Deployment::default()
    };
    let created = Deployment {
        generation: 1,
        ..bare.clone()
    };
    assert_eq!(write(&off, None, &bare), Ok(created));
}

/// feature-gates.md §10/with-default, §10/without-default: a value is judged whatever the gate says.
#[test]
fn a_defaulted_field_is_required_only_when_it_is_allowed() {
    let [on, off] = [ON, OFF].map(gates);
    let missing = deployment(0, "Recreate", &[UNUSED]);
    let required = Err(vec![
        "template.containers[0].restartDelay: Required value".to_owned(),
    ]);
    let stored = deployment(1, "Recreate", &[UNUSED]);
    let using = deployment(1, "Recreate", &[used(5)]);
    assert_eq!(write(&on, None, &missing), required);
    assert_eq!(write(&on, Some(&stored), &missing), required);
    assert_eq!(write(&off, None, &missing), Ok(stored.clone()));
    assert_eq!(write(&off, Some(&stored), &missing), Ok(stored));
    assert_eq!(write(&off, Some(&using), &missing), required);
    // The value itself is checked whenever there is one, whatever the gate says.
    let invalid = deployment(0, "Recreate", &[used(101)]);
    let refused = Err(vec![
        "template.containers[0].restartDelay: Invalid value: 101".to_owned(),
    ]);
    assert_eq!(write(&off, Some(&using), &invalid), refused);
    assert_eq!(write(&on, None, &invalid), refused);
}

/// feature-gates.md §10/widened.
#[test]
fn a_new_value_is_never_rewritten_and_valid_only_when_it_is_allowed() {
    let [on, off] = [ON, OFF].map(gates);
    let gradual = deployment(0, "Gradual", &[]);
    let refused = Err(vec!["strategy: Unsupported value: \"Gradual\"".to_owned()]);
    let stored = deployment(1, "Gradual", &[]);
    let plain = deployment(1, "Recreate", &[]);
    assert_eq!(write(&on, None, &gradual), Ok(stored.clone()));
    assert_eq!(write(&off, None, &gradual), refused);
    assert_eq!(write(&off, Some(&plain), &gradual), refused);
    assert_eq!(write(&off, Some(&stored), &gradual), Ok(stored.clone()));
    // Leaving it is fine; coming back is not.
    let left = write(&off, Some(&stored), &plain).expect("a value that was always valid");
    assert_eq!(left, deployment(2, "Recreate", &[]));
    assert_eq!(write(&off, Some(&left), &gradual), refused);
}

/// feature-gates.md §10/off-used, §10/off-unused.
#[test]
fn a_stored_value_survives_off_on_and_off_again() {
    let [on, off] = [ON, OFF].map(gates);
    let first = deployment(0, "Recreate", &[used(5)]);
    let stored = write(&on, None, &first).expect("valid");
    let off_write = deployment(0, "Recreate", &[used(6)]);
    let stored = write(&off, Some(&stored), &off_write).expect("valid");
    assert_eq!(stored, deployment(2, "Recreate", &[used(6)]));
    let stored = write(&on, Some(&stored), &off_write).expect("valid");
    assert_eq!(stored, deployment(2, "Recreate", &[used(6)]));
    // Clearing a template ends its use, and the next write cannot bring it back.
    let cleared = deployment(0, "Recreate", &[]);
    let stored = write(&off, Some(&stored), &cleared).expect("valid");
    assert_eq!(stored, deployment(3, "Recreate", &[]));
    let again = write(&off, Some(&stored), &off_write).expect("valid");
    assert_eq!(again, deployment(4, "Recreate", &[UNUSED]));
}
