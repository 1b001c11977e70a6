//! Reviews of authentication and authorization. They support only create and are not stored: the response is the object
//! with its status.

mod access;
mod identity;
mod spec;

use lockstep_catalog::SpecialKind;
use lockstep_object::metadata::check_namespace;
use lockstep_object::{ApiError, Object, Value, json};

use crate::authn::User;
use crate::resources::{Answer, Request, Served, check_scope};
use crate::route::Verb;
use crate::state::Server;
use spec::Spec;

/// Kind of review.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Review {
    /// `TokenReview`.
    Token,
    /// `SelfSubjectReview`.
    Identity,
    /// `SubjectAccessReview`.
    Access,
    /// `LocalSubjectAccessReview`: limited to one namespace, so that its administrator may be allowed to create it.
    LocalAccess,
    /// `SelfSubjectAccessReview`.
    SelfAccess,
    /// `SelfSubjectRulesReview`.
    SelfRules,
}

impl Review {
    /// Review kind of a resource; none for other resources.
    pub(crate) fn of(served: &Served) -> Option<Self> {
        match served.resource.special {
            SpecialKind::TokenReview => Some(Self::Token),
            SpecialKind::SelfSubjectReview => Some(Self::Identity),
            SpecialKind::SubjectAccessReview => Some(Self::Access),
            SpecialKind::LocalSubjectAccessReview => Some(Self::LocalAccess),
            SpecialKind::SelfSubjectAccessReview => Some(Self::SelfAccess),
            SpecialKind::SelfSubjectRulesReview => Some(Self::SelfRules),
            _ => None,
        }
    }

    /// Answers an authorized review.
    pub(crate) async fn answer(
        self,
        server: &Server,
        user: &User,
        request: &Request<'_>,
    ) -> Result<Answer, ApiError> {
        check_scope(request)?;
        if request.route.verb != Verb::Create || request.route.is_named() {
            return Err(ApiError::MethodNotAllowed);
        }
        let dry_run = request.dry_run()?;
        let incoming = request.object()?;
        request.complain(&incoming.duplicates, &incoming.unknown)?;
        let object = incoming.object;
        check_namespace(&object, &request.route.namespace)?;
        let mut object = server.api.admit(request, None, object, dry_run).await?;
        server.rules.settled().await;
        let status = self.status(server, user, request, &mut object).await?;
        object.set_gvk(&request.served.gvk());
        object.fields_mut().insert("status".to_owned(), status);
        Ok(Answer::created(json::encode(object.as_value())))
    }

    async fn status(
        self,
        server: &Server,
        user: &User,
        request: &Request<'_>,
        object: &mut Object,
    ) -> Result<Value, ApiError> {
        let spec = Spec::of(object, request);
        match self {
            Self::Token => identity::of_token(server, &spec).await,
            Self::Identity => {
                let now = request.now.to_string();
                let own = identity::of_user(user);
                object.set_meta_text("creationTimestamp", &now);
                Ok(own)
            }
            Self::Access => access::of_anybody(server, &spec),
            Self::LocalAccess => {
                let namespace = &request.route.namespace;
                let status = access::of_anybody_in(server, &spec, namespace);
                object.set_meta_text("namespace", namespace);
                status
            }
            Self::SelfAccess => access::of_self(server, user, &spec),
            Self::SelfRules => access::rules_of_self(server, user, &spec),
        }
    }
}
