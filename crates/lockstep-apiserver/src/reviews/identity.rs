//! `TokenReview` and `SelfSubjectReview`.

use lockstep_object::{ApiError, Value};
use serde_json::json;

use super::spec::Spec;
use crate::accounts::TokenError;
use crate::authn::User;
use crate::clock;
use crate::state::Server;

/// `TokenReview`: authenticates a token. An invalid token is a result and not an error.
pub(super) async fn of_token(server: &Server, spec: &Spec<'_>) -> Result<Value, ApiError> {
    let token = spec.text(&["token"])?;
    let audiences = spec.texts(&["audiences"])?;
    if token.is_empty() {
        return Err(ApiError::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let authentication = &server.authentication;
    let judged = authentication.user_of_token(&*server.api, token, &audiences, clock::now().wall);
    Ok(match judged.await {
        Ok(judged) => json!({
            "authenticated": true,
            "user": user_info(&judged.user),
            "audiences": judged.audiences,
        }),
        Err(TokenError::Unrecognized) => json!({ "user": {}, "error": "invalid bearer token" }),
        Err(TokenError::Invalid(why)) => {
            json!({ "user": {}, "error": format!("[invalid bearer token, {why}]") })
        }
    })
}

/// `SelfSubjectReview`: the user of the request.
pub(super) fn of_user(user: &User) -> Value {
    json!({ "userInfo": user_info(user) })
}

/// `UserInfo` without empty fields.
fn user_info(user: &User) -> Value {
    let mut info = json!({ "username": user.name });
    if !user.uid.is_empty() {
        info["uid"] = user.uid.as_str().into();
    }
    if !user.groups.is_empty() {
        info["groups"] = user.groups.clone().into();
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}
