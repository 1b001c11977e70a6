//! Impersonation headers, and the permissions that they require.

use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use crate::User;
use lockstep_authz::{ANONYMOUS_USER, AUTHENTICATED_GROUP, Target, UNAUTHENTICATED_GROUP};

/// Common prefix of the headers.
const PREFIX: &str = "impersonate-";
const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA_PREFIX: &str = "impersonate-extra-";
const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";
const AUTHENTICATION_GROUP: &str = "authentication.k8s.io";

/// Errors of impersonation headers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ImpersonationError {
    /// Groups, a uid or extra attributes without a user.
    #[error("requested {what} without impersonating a user")]
    WithoutUser {
        /// The requested attributes.
        what: String,
    },
    /// A header that is not text.
    #[error("header `{name}` is not UTF-8 text")]
    NotText {
        /// The header.
        name: String,
    },
}

/// The user that a request impersonates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Impersonation {
    user: String,
    uid: Option<String>,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

impl Impersonation {
    /// Removes the impersonation headers and parses them; `None` if there are none.
    pub fn take(headers: &mut HeaderMap) -> Result<Option<Self>, ImpersonationError> {
        // Almost no request has these headers, and one pass over all names is cheaper than a lookup of each.
        let mut names = headers.keys().map(http::HeaderName::as_str);
        if !names.any(|name| name.starts_with(PREFIX)) {
            return Ok(None);
        }
        let values = |name: &str| -> Result<Vec<String>, ImpersonationError> {
            let text = |value: &http::HeaderValue| {
                let text = str::from_utf8(value.as_bytes()).map(str::to_owned);
                text.map_err(|_| ImpersonationError::NotText {
                    name: name.to_owned(),
                })
            };
            headers.get_all(name).iter().map(text).collect()
        };
        let user = values(USER)?.into_iter().next().unwrap_or_default();
        let uid = values(UID)?
            .into_iter()
            .next()
            .filter(|uid| !uid.is_empty());
        let groups = values(GROUP)?;
        let extra_names: Vec<String> = headers
            .keys()
            .filter(|name| name.as_str().starts_with(EXTRA_PREFIX))
            .map(|name| name.as_str().to_owned())
            .collect();
        let mut extra = BTreeMap::new();
        for name in &extra_names {
            let key = name.strip_prefix(EXTRA_PREFIX).unwrap_or_default();
            let key = percent_decode_str(key).decode_utf8_lossy().to_lowercase();
            extra.insert(key, values(name)?);
        }
        for name in [USER, UID, GROUP]
            .into_iter()
            .chain(extra_names.iter().map(String::as_str))
        {
            headers.remove(name);
        }
        let requested = Self {
            user,
            uid,
            groups,
            extra,
        };
        requested.check()
    }

    fn check(self) -> Result<Option<Self>, ImpersonationError> {
        if !self.user.is_empty() {
            return Ok(Some(self));
        }
        let mut what = Vec::new();
        if !self.groups.is_empty() {
            what.push(format!("groups {:?}", self.groups));
        }
        if let Some(uid) = &self.uid {
            what.push(format!("uid {uid:?}"));
        }
        if !self.extra.is_empty() {
            what.push(format!("extra {:?}", self.extra.keys().collect::<Vec<_>>()));
        }
        if what.is_empty() {
            return Ok(None);
        }
        let what = what.join(", ");
        Err(ImpersonationError::WithoutUser { what })
    }

