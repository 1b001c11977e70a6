//! Requests for resources: reading, watching and writing objects.
//!
//! All resources share these handlers; kinds differ in their row ([`Resource`]) and its [`Strategy`]. `Api::commit` is
//! the only function that writes objects, in one transaction each.

mod answer;
mod components;
mod conflicts;
mod conversion;
mod driver;
mod expiry;
mod field_manager;
mod get;
mod http_body;
mod list;
mod list_options;
mod message;
mod own;
mod own_writes;
mod policies;
mod print;
mod request;
mod selection;
mod serving;
mod streams;
mod token;
mod watch;
mod watch_converted;
mod webhook_calls;
mod write_request;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use lockstep_admission::features::Features;
use lockstep_builtins::services::ServiceRange;
use lockstep_object::ApiError;
use lockstep_storage::{KeyValue, Revision, Store};
use tokio::sync::watch as watch_channel;

pub use answer::{Answer, Body};
use conflicts::Conflicts;
pub(crate) use own::{OwnWrite, OwnWrites};
use policies::FollowedPolicies;
use print::Printer;

use expiry::Expiry;
pub use lockstep_catalog::{
    LastWrite, Origin, Registry, Resource, ScalePaths, SchemaChange, SelectableField, Served,
    SpecialKind, StoredAs, Strategy, Subresource, Validation, Version,
};
pub use request::Request;
pub use watch::WatchStream;

pub(crate) use lockstep_write::{CRD_CLEANUP_FINALIZER, Internal, Left, Propagation, patch_types};
pub use lockstep_write::{DryRun, Incoming};

use crate::admission::{Hook, Plugins};
use crate::authz::{Authorizer, StoredRules, stored_rules_only};
use crate::cache::{Cache, Parsed};
use crate::clock;
use crate::metrics::Meters;
use crate::route::Verb;
use crate::webhooks::{Clients, Services};
use lockstep_catalog::crd::FieldGates;
use lockstep_write::{Input, Io, Machine, WritePath, read_failed};

/// Default TTL of events.
pub const EVENT_TTL: Duration = Duration::from_secs(3600);

/// The API of one server.
pub struct Api {
    store: Arc<dyn Store>,
    cache: Cache,
    prefix: Bytes,
    registry: ArcSwap<Registry>,
    /// Revision up to which the registry reflects all stored CRDs.
    followed: watch_channel::Sender<Revision>,
    /// TTL of events, by leases of the store.
    expiry: Expiry,
    /// RBAC rules of users, for the check against privilege escalation.
    rules: Arc<StoredRules>,
    /// Metrics.
    meters: Meters,
    /// Callback for writes by the server itself, set once at start.
    own_writes: OnceLock<OwnWrites>,
    /// IP range for cluster IPs of Services.
    service_range: ServiceRange,
    /// Enabled admission plugins.
    plugins: Plugins,
    /// Admission webhook configurations.
    mutating_webhooks: Parsed<Hook>,
    validating_webhooks: Parsed<Hook>,
    /// Admission policies and their bindings.
    policies: FollowedPolicies,
    /// Conflicts of policies, for their status.
    conflicts: Conflicts,
    /// HTTP clients for webhook calls.
    clients: Clients,
    /// Authorizer that CEL expressions of admission policies query.
    authorizer: Authorizer,
    /// Serializes quota charges per namespace.
    turns: driver::QuotaTurns,
    /// True if feature gates of fields are enforced.
    field_gates: FieldGates,
    /// True if watches accept `sendInitialEvents` (the `WatchList` gate).
    watch_list: bool,
    /// Injected randomness for UIDs and generated names.
    random_u128: Box<dyn Fn() -> u128 + Send + Sync>,
    /// Start of monotonic time for metrics.
    started: tokio::time::Instant,
}

impl Api {
    /// An API on a store. `cache` must be of the same store and prefix.
    pub fn new(
        store: Arc<dyn Store>,
        cache: Cache,
        prefix: impl Into<Bytes>,
        registry: Registry,
        random_u128: impl Fn() -> u128 + Send + Sync + 'static,
    ) -> Self {
        let services = services(&cache, &registry);
        Self {
            store,
            cache,
            prefix: prefix.into(),
            registry: ArcSwap::from_pointee(registry),
            followed: watch_channel::channel(Revision::NONE).0,
            expiry: Expiry::after(EVENT_TTL),
            rules: Arc::default(),
            meters: Meters::default(),
            own_writes: OnceLock::new(),
            service_range: ServiceRange::default(),
            plugins: Plugins::default(),
            mutating_webhooks: webhook_calls::configured("mutatingwebhookconfigurations"),
            validating_webhooks: webhook_calls::configured("validatingwebhookconfigurations"),
            policies: FollowedPolicies::new(Features::default()),
            conflicts: Conflicts::default(),
            clients: Clients::default().with_services(services),
            authorizer: stored_rules_only(),
            turns: driver::QuotaTurns::default(),
            field_gates: FieldGates::default(),
            watch_list: true,
            random_u128: Box::new(random_u128),
            started: clock::now().steady,
        }
    }

