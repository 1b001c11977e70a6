//! OpenAPI documents, generated on demand and cached until the served resources change.
//!
//! The `ETag` is a hash of a document's inputs (names, verbs and subresources of the resources, and the revisions of
//! their CRDs), so that validation does not need the document itself.

mod describe;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use lockstep_catalog::VersionIndex;
use lockstep_object::json;
use lockstep_openapi::{gnostic, v2, v3};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::discovery::group_versions;
use crate::heavy_work::HeavyWork;
use crate::resources::{Api, Registry, Resource};
use crate::version::git_version;
use describe::describe;

/// Most cached documents: those of the built-in groups and some more.
const DOCUMENTS_MAX: usize = 64;
/// Flow of the heavy work: documents are made for all users.
const OPENAPI: &str = "openapi";
/// Title of the documents, as upstream.
const TITLE: &str = "Kubernetes";

/// A document and the hash of its inputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Document {
    pub(crate) hash: String,
    pub(crate) bytes: Bytes,
}

/// Encoding of the v2 document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum V2 {
    Json,
    Protobuf,
}

/// Cache key of a document.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Name {
    V2(V2),
    V3(String),
}

/// Cache of generated documents.
#[derive(Default)]
pub(crate) struct Documents {
    kept: Mutex<BTreeMap<Name, Document>>,
    /// One document is generated at a time, so that concurrent requests for it share the result.
    making: tokio::sync::Mutex<()>,
}

impl Documents {
    /// v3 document of a group and version by its path, such as `apis/apps/v1`; none if it is not served.
    pub(crate) async fn v3(
        &self,
        api: &Arc<Api>,
        heavy: &HeavyWork,
        path: &str,
    ) -> Option<Document> {
        let registry = api.registry();
        let resources = group(&registry, path)?;
        let hash = hash(&resources);
        let name = Name::V3(path.to_owned());
        let served: Vec<_> = resources.into_iter().map(|(r, v)| (r.clone(), v)).collect();
        let api = Arc::clone(api);
        let made = self.make(heavy, name, hash, move || {
            let resources = describe(&api, &served);
            json::encode_ordered(&v3::document(TITLE, &git_version(), resources))
        });
        made.await
    }

    /// v2 document of all resources.
    pub(crate) async fn v2(&self, api: &Arc<Api>, heavy: &HeavyWork, form: V2) -> Option<Document> {
        let registry = api.registry();
        let served: Vec<(Arc<Resource>, VersionIndex)> = groups(&registry)
            .into_iter()
            .flat_map(|(_, resources)| resources)
            .map(|(resource, version)| (resource.clone(), version))
            .collect();
        let hash = self::hash(&served.iter().map(|(r, v)| (r, *v)).collect::<Vec<_>>());
        let api = Arc::clone(api);
        let made = self.make(heavy, Name::V2(form), hash, move || {
            let resources = describe(&api, &served);
            let document = v2::document(TITLE, &git_version(), resources);
            match form {
                V2::Json => json::encode(&document),
                V2::Protobuf => gnostic::encode(&document),
            }
        });
        made.await
    }

    /// Cached document if its hash is current; otherwise a new one, generated as heavy work.
    async fn make(
        &self,
        heavy: &HeavyWork,
        name: Name,
        hash: String,
        print: impl FnOnce() -> Vec<u8>,
    ) -> Option<Document> {
        if let Some(kept) = find(&self.kept, &name, &hash) {
            return Some(kept);
        }
        let _one = self.making.lock().await;
        // A concurrent request may have generated it while this one waited.
        if let Some(kept) = find(&self.kept, &name, &hash) {
            return Some(kept);
        }
        let bytes = heavy.run(OPENAPI, print).await?.into();
        Some(keep(&self.kept, name, Document { hash, bytes }))
    }
}

/// Cached document with this hash.
fn find(kept: &Mutex<BTreeMap<Name, Document>>, name: &Name, hash: &str) -> Option<Document> {
    let kept = kept.lock();
    kept.get(name).filter(|kept| kept.hash == hash).cloned()
}

fn keep(kept: &Mutex<BTreeMap<Name, Document>>, name: Name, made: Document) -> Document {
    let mut kept = kept.lock();
    if kept.len() >= DOCUMENTS_MAX && !kept.contains_key(&name) {
        kept.pop_last();
    }
    kept.insert(name, made.clone());
    made
}

/// Paths and hashes of all v3 documents.
pub(crate) fn index(registry: &Registry) -> Vec<(String, String)> {
    let groups = groups(registry).into_iter();
    groups
        .map(|(path, resources)| (path, hash(&resources)))
        .collect()
}

/// Hash of the v3 document at a path; none if it is not served.
pub(crate) fn hash_at(registry: &Registry, path: &str) -> Option<String> {
    Some(hash(&group(registry, path)?))
}

/// A resource in one of its versions.
type InVersion<'a> = (&'a Arc<Resource>, VersionIndex);

/// Resources in the document at a path.
fn group<'a>(registry: &'a Registry, path: &str) -> Option<Vec<InVersion<'a>>> {
    let mut groups = groups(registry).into_iter();
    let (_, resources) = groups.find(|(found, _)| found == path)?;
    Some(resources)
}

/// All groups and versions by the path of their document.
fn groups(registry: &Registry) -> Vec<(String, Vec<InVersion<'_>>)> {
    let groups = group_versions(registry).into_iter();
    let groups = groups.map(|(group, version, resources)| {
        let path = match group {
            "" => format!("api/{version}"),
            group => format!("apis/{group}/{version}"),
        };
        let resources = resources.into_iter();
        let resources =
            resources.filter_map(|resource| Some((resource, resource.served_version(version)?)));
        (path, resources.collect())
    });
    groups.collect()
}

/// Hash of the inputs of a document.
fn hash(resources: &[InVersion<'_>]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(git_version());
    for (resource, version) in resources {
        let Resource {
            group,
            plural,
            kind,
            list_kind,
            scope,
            verbs,
            schema_revision,
            ..
        } = &***resource;
        let version = &resource.versions[*version];
        let told = format!(
            "{group} {plural} {kind} {list_kind} {scope:?} {verbs:?} {} {:?} {}\n",
            version.name, version.subresources, schema_revision.0
        );
        hasher.update(told);
    }
    let digest = hasher.finalize();
    digest.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// api-machinery.md §2/openapi-v2: generated once for concurrent requests, and again when the served resources
    /// change.
    #[tokio::test]
    async fn those_who_ask_at_once_wait_for_one_document() {
        let (documents, made) = (
            Arc::new(Documents::default()),
            Arc::new(AtomicUsize::new(0)),
        );
        let heavy = Arc::new(HeavyWork::new(1));
        for (hash, expected) in [("a", 1), ("a", 1), ("b", 2)] {
            let mut asking = tokio::task::JoinSet::new();
            for _ in 0..20 {
                let (documents, made) = (Arc::clone(&documents), Arc::clone(&made));
                let heavy = Arc::clone(&heavy);
                asking.spawn(async move {
                    let print = move || {
                        made.fetch_add(1, Ordering::SeqCst);
                        b"document".to_vec()
                    };
                    let name = Name::V2(V2::Json);
                    documents.make(&heavy, name, hash.to_owned(), print).await
                });
            }
            let document = Some(Document {
                hash: hash.to_owned(),
                bytes: Bytes::from_static(b"document"),
            });
            assert_eq!(asking.join_all().await, vec![document; 20]);
            assert_eq!(made.load(Ordering::SeqCst), expected, "{hash}");
        }
    }
}
