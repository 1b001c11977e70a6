//! Field order of a JSON document, which a sorted map does not preserve.

use super::decode::DEPTH_MAX;
use crate::field::Path;
use crate::go;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;

/// Sorts field paths by where the document first names them; paths it does not name come last, as they were.
///
/// Messages about unknown fields are sorted with this. It reads the document again, so it is for requests that have
/// something to complain about.
pub fn in_document_order(bytes: &[u8], paths: Vec<String>) -> Vec<String> {
    if paths.len() < 2 {
        return paths;
    }
    let mut search = Search {
        wanted: paths.iter().map(String::as_str).collect(),
        found: Vec::new(),
    };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    deserializer.disable_recursion_limit();
    let node = Node {
        path: &Path::ROOT,
        depth: 0,
        search: &mut search,
    };
    // A document that cannot be read to its end orders what came before the fault; nor is it read behind the last path.
    let _end: Result<(), serde_json::Error> = node.deserialize(&mut deserializer);
    let Search { wanted, mut found } = search;
    found.extend(
        paths
            .iter()
            .filter(|path| wanted.contains(path.as_str()))
            .cloned(),
    );
    found
}

struct Search<'w> {
    wanted: BTreeSet<&'w str>,
    found: Vec<String>,
}

impl Search<'_> {
    /// False if no path ends with this name; names are compared because a path of each field would be made otherwise.
    fn may_want(&self, name: &str) -> bool {
        let mut wanted = self.wanted.iter();
        wanted.any(|path| path.ends_with(name) || path.ends_with(go::ELLIPSIS))
    }
}

struct Node<'p, 's, 'w> {
    path: &'p Path<'p>,
    depth: usize,
    search: &'s mut Search<'w>,
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let depth = deeper(self.depth)?;
        let mut index = 0;
        loop {
            let path = self.path.index(index);
            let node = Node {
                path: &path,
                depth,
                search: self.search,
            };
            if access.next_element_seed(node)?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let depth = deeper(self.depth)?;
        while let Some(key) = access.next_key::<String>()? {
            let path = self.path.field(&key);
            if self.search.may_want(&key) {
                let name = path.shown();
                if self.search.wanted.remove(name.as_str()) {
                    self.search.found.push(name);
                    if self.search.wanted.is_empty() {
                        return Err(Error::custom("all are found"));
                    }
                    access.next_value::<IgnoredAny>()?;
                    continue;
                }
            }
            access.next_value_seed(Node {
                path: &path,
                depth,
                search: self.search,
            })?;
        }
        Ok(())
    }
}

fn deeper<E: Error>(depth: usize) -> Result<usize, E> {
    if depth == DEPTH_MAX {
        return Err(E::custom("too deep"));
    }
    Ok(depth + 1)
}