    /// Sets the RBAC rules.
    #[must_use]
    pub fn with_rules(self, rules: Arc<StoredRules>) -> Self {
        Self { rules, ..self }
    }

    /// Sets the TTL of events, counted from the last write. Zero means no expiry.
    #[must_use]
    pub fn with_event_ttl(self, ttl: Duration) -> Self {
        Self {
            expiry: Expiry::after(ttl),
            ..self
        }
    }

    /// Sets the metrics that handlers record to.
    #[must_use]
    pub(crate) fn with_meters(self, meters: Meters) -> Self {
        Self { meters, ..self }
    }

    /// Metrics of this API.
    pub(crate) fn meters(&self) -> &Meters {
        &self.meters
    }

    /// Sets the IP range for cluster IPs of Services.
    #[must_use]
    pub fn with_service_range(self, service_range: ServiceRange) -> Self {
        Self {
            service_range,
            ..self
        }
    }

    /// Sets the enabled admission plugins.
    #[must_use]
    pub fn with_plugins(self, plugins: Plugins) -> Self {
        Self { plugins, ..self }
    }

    /// Sets the parts of the API of admission policies that are on.
    #[must_use]
    pub(crate) fn with_policy_features(self, features: Features) -> Self {
        Self {
            policies: FollowedPolicies::new(features),
            ..self
        }
    }

    /// Sets the authorizer that CEL expressions of admission policies query.
    #[must_use]
    pub(crate) fn with_authorizer(self, authorizer: Authorizer) -> Self {
        Self { authorizer, ..self }
    }

    /// Resolver of Services to addresses; none if the registry has no Services.
    pub(crate) fn services(&self) -> Option<Services> {
        services(&self.cache, &self.registry())
    }

    /// Sets whether feature gates of fields are enforced.
    #[must_use]
    pub fn with_field_gates(self, field_gates: FieldGates) -> Self {
        Self {
            field_gates,
            ..self
        }
    }

    /// Sets whether watches accept `sendInitialEvents`.
    #[must_use]
    pub fn with_watch_list(self, watch_list: bool) -> Self {
        Self { watch_list, ..self }
    }

    /// True if feature gates of fields are enforced.
    pub(crate) fn field_gates(&self) -> FieldGates {
        self.field_gates
    }

    /// Conflicts of policies since their status was written.
    pub(crate) fn conflicts(&self) -> &Conflicts {
        &self.conflicts
    }

