//! Follows CRDs and publishes the resources that they define.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_catalog::crd::write_status;
use lockstep_fieldgate::GateList;
use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, json};
use lockstep_storage::{Expected, Revision};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinSet;

use super::conditions::{self, Acceptance, TakenNames};
use super::{BUCKET, Definition, FieldGates, GROUP, PLURAL, cleanup, resource};
use crate::cache::{BucketKey, Change, Object as Cached, Scope, Snapshot};
use crate::heavy_work::in_place;
use crate::metrics::GateLabels;
use crate::resources::{Api, Origin, SchemaChange};
use crate::webhooks::Clients;

/// Keeps the registry of a server in step with the CRDs of a store.
pub struct Follower {
    api: Arc<Api>,
    now: fn() -> Seconds,
    /// Clients of conversion webhooks, shared so that a changed CRD keeps its connections.
    clients: Clients,
    /// Published CRDs by name.
    serving: BTreeMap<String, Serving>,
    /// Cleanup tasks of terminating CRDs; they are aborted with the follower.
    cleaning: JoinSet<String>,
    /// Names of CRDs with a cleanup task.
    cleaned: BTreeSet<String>,
}

/// A published CRD.
struct Serving {
    /// The hash of the published spec.
    spec: [u8; 32],
    schema_change: Arc<SchemaChange>,
    /// Metric labels of its field gates.
    gates: Vec<GateLabels>,
}

impl Follower {
    /// A follower for an API whose registry has the built-in resources.
    pub fn new(api: Arc<Api>, now: fn() -> Seconds) -> Self {
        let clients = Clients::new(api.meters().clone()).with_services(api.services());
        Self {
            api,
            now,
            clients,
            serving: BTreeMap::new(),
            cleaning: JoinSet::new(),
            cleaned: BTreeSet::new(),
        }
    }

    /// Follows CRDs; never returns.
    pub async fn run(mut self) {
        let bucket = self.api.cache().bucket(&BucketKey::new(BUCKET));
        loop {
            let (snapshot, mut watching) = bucket.snapshot_and_watch(Scope::All);
            // Other resources stay published meanwhile, because deleting a namespace must find all of them.
            let stays = |name: &str| snapshot.get(name.as_bytes()).is_some();
            self.api.forget_custom_resources(stays);
            self.end_all_but(&snapshot);
            for crd in snapshot.objects(&Scope::All, None) {
                self.take(crd).await;
            }
            self.api.crds_followed(snapshot.revision());
            while let Ok(changes) = watching.next().await {
                for change in changes {
                    self.change(&change).await;
                    self.api.crds_followed(change.revision);
                }
            }
        }
    }

    async fn change(&mut self, change: &Change) {
        match &change.now {
            Some(crd) => self.take(crd).await,
            None => {
                if let Some(crd) = change.before.as_deref().and_then(parse) {
                    self.drop_resource(&crd, change.revision);
                    self.retry_losers(Definition::of(&crd).group()).await;
                }
            }
        }
    }

    /// Publishes a CRD if its names are free, and writes its status.
    async fn take(&mut self, stored: &Cached) {
        let Some(crd) = parse(stored) else {
            return;
        };
        let definition = Definition::of(&crd);
        let acceptance = self.accept(definition);
        let is_served = acceptance == Acceptance::Served || definition.is("Established");
        let before = self.serving.remove(definition.name());
        let spec = spec_hash(&crd);
        let same = before.as_ref().filter(|before| before.spec == spec);
        let schema_change = same
            .map(|same| Arc::clone(&same.schema_change))
            .unwrap_or_default();
        let field_gates = self.api.field_gates();
        let (clients, change) = (&self.clients, Arc::clone(&schema_change));
        let compile = || resource(&crd, stored.revision, clients, change, field_gates);
        let custom = in_place(compile);
        match custom {
            Ok(custom) if is_served => {
                self.api.serve(custom);
                let name = definition.name().to_owned();
                let gates = self.count_gates(&crd, before.as_ref());
                let serving = Serving {
                    spec,
                    schema_change,
                    gates,
                };
                self.serving.insert(name, serving);
            }
            _ => {
                let gates = before.as_ref().map_or(&[][..], |before| &before.gates);
                self.api.meters().field_gates.follow(gates, &[]);
                self.drop_resource(&crd, stored.revision);
            }
        }
        // Watches end after the registry was swapped, so that a client that reconnects finds the new schema.
        let goes_on = self.serving.get(definition.name());
        let goes_on = goes_on.is_some_and(|now| same.is_some_and(|same| same.spec == now.spec));
        if let Some(before) = before.filter(|_| !goes_on) {
            before.schema_change.end(stored.revision);
        }
        let mut updated = crd.clone();
        conditions::write(&mut updated, &acceptance, (self.now)());
        if field_gates == FieldGates::On {
            write_status(&mut updated, (self.now)());
        }
        if updated != crd {
            self.store(updated, stored.revision).await;
        } else if definition.is_cleaned() {
            self.clean(definition.name());
        }
    }

