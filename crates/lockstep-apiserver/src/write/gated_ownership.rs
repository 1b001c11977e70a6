//! Claims on what closed gates hold: they stay as they are stored, in every version.
//!
//! Where a webhook makes versions of each other, paths of gates say nothing about the others. What gates hold there is
//! what becomes another value if the stored object is converted without fields of closed gates. The webhook is asked for
//! that only about versions in which claims are to become others, once for each.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_fieldgate::{Gates, Versions, difference, held};
use lockstep_merge::fields::Set;
use lockstep_merge::managers::{Claim, Managed};
use lockstep_object::{Object, Value};

use super::InFlight;
use super::field_gates::Gated;
use super::managed_fields::{put_on, renewed, stored};

/// How many claims are followed into the version that their owner writes now. An apply moves one; whoever writes
/// `managedFields` moves as many as they like.
const MOVED_MAX: usize = 4;

/// What closed gates hold in versions whose fields their paths do not name.
type Held = BTreeMap<String, Set>;

/// A write whose claims are settled.
struct Settling<'a> {
    request: &'a InFlight<'a>,
    gates: &'a Gates,
    /// The stored object, in the version of the request.
    live: Option<&'a Object>,
    /// What it becomes, in the same version.
    object: &'a Object,
    step: &'a Gated,
}

impl InFlight<'_> {
    /// Whether claims on what nobody can change may be others than those that are stored.
    pub(super) fn has_other_claims(
        &self,
        gates: &Gates,
        object: &Object,
        live: Option<&Object>,
    ) -> bool {
        let stored = live.map_or(&[][..], Object::managed_fields);
        let knows = |version: &str| self.has_paths(version);
        let entries = object.managed_fields();
        let is_converted = self.served.resource.strategy.converter().is_some();
        gates.has_other_claims(entries, stored, knows) || (is_converted && entries != stored)
    }

    /// Claims with those on what nobody can change as they are stored, where paths of gates tell it: what the gate step
    /// would have to read and settle again. Claims on what an object does not have are left to that step, which may put
    /// it back.
    pub(super) fn without_gains(
        &self,
        managed: Managed,
        stored: &Managed,
        object: &Value,
    ) -> Managed {
        let strategy = &self.served.resource.strategy;
        match strategy.gates() {
            Some(gates) if strategy.converter().is_none() => managed.with_frozen(
                stored,
                |_, fields| gates.frozen(fields),
                |_, kept| kept.present_in(object),
            ),
            _ => managed,
        }
    }

    /// Makes claims on what nobody can change those that are stored.
    pub(super) async fn settle_claims(
        &self,
        gates: &Gates,
        object: &mut Object,
        live: Option<&Object>,
        step: &Gated,
    ) {
        let Ok(managed) = Managed::read(object.managed_fields()) else {
            return;
        };
        let settling = Settling {
            request: self,
            gates,
            live,
            object,
            step,
        };
        let settled = settling.settled(managed, stored(live)).await;
        put_on(object, renewed(live, object, &settled));
    }
}