    /// Current snapshot of the served resources.
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.load_full()
    }

    /// Size of the store in bytes; none if the store does not report it.
    pub(crate) async fn store_bytes(&self) -> Option<u64> {
        self.store.size().await.ok()
    }

    /// Answers a request.
    pub async fn answer(&self, request: &Request<'_>) -> Result<Answer, ApiError> {
        let resource = &request.served.resource;
        let verb = request.route.verb;
        if resource.special == SpecialKind::Binding {
            return Box::pin(self.bind(request)).await;
        }
        let is_known = resource.verbs.contains(&verb);
        if !is_known && resource.origin == Origin::BuiltIn {
            return Err(ApiError::MethodNotAllowed);
        }
        if !is_known {
            return Err(ApiError::method_not_supported(
                &resource.group_resource(),
                verb.as_str(),
            ));
        }
        check_scope(request)?;
        check_name(request)?;
        self.check_streams(request).await?;
        let answer = self.act(request).await?;
        let answer = Printer::of(request).shaped(answer)?;
        let configured = resource.special.configures();
        if let Some(part) = configured.filter(|_| verb.is_mutating()) {
            self.in_force(part).await;
        }
        Ok(answer)
    }

    /// Dispatches to the handler of the verb. All futures except that of a get are boxed: they are large, and without
    /// the box each of the frequent gets would move as many bytes.
    async fn act(&self, request: &Request<'_>) -> Result<Answer, ApiError> {
        if components::is_of_components(&request.served.resource) {
            return Box::pin(self.components(request)).await;
        }
        match request.route.verb {
            Verb::Get => self.get(request).await,
            Verb::List => Box::pin(self.list(request)).await,
            Verb::Watch => Box::pin(self.watch(request)).await,
            Verb::Create | Verb::Update | Verb::Patch | Verb::Delete => {
                Box::pin(self.write(request)).await
            }
            Verb::DeleteCollection => Box::pin(self.delete_collection(request)).await,
        }
    }

    /// Writes or deletes one object.
    async fn write(&self, request: &Request<'_>) -> Result<Answer, ApiError> {
        let mut request = request.write_request()?;
        let io = Io::default();
        let path = WritePath::new(self, &io);
        let write = Machine::new(io.clone(), path.write(&mut request));
        Ok(self.drive(write).await?.into())
    }

    /// Deletes every object that the equivalent list selects, and returns that list.
    async fn delete_collection(&self, request: &Request<'_>) -> Result<Answer, ApiError> {
        let mut deletion = request.write_request()?;
        let Some(Input::Delete(options)) = deletion.input.take() else {
            return Err(ApiError::MethodNotAllowed);
        };
        let page = self.page(request).await?;
        let keys = page.objects.iter();
        let keys: Vec<String> = keys
            .map(|object| String::from_utf8_lossy(&object.key).into_owned())
            .collect();
        let io = Io::default();
        let path = WritePath::new(self, &io);
        let write = path.delete_all_of(&deletion, &options, &keys);
        self.drive(Machine::new(io.clone(), write)).await?;
        Ok(Answer::ok(Printer::of(request).list(&page)?))
    }

    /// Binds a pod through the `bindings` resource, whose path does not name the pod: the body does.
    async fn bind(&self, request: &Request<'_>) -> Result<Answer, ApiError> {
        let route = request.route;
        if route.namespace.is_empty() || route.is_named() {
            return Err(ApiError::NoSuchResource);
        }
        if route.verb != Verb::Create {
            return Err(ApiError::MethodNotAllowed);
        }
        let mut request = request.write_request()?;
        let io = Io::default();
        let path = WritePath::new(self, &io);
        let write = Machine::new(io.clone(), path.bind_pod(&mut request));
        Ok(self.drive(write).await?.into())
    }

    /// 404 for the object that a request names.
    fn not_found(request: &Request<'_>) -> ApiError {
        let resource = request.served.resource.group_resource();
        ApiError::not_found(&resource, &request.route.name)
    }

    /// Newest stored bytes under a key.
    async fn newest(
        &self,
        resource: &Resource,
        key: &str,
    ) -> Result<Option<Arc<KeyValue>>, ApiError> {
        let found = self.read(resource, key).await;
        found.map_err(|failure| read_failed(&failure))
    }
}

fn services(cache: &Cache, registry: &Registry) -> Option<Services> {
    let bucket = |group: &str, plural: &str| {
        let resource = registry.resource(group, plural)?;
        Some(resource.bucket.clone())
    };
    Some(Services::new(
        cache.clone(),
        bucket("", "services")?,
        bucket("", "endpoints")?,
        bucket("discovery.k8s.io", "endpointslices")?,
    ))
}

/// Rejects update and patch without a name, create of a built-in resource with one, and subresources of collections.
fn check_name(request: &Request<'_>) -> Result<(), ApiError> {
    let (route, resource) = (request.route, &request.served.resource);
    let is_custom = resource.origin == Origin::Custom;
    match (route.verb, route.is_named()) {
        (Verb::Update | Verb::Patch, false) if is_custom => {
            Err(ApiError::bad_request("name must be provided"))
        }
        (Verb::Update | Verb::Patch, false) => Err(ApiError::MethodNotAllowed),
        (Verb::Create, true) if !is_custom && route.subresource.is_empty() => {
            Err(ApiError::MethodNotAllowed)
        }
        // Collections have no subresources, whatever verbs the subresource of an object allows.
        (verb, _) if verb.is_of_collection() && !route.subresource.is_empty() => {
            Err(ApiError::NoSuchResource)
        }
        _ => Ok(()),
    }
}

/// Rejects namespaced resources without a namespace, except list and watch, and cluster-scoped resources with one.
pub(crate) fn check_scope(request: &Request<'_>) -> Result<(), ApiError> {
    let (route, resource) = (request.route, &request.served.resource);
    let is_read = matches!(route.verb, Verb::List | Verb::Watch);
    let at_cluster = route.namespace.is_empty();
    match (resource.is_namespaced(), at_cluster) {
        (true, true) if !is_read && resource.origin == Origin::BuiltIn && !route.is_named() => {
            Err(ApiError::MethodNotAllowed)
        }
        (true, true) if !is_read => Err(ApiError::NoSuchResource),
        // A Namespace object is addressed under its own namespace only.
        (false, false) if !resource.is_namespace() || route.namespace != route.name => {
            Err(ApiError::NoSuchResource)
        }
        _ => Ok(()),
    }
}
