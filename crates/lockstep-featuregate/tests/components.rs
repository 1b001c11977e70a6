//! Components together: versions that follow one another, and sets closed for new gates.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use lockstep_featuregate::{
    BinaryVersion, Builder, Component, Entry, Feature, RegistrationError, Registry, Stage, Version,
    v,
};

const ALPHA: Entry = Entry {
    version: v(1, 36),
    default: false,
    lock_to_default: false,
    stage: Stage::Alpha,
    min_compatibility: None,
};

fn component(name: &str, major: u16, minor: u16) -> Component {
    Component::new(name, BinaryVersion::of(v(major, minor)))
}

/// `wardle` 1.x goes with `kube` 1.(x + 35).
fn wardle_of_kube(kube: Version) -> Option<Version> {
    let minor = kube.minor().checked_sub(35)?;
    Some(v(1, minor))
}

fn mapped() -> Registry {
    let mut registry =
        Registry::new([component("kube", 1, 37), component("wardle", 1, 2)]).unwrap();
    registry
        .map_version("kube", "wardle", wardle_of_kube)
        .unwrap();
    registry
}

fn versions(builder: Builder, component: &str) -> (Version, Version) {
    let gates = builder.try_finish().unwrap().gates;
    let versions = gates.component(component).unwrap().versions();
    (versions.emulation, versions.min_compatibility)
}

/// feature-gates.md §6/components.
#[test]
fn a_mapped_component_follows_its_parent() {
    assert_eq!(
        versions(Builder::new(mapped()), "wardle"),
        (v(1, 2), v(1, 1))
    );
    let emulating = Builder::new(mapped()).emulated_version("1.36");
    assert_eq!(versions(emulating, "wardle"), (v(1, 1), v(1, 0)));
    let compatible = Builder::new(mapped()).min_compatibility_version("1.35");
    assert_eq!(versions(compatible, "wardle"), (v(1, 2), v(1, 0)));
}

/// feature-gates.md §6/components.
#[test]
fn the_flags_of_a_mapped_component_are_refused() {
    let builder = Builder::new(mapped())
        .emulated_version("wardle=1.1")
        .min_compatibility_version("wardle=1.1");
    assert_eq!(
        builder.check().unwrap_err().to_string(),
        "[EmulationVersion of wardle is set by mapping, cannot set it by flag, \
         MinCompatibilityVersion of wardle is set by mapping, cannot set it by flag]"
    );
}

#[test]
fn a_mapping_without_an_answer_stops_the_start() {
    let builder = Builder::new(mapped()).emulated_version("1.34");
    assert_eq!(
        builder.check().unwrap_err().to_string(),
        "wardle has no version that goes with kube=1.34"
    );
}

/// feature-gates.md §6/components.
#[test]
fn loops_second_parents_and_strangers_cannot_be_mapped() {
    let same = |version| Some(version);
    let names = ["a", "b", "c"];
    let mut registry = Registry::new(names.map(|name| component(name, 1, 0))).unwrap();
    registry.map_version("a", "b", same).unwrap();
    registry.map_version("b", "c", same).unwrap();
    let text = |result: Result<(), RegistrationError>| result.unwrap_err().to_string();
    assert_eq!(
        text(registry.map_version("c", "a", same)),
        "version mapping of a leads back to itself"
    );
    assert_eq!(
        text(registry.map_version("c", "c", same)),
        "version of c is already mapped from b"
    );
    assert_eq!(
        text(registry.map_version("a", "c", same)),
        "version of c is already mapped from b"
    );
    assert_eq!(
        text(registry.map_version("x", "a", same)),
        "component not registered: x"
    );
    assert_eq!(
        text(registry.map_version("a", "y", same)),
        "component not registered: y"
    );
}

/// feature-gates.md §3/closed.
#[test]
fn nothing_is_added_after_the_set_is_closed() {
    let mut kube = component("kube", 1, 37);
    assert_eq!(kube.add(Feature::new("Early", [ALPHA])), Ok(()));
    kube.close();
    assert_eq!(
        kube.add(Feature::new("Late", [ALPHA])),
        Err(vec![RegistrationError::Closed])
    );
    assert_eq!(
        RegistrationError::Closed.to_string(),
        "cannot add a feature gate after adding it to the flag set"
    );
}

#[test]
fn two_components_of_one_name_are_refused() {
    let twice = Registry::new([component("kube", 1, 37), component("kube", 1, 36)]);
    assert_eq!(
        twice.unwrap_err().to_string(),
        "component \"kube\" is already registered"
    );
}

/// feature-gates.md §0/U3, §7/build: a failed call changes nothing, so the next one starts from what was there.
#[test]
fn a_failed_start_leaves_nothing_behind() {
    let registry = || {
        let mut kube = component("kube", 1, 37);
        kube.add(Feature::new("A", [ALPHA])).unwrap();
        Registry::new([kube]).unwrap()
    };
    let good = Builder::new(registry()).flag("A=true");
    let bad = good.clone().flag("Unknown=true");
    assert_eq!(
        bad.try_finish().unwrap_err().to_string(),
        "unrecognized feature gate: Unknown"
    );
    assert_eq!(good.try_finish().unwrap().gates.get("A"), Some(true));
}

/// feature-gates.md §7/by-name.
#[test]
fn an_unknown_name_is_none_and_never_a_panic() {
    let gates = Builder::new(mapped()).try_finish().unwrap().gates;
    for name in ["Unknown", "kube:Unknown", "unknown:AllAlpha", "", ":", "::"] {
        assert_eq!(gates.get(name), None, "{name:?}");
        assert_eq!(gates.explain(name), None, "{name:?}");
    }
}

/// feature-gates.md §0/U8, §7/build: sets are values, and each server has its own.
#[test]
fn two_sets_of_one_registry_differ_in_one_process() {
    let registry = || {
        let mut kube = component("kube", 1, 37);
        kube.add(Feature::new("A", [ALPHA])).unwrap();
        Registry::new([kube]).unwrap()
    };
    let set = |flag: &str| {
        Builder::new(registry())
            .flag(flag)
            .try_finish()
            .unwrap()
            .gates
    };
    let (on, off) = (set("A=true"), set("A=false"));
    assert_eq!((on.get("A"), off.get("A")), (Some(true), Some(false)));
    assert_eq!(on.clone().get("A"), Some(true));
}
