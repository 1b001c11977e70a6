//! RBAC from the stored roles and bindings, kept current by watches.

use std::sync::Arc;

use arc_swap::ArcSwap;
use lockstep_authz::{Policies, PolicyRule, User};
use lockstep_object::Object;
use lockstep_storage::Revision;
use tokio::sync::watch;

use super::Authorizer;
use crate::cache::{Bucket, BucketKey, Cache, Change, Object as Cached, Scope};

/// Buckets of roles and bindings. Roles come first, because a binding to a missing role grants nothing.
const BUCKETS: [&str; 4] = [
    "clusterroles",
    "roles",
    "clusterrolebindings",
    "rolebindings",
];

/// Revisions in the order of [`BUCKETS`].
type Followed = [Revision; BUCKETS.len()];

/// Current roles and bindings. Authorization reads a snapshot without locks and never waits.
pub struct StoredRules {
    policies: ArcSwap<Policies>,
    /// Revision up to which the objects of each bucket are in force. One for each, because the watches of the buckets
    /// proceed independently.
    followed: watch::Sender<Followed>,
    /// True after the initial load; until then a denial is not final.
    settled: watch::Sender<bool>,
}

impl Default for StoredRules {
    fn default() -> Self {
        Self {
            policies: ArcSwap::default(),
            followed: watch::channel([Revision::NONE; BUCKETS.len()]).0,
            settled: watch::channel(false).0,
        }
    }
}

impl StoredRules {
    /// Authorizer that queries `first`, then RBAC.
    pub fn after(self: &Arc<Self>, first: Authorizer) -> Authorizer {
        let rules = Arc::clone(self);
        Arc::new(move |attributes| {
            let decision = first(attributes);
            if decision.allowed {
                decision
            } else {
                rules.policies.load().authorize(attributes)
            }
        })
    }

    /// Snapshot of the policies in force.
    pub fn policies(&self) -> Arc<Policies> {
        self.policies.load_full()
    }

    /// All rules that apply to a user in a namespace.
    pub(crate) fn rules_for(&self, user: &User, namespace: &str) -> Vec<PolicyRule> {
        self.policies.load().rules_for(user, namespace)
    }

    /// True after the initial load.
    pub(crate) fn is_settled(&self) -> bool {
        *self.settled.borrow()
    }

    /// Waits for the initial load. Before it, RBAC denies everything except to members of `system:masters`.
    pub(crate) async fn settled(&self) {
        let mut settled = self.settled.subscribe();
        let told = settled.wait_for(|settled| *settled).await;
        drop(told.expect("the sender lives as long as the rules"));
    }

    /// Waits until all cached roles and bindings are in force, then marks the initial load as done.
    pub(crate) async fn settle(&self, cache: &Cache) {
        self.in_force(cache).await;
        self.settled.send_replace(true);
    }

    /// Waits until all cached roles and bindings are in force.
    pub(crate) async fn in_force(&self, cache: &Cache) {
        let newest = BUCKETS.map(|name| {
            let bucket = cache.bucket(&BucketKey::new(name));
            bucket.snapshot().revision()
        });
        let mut followed = self.followed.subscribe();
        let are_in_force = |followed: &Followed| {
            let mut pairs = followed.iter().zip(&newest);
            pairs.all(|(followed, newest)| followed >= newest)
        };
        let told = followed.wait_for(are_in_force).await;
        drop(told.expect("the sender lives as long as the rules"));
    }

    /// Watches roles and bindings; never returns.
    pub(crate) async fn follow(&self, cache: &Cache) {
        let bucket = |name: &&'static str| cache.bucket(&BucketKey::new(*name));
        let buckets: Vec<Arc<Bucket>> = BUCKETS.iter().map(bucket).collect();
        loop {
            let mut watches = Vec::new();
            let mut policies = Policies::default();
            let mut newest = [Revision::NONE; BUCKETS.len()];
            for (bucket, newest) in buckets.iter().zip(&mut newest) {
                let (snapshot, watching) = bucket.snapshot_and_watch(Scope::All);
                let stored = snapshot.objects(&Scope::All, None);
                stored
                    .filter_map(|object| parse(object))
                    .for_each(|o| policies.put(&o));
                *newest = snapshot.revision();
                watches.push(watching);
            }
            self.policies.store(Arc::new(policies));
            self.followed.send_replace(newest);
            let [one, two, three, four] = &mut watches[..] else {
                return;
            };
            loop {
                let (bucket, changes) = tokio::select! {
                    changes = one.next() => (0, changes),
                    changes = two.next() => (1, changes),
                    changes = three.next() => (2, changes),
                    changes = four.next() => (3, changes),
                };
                let Ok(changes) = changes else { break };
                self.take(bucket, &changes);
            }
        }
    }

    /// Applies changes of the bucket with this index.
    fn take(&self, bucket: usize, changes: &[Arc<Change>]) {
        let mut policies = Policies::clone(&self.policies.load());
        for change in changes {
            match (&change.now, &change.before) {
                (Some(now), _) => {
                    if let Some(object) = parse(now) {
                        policies.put(&object);
                    }
                }
                (None, before) => {
                    if let Some(object) = before.as_deref().and_then(parse) {
                        policies.remove(&object);
                    }
                }
            }
        }
        self.policies.store(Arc::new(policies));
        let newest = changes.iter().map(|change| change.revision).max();
        self.followed.send_modify(|followed| {
            let followed = &mut followed[bucket];
            *followed = newest.map_or(*followed, |newest| newest.max(*followed));
        });
    }
}

fn parse(stored: &Cached) -> Option<Object> {
    Object::read(&stored.value)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use lockstep_authz::{Attributes, Target};
    use lockstep_storage::{Key, Limits, MemoryStore, Op, Put, Store as _, Txn};
    use serde_json::json;

    use super::*;

    /// api-machinery.md §13: the wait ends once the rules include every cached binding, and not before.
    #[tokio::test]
    async fn a_cached_binding_is_in_force_when_the_wait_ends() {
        let store = Arc::new(MemoryStore::start(Limits::default()));
        let cache = Cache::new(store.clone(), "/registry/");
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(cache.clone().feed(|failure| panic!("{failure}")));
        for (key, object) in [
            (
                "clusterroles/all",
                json!({ "kind": "ClusterRole", "metadata": { "name": "all" },
                    "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }] }),
            ),
            (
                "clusterrolebindings/alice",
                json!({ "kind": "ClusterRoleBinding", "metadata": { "name": "alice" },
                    "roleRef": { "kind": "ClusterRole", "name": "all" },
                    "subjects": [{ "kind": "User", "name": "alice" }] }),
            ),
        ] {
            let key = Key::new(format!("/registry/{key}")).expect("a key");
            let put = Op::Put(Put::new(key, object.to_string()));
            let txn = Txn {
                success: vec![put],
                ..Txn::default()
            };
            let txn = txn.check(1).expect("one put");
            store.txn(txn).await.expect("the store writes");
        }
        cache.caught_up().await.expect("the cache follows");
        let rules = Arc::new(StoredRules::default());
        assert!(rules.in_force(&cache).now_or_never().is_none());
        let (following, followed) = (Arc::clone(&rules), cache.clone());
        tasks.spawn(async move { following.follow(&followed).await });
        rules.in_force(&cache).await;
        let attributes = Attributes {
            user: &User::new("alice", [""; 0]),
            verb: "get",
            target: Target::resource("", "pods"),
        };
        assert!(rules.policies().authorize(&attributes).allowed);
    }
}
