//! Paths of values for error messages.

use lockstep_object::field::FIELD_BYTES_MAX;
use lockstep_object::go;

/// Path of a value, linked from the innermost element outwards.
pub(super) enum Place<'a> {
    /// The object itself.
    Root,
    /// A field of a struct.
    Field {
        parent: &'a Place<'a>,
        /// The name of the struct's type.
        of: &'static str,
        name: &'static str,
    },
    /// An item of a list.
    Index { parent: &'a Place<'a>, index: usize },
    /// A value of a map.
    Key { parent: &'a Place<'a>, key: &'a str },
}

impl Place<'_> {
    /// True for `metadata` of the object itself.
    pub(super) fn is_metadata_of_root(&self) -> bool {
        matches!(self, Place::Field { parent: Place::Root, name, .. } if *name == "metadata")
    }

    /// The path of a field as field validation prints it: `spec.ports[0].name`.
    pub(super) fn path(&self, name: &str) -> String {
        let mut path = String::new();
        self.write(&mut path);
        push(&mut path, name);
        go::shorten(&mut path, FIELD_BYTES_MAX);
        path
    }

    fn write(&self, path: &mut String) {
        match self {
            Place::Root => {}
            Place::Field { parent, name, .. } => {
                parent.write(path);
                push(path, name);
            }
            Place::Index { parent, index } => {
                parent.write(path);
                path.push_str(&format!("[{index}]"));
            }
            Place::Key { parent, key } => {
                parent.write(path);
                push(path, key);
            }
        }
    }

    /// The path in Go's decoder messages: field names after the name of the innermost struct.
    pub(super) fn go_field(&self) -> String {
        let (mut names, mut of, mut here) = (Vec::new(), None, self);
        loop {
            here = match here {
                Place::Root => break,
                Place::Field {
                    parent,
                    of: kind,
                    name,
                } => {
                    names.push(*name);
                    of = of.or(Some(*kind));
                    parent
                }
                Place::Index { parent, .. } | Place::Key { parent, .. } => parent,
            };
        }
        names.push(of.unwrap_or_default());
        names.reverse();
        names.join(".")
    }
}

fn push(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}