impl Settling<'_> {
    async fn settled(&self, managed: Managed, stored: Managed) -> Managed {
        let is_converted = self.request.served.resource.strategy.converter().is_some();
        let (held, stored) = if is_converted {
            let held = self.held(&managed, &stored).await;
            let stored = self.followed(&managed, stored, &held).await;
            (held, stored)
        } else {
            (Held::new(), stored)
        };
        managed.with_frozen(
            &stored,
            |version, fields| self.frozen(&held, version, fields),
            |version, kept| self.present(version, kept),
        )
    }

    /// Those of some fields of a version that gates hold.
    fn frozen(&self, held: &Held, version: &str, fields: &Set) -> Set {
        if self.request.has_paths(version) {
            return self.gates.frozen(fields);
        }
        let held = held.get(version);
        held.map_or_else(Set::default, |held| {
            fields.difference(&fields.without(held))
        })
    }

    /// Those of some fields that the object still has: they go with what lies around them. Nobody knows where the
    /// fields of a version that a webhook makes lie.
    fn present(&self, version: &str, fields: Set) -> Set {
        if !self.request.has_paths(version) {
            return fields;
        }
        let next = self.step.stored.as_ref().unwrap_or(self.object);
        fields.present_in(next.as_value())
    }

    /// What gates hold in versions in which claims are to become others.
    async fn held(&self, managed: &Managed, stored: &Managed) -> Held {
        let mut found = Held::new();
        let own = self.request.api_version();
        if !self.request.has_paths(&own) {
            let changed = self
                .live
                .map(|live| self.request.difference(live, self.object));
            let put_back = self.step.changed.without(&changed.unwrap_or_default());
            found.insert(own, put_back);
        }
        let bare = self
            .stored()
            .and_then(|stored| self.gates.bare(stored.as_value()));
        let Some(bare) = bare.and_then(|bare| Object::from_value(bare).ok()) else {
            return found;
        };
        for version in differing(managed, stored) {
            if self.request.has_paths(version) {
                continue;
            }
            if let Some(held) = self.held_in(version, &bare).await {
                let all = found.entry(version.to_owned()).or_default();
                *all = all.union(&held);
            }
        }
        found
    }

    async fn held_in(&self, version: &str, bare: &Object) -> Option<Set> {
        let next = self.step.stored.as_ref().unwrap_or(self.object);
        let objects = [self.stored()?.clone(), bare.clone(), next.clone()];
        let [stored, bare, next] = self.converted(&objects, version).await?;
        let resource = &self.request.served.resource;
        let of_version = resource
            .strategy
            .merge_type(resource.version_of(version)?)?;
        let versions = Versions {
            stored: stored.as_value(),
            bare: bare.as_value(),
            next: next.as_value(),
        };
        Some(held(of_version, versions))
    }

    /// The stored claims; those of owners who write another version now are on what gates hold of them in that one.
    async fn followed(&self, managed: &Managed, mut stored: Managed, held: &Held) -> Managed {
        let moved = managed.claims().filter_map(|(owner, claim)| {
            let before = stored.claim(owner)?;
            let (from, to) = (&before.api_version, &claim.api_version);
            let is_same =
                from == to || (self.request.has_paths(from) && self.request.has_paths(to));
            (!is_same).then(|| (owner.clone(), before.clone(), to.clone()))
        });
        let moved: Vec<_> = moved.collect();
        for (at, (owner, before, to)) in moved.into_iter().enumerate() {
            let kept = self.frozen(held, &before.api_version, &before.fields);
            let mut fields = None;
            if at < MOVED_MAX && !kept.is_empty() {
                fields = self.counterpart(&kept, &before.api_version, &to).await;
            }
            let claim = Claim {
                api_version: to,
                fields: fields.unwrap_or_default(),
                time: before.time,
            };
            stored.insert(owner, claim);
        }
        stored
    }

    /// What fields of one version are in another: what is otherwise there without them.
    async fn counterpart(&self, fields: &Set, from: &str, to: &str) -> Option<Set> {
        let resource = &self.request.served.resource;
        let (from_version, to_version) = (resource.version_of(from)?, resource.version_of(to)?);
        let stored = self.stored()?.clone();
        let whole = if from_version == resource.encoding_version().index() {
            stored
        } else {
            let [whole] = self.converted(&[stored], from).await?;
            whole
        };
        let less = resource.strategy.merge_type(from_version)?;
        let less = less.without(whole.as_value(), fields);
        let objects = [whole, Object::from_value(less).ok()?];
        let [whole, less] = self.converted(&objects, to).await?;
        let of_version = resource.strategy.merge_type(to_version)?;
        Some(difference(of_version, whole.as_value(), less.as_value()))
    }

    /// The stored object in the version that is stored.
    fn stored(&self) -> Option<&Object> {
        self.step.replaced.as_ref().or(self.live)
    }

    /// Objects in another version, as a webhook makes them and without defaults. None if it refuses: that it does not
    /// know objects which nobody stored is no reason to refuse a write.
    async fn converted<const N: usize>(
        &self,
        objects: &[Object; N],
        version: &str,
    ) -> Option<[Object; N]> {
        let resource = &self.request.served.resource;
        resource.strategy.converter()?;
        let made = self
            .request
            .io()
            .convert(resource, objects.to_vec(), version)
            .await;
        made.ok()?.try_into().ok()
    }
}

/// The versions in which somebody claims other fields than before.
fn differing<'m>(now: &'m Managed, before: &'m Managed) -> BTreeSet<&'m str> {
    let others = |claims: &'m Managed, beside: &'m Managed| {
        let others = claims.claims().filter(move |(owner, claim)| {
            beside.claim(owner).is_none_or(|beside| {
                (&beside.api_version, &beside.fields) != (&claim.api_version, &claim.fields)
            })
        });
        others.map(|(_, claim)| claim.api_version.as_str())
    };
    others(now, before).chain(others(before, now)).collect()
}