    /// Resources that the requester must be allowed to `impersonate`.
    pub fn targets(&self) -> Vec<Target<'_>> {
        let target = |group, resource, subresource, namespace, name| Target::Resource {
            group,
            version: "v1",
            resource,
            subresource,
            namespace,
            name,
        };
        let mut targets = vec![match self.service_account() {
            Some((namespace, name)) => target("", "serviceaccounts", "", namespace, name),
            None => target("", "users", "", "", &self.user),
        }];
        let groups = self.groups.iter();
        targets.extend(groups.map(|group| target("", "groups", "", "", group)));
        for (key, values) in &self.extra {
            let group = AUTHENTICATION_GROUP;
            targets.extend(
                values
                    .iter()
                    .map(|value| target(group, "userextras", key, "", value)),
            );
        }
        let uid = self.uid.iter();
        targets.extend(uid.map(|uid| target(AUTHENTICATION_GROUP, "uids", "", "", uid)));
        targets
    }

    fn service_account(&self) -> Option<(&str, &str)> {
        let (namespace, name) = self
            .user
            .strip_prefix(SERVICE_ACCOUNT_PREFIX)?
            .split_once(':')?;
        let good = !namespace.is_empty() && !name.is_empty() && !name.contains(':');
        good.then_some((namespace, name))
    }

    /// The impersonated user.
    pub fn user(&self) -> User {
        let mut groups = self.groups.clone();
        if groups.is_empty()
            && let Some((namespace, _)) = self.service_account()
        {
            groups.push("system:serviceaccounts".to_owned());
            groups.push(format!("system:serviceaccounts:{namespace}"));
        }
        let has = |name: &str| groups.iter().any(|group| group == name);
        let membership = if self.user == ANONYMOUS_USER {
            (!has(UNAUTHENTICATED_GROUP)).then_some(UNAUTHENTICATED_GROUP)
        } else {
            (!has(AUTHENTICATED_GROUP) && !has(UNAUTHENTICATED_GROUP))
                .then_some(AUTHENTICATED_GROUP)
        };
        groups.extend(membership.map(str::to_owned));
        User {
            name: self.user.clone(),
            uid: self.uid.clone().unwrap_or_default(),
            groups,
            extra: self.extra.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(pairs: &[(&'static str, &str)]) -> Result<Option<Impersonation>, ImpersonationError> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        let taken = Impersonation::take(&mut headers);
        assert!(taken.is_err() || headers.is_empty(), "{headers:?}");
        taken
    }

    /// api-machinery.md §13/impersonation.
    #[test]
    fn a_group_without_a_user_is_an_error() {
        let error = take(&[(GROUP, "dev")]).unwrap_err().to_string();
        assert_eq!(
            error,
            "requested groups [\"dev\"] without impersonating a user"
        );
        assert_eq!(take(&[]), Ok(None));
    }

    #[test]
    fn a_service_account_gets_its_groups_and_every_user_is_authenticated() {
        let asked = take(&[(USER, "system:serviceaccount:ns:sa")])
            .unwrap()
            .unwrap();
        assert_eq!(
            asked.user().groups,
            [
                "system:serviceaccounts",
                "system:serviceaccounts:ns",
                "system:authenticated"
            ]
        );
        assert_eq!(
            asked.targets(),
            [Target::Resource {
                group: "",
                version: "v1",
                resource: "serviceaccounts",
                subresource: "",
                namespace: "ns",
                name: "sa"
            }]
        );
        let asked = take(&[(USER, ANONYMOUS_USER)]).unwrap().unwrap();
        assert_eq!(asked.user().groups, [UNAUTHENTICATED_GROUP]);
        let asked = take(&[(USER, "a"), (GROUP, UNAUTHENTICATED_GROUP)])
            .unwrap()
            .unwrap();
        assert_eq!(asked.user().groups, [UNAUTHENTICATED_GROUP]);
    }

    #[test]
    fn extra_keys_are_decoded_and_in_lower_case_and_each_value_needs_permission() {
        let asked = take(&[
            (USER, "alice"),
            ("impersonate-extra-acme.io%2fScopes", "view"),
            ("impersonate-extra-acme.io%2fScopes", "edit"),
            (UID, "7"),
        ]);
        let asked = asked.unwrap().unwrap();
        let user = asked.user();
        assert_eq!(user.extra["acme.io/scopes"], ["view", "edit"]);
        assert_eq!(user.uid, "7");
        let wanted: Vec<_> = asked
            .targets()
            .iter()
            .map(|target| match *target {
                Target::Resource {
                    group,
                    resource,
                    subresource,
                    name,
                    ..
                } => [group, resource, subresource, name],
                Target::Path(path) => panic!("{path} is not impersonated"),
            })
            .collect();
        let group = AUTHENTICATION_GROUP;
        assert_eq!(
            wanted,
            [
                ["", "users", "", "alice"],
                [group, "userextras", "acme.io/scopes", "view"],
                [group, "userextras", "acme.io/scopes", "edit"],
                [group, "uids", "", "7"],
            ]
        );
    }
}
