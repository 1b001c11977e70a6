//! A builder for tests.

use lockstep_featuregate::{BinaryVersion, Builder, Component, Group, Registry, Version};

/// A builder for one component with these gates, built as this version.
pub(crate) fn builder(binary: Version, groups: &[&'static Group]) -> Builder {
    let component = Component::declared(BinaryVersion::of(binary), groups);
    let component = component.expect("declared gates fit");
    Builder::new(Registry::new([component]).expect("one component fits"))
}
