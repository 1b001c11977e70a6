//! Pruning of unknown fields.

use crate::node::{Additional, Node};
use lockstep_object::field::{Path, report_unknown};
use lockstep_object::metadata::is_type_or_metadata;
use serde_json::Value;

/// Prunes unknown fields and reports their paths. The root is always treated as a resource.
pub(crate) fn prune_root(value: &mut Value, root: &Node, unknown: &mut Vec<String>) {
    let place = Place {
        is_root: true,
        preserve: false,
    };
    Pruner { unknown }.value(value, Some(root), place, &Path::ROOT);
}

/// Variant of [`prune_root`] for a part of a resource.
pub(crate) fn prune_part(value: &mut Value, node: &Node, unknown: &mut Vec<String>) {
    Pruner { unknown }.value(value, Some(node), BELOW, &Path::ROOT);
}

/// Context that affects pruning beyond the value's own schema.
#[derive(Clone, Copy)]
struct Place {
    is_root: bool,
    /// The list around it keeps unknown fields, and so do its elements.
    preserve: bool,
}

const BELOW: Place = Place {
    is_root: false,
    preserve: false,
};

struct Pruner<'u> {
    unknown: &'u mut Vec<String>,
}

impl Pruner<'_> {
    /// Without a schema every field of a map is unknown.
    fn value(&mut self, value: &mut Value, node: Option<&Node>, place: Place, path: &Path<'_>) {
        match (value, node) {
            (Value::Object(entries), Some(node)) => {
                let resource = place.is_root || node.embedded;
                let preserve = place.preserve || node.preserve_unknown;
                entries.retain(|name, value| {
                    if resource && is_type_or_metadata(name) {
                        return true;
                    }
                    let path = path.field(name);
                    match node.field(name) {
                        Some(node) => self.value(value, Some(node), BELOW, &path),
                        None if preserve => {}
                        None if matches!(node.additional(), Additional::Allowed(_)) => {
                            self.value(value, None, BELOW, &path);
                        }
                        None => {
                            report_unknown(&path, self.unknown);
                            return false;
                        }
                    }
                    true
                });
            }
            (Value::Object(entries), None) => {
                for name in entries.keys() {
                    report_unknown(&path.field(name), self.unknown);
                }
                entries.clear();
            }
            (Value::Array(elements), Some(node)) => {
                let items = node.items();
                let preserve = place.preserve || node.preserve_unknown;
                if items.is_none() && preserve {
                    return;
                }
                let place = Place {
                    is_root: false,
                    preserve,
                };
                for (index, element) in elements.iter_mut().enumerate() {
                    self.value(element, items, place, &path.index(index));
                }
            }
            (Value::Array(elements), None) => {
                for (index, element) in elements.iter_mut().enumerate() {
                    self.value(element, None, BELOW, &path.index(index));
                }
            }
            _ => {}
        }
    }
}