    /// Starts the cleanup task of a CRD, unless it runs.
    fn clean(&mut self, name: &str) {
        while let Some(ended) = self.cleaning.try_join_next() {
            if let Ok(name) = ended {
                self.cleaned.remove(&name);
            }
        }
        if self.cleaned.insert(name.to_owned()) {
            let (api, name, now) = (self.api.clone(), name.to_owned(), self.now);
            self.cleaning.spawn(async move {
                cleanup::run(&api, &name, now).await;
                name
            });
        }
    }

    /// Updates the metrics of field gates, or logs that they have no effect because the feature gate is off.
    fn count_gates(&self, crd: &Object, before: Option<&Serving>) -> Vec<GateLabels> {
        let list = GateList::of(crd);
        let name = crd.name();
        if self.api.field_gates() == FieldGates::Off {
            if before.is_none() && !list.gates.is_empty() {
                tracing::warn!(
                    crd = name,
                    "its gates of fields do nothing: feature gate CRDFieldLevelVersioning is disabled"
                );
            }
            return Vec::new();
        }
        let gates = list.gates.iter().map(|gate| {
            let parts = [name, &list.component, &gate.name, gate.stage.as_str()];
            (parts.map(str::to_owned), gate.state().enabled)
        });
        let now: Vec<(GateLabels, bool)> = gates.collect();
        let before = before.map_or(&[][..], |before| &before.gates);
        self.api.meters().field_gates.follow(before, &now);
        now.into_iter().map(|(labels, _)| labels).collect()
    }

    fn accept(&self, crd: Definition<'_>) -> Acceptance {
        let registry = self.api.registry();
        let others = registry.iter().filter(|resource| {
            *resource.group == *crd.group() && *resource.plural != *crd.names("plural")
        });
        let conflict = TakenNames::by(others.map(AsRef::as_ref)).conflict(crd);
        let built_in = registry
            .resource(crd.group(), crd.names("plural"))
            .is_some_and(|resource| resource.origin == Origin::BuiltIn);
        match conflict {
            Some((reason, message)) => Acceptance::Conflict { reason, message },
            None if built_in => Acceptance::Conflict {
                reason: "PluralConflict",
                message: format!("{:?} is already in use", crd.names("plural")),
            },
            None if crd.bundle_problem().is_some() => Acceptance::InvalidBundle,
            None => Acceptance::Served,
        }
    }

    fn drop_resource(&mut self, crd: &Object, at: Revision) {
        let definition = Definition::of(crd);
        self.api
            .stop_serving(definition.group(), definition.names("plural"));
        if let Some(serving) = self.serving.remove(definition.name()) {
            self.api.meters().field_gates.follow(&serving.gates, &[]);
            serving.schema_change.end(at);
        }
    }

    /// Ends watches and metrics of CRDs that were deleted while the follower did not watch.
    fn end_all_but(&mut self, there: &Snapshot) {
        let meters = &self.api.meters().field_gates;
        self.serving.retain(|name, serving| {
            let stays = there.get(name.as_bytes()).is_some();
            if !stays {
                meters.follow(&serving.gates, &[]);
                serving.schema_change.end(there.revision());
            }
            stays
        });
    }

    /// Retries CRDs of a group whose names were taken.
    async fn retry_losers(&mut self, group: &str) {
        let bucket = self.api.cache().bucket(&BucketKey::new(BUCKET));
        let snapshot = bucket.snapshot();
        for stored in snapshot.objects(&Scope::All, None) {
            let Some(crd) = parse(stored) else { continue };
            let definition = Definition::of(&crd);
            if definition.group() == group && !definition.is("NamesAccepted") {
                self.take(stored).await;
            }
        }
    }

    /// Writes a CRD unless it changed since it was read; the change arrives as an event and is handled then.
    async fn store(&self, crd: Object, revision: Revision) {
        let key = crd.name().to_owned();
        let expected = Expected::At(revision);
        // A failed write is not retried: the next change of the CRD writes the conditions again.
        let _outcome = self
            .api
            .store_internally(GROUP, PLURAL, &key, expected, Some(crd))
            .await;
    }
}

/// The hash of a CRD's spec.
fn spec_hash(crd: &Object) -> [u8; 32] {
    let spec = crd.at(&["spec"]).map(json::encode).unwrap_or_default();
    Sha256::digest(&spec).into()
}

fn parse(stored: &Cached) -> Option<Object> {
    Object::read(&stored.value)
}
