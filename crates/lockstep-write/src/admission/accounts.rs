//! `ServiceAccount` admission: defaults a pod's service account, requires that it exists, and mounts its token.

use std::time::Duration;

use lockstep_builtins::accounts::{self, Containers, DEFAULT_ACCOUNT, TOKEN_VOLUME_PREFIX};
use lockstep_catalog::SpecialKind;
use lockstep_object::metadata::{GENERATE_NAME_SUFFIX_BYTES, generated_name};
use lockstep_object::{ApiError, Object, Value};

use super::super::WritePath;
use super::{Attributes, Operation};
use lockstep_catalog::Subresource;

/// Maximal number of lookups of the default account, which is created shortly after its namespace.
const LOOKS_MAX: usize = 10;
/// Pause between two lookups.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// Defaults the service account of a new pod, and adds the token volume and image pull secrets.
pub(super) async fn mount(
    path: &WritePath<'_>,
    attributes: &Attributes<'_>,
    pod: &mut Object,
) -> Result<(), ApiError> {
    if !attributes.creates(SpecialKind::Pod) {
        return Ok(());
    }
    if accounts::is_mirror(pod) {
        return check(path, attributes, pod).await;
    }
    let account = accounts::name_account(pod);
    let account = find(path, attributes, pod, &account).await?;
    let random = path.env.random_u128();
    let letters: [u32; GENERATE_NAME_SUFFIX_BYTES] =
        std::array::from_fn(|at| u32::try_from((random >> (at * 24)) & 0x00ff_ffff).unwrap_or(0));
    let volume = generated_name(TOKEN_VOLUME_PREFIX, letters);
    accounts::mount(pod, account.as_value(), &volume);
    let checked = accounts::check_secrets(pod.as_value(), account.as_value(), Containers::Initial);
    checked.map_err(|why| refused(attributes, pod, &why))
}

/// Rejects a pod whose service account does not exist, or that references secrets which the account does not list.
pub(super) async fn check(
    path: &WritePath<'_>,
    attributes: &Attributes<'_>,
    pod: &Object,
) -> Result<(), ApiError> {
    let is_later = attributes.operation == Operation::Update
        && attributes.subresource == Some(Subresource::EphemeralContainers);
    let containers = match (attributes.creates(SpecialKind::Pod), is_later) {
        (true, _) => Containers::Initial,
        (_, true) => Containers::Ephemeral,
        (false, false) => return Ok(()),
    };
    if containers == Containers::Initial && accounts::is_mirror(pod) {
        let checked = accounts::check_mirror(pod.as_value());
        return checked.map_err(|why| refused(attributes, pod, why));
    }
    let account = pod.at(&["spec", "serviceAccountName"]);
    let account = account.and_then(Value::as_str).unwrap_or_default();
    if account.is_empty() {
        let why = format!(
            "no service account specified for pod {}/{}",
            pod.namespace(),
            pod.name()
        );
        return Err(refused(attributes, pod, &why));
    }
    let account = find(path, attributes, pod, account).await?;
    let checked = accounts::check_secrets(pod.as_value(), account.as_value(), containers);
    checked.map_err(|why| refused(attributes, pod, &why))
}

/// Service account of a pod, including one created a moment ago.
async fn find(
    path: &WritePath<'_>,
    attributes: &Attributes<'_>,
    pod: &Object,
    name: &str,
) -> Result<Object, ApiError> {
    let namespace = &attributes.request.route.namespace;
    let key = format!("{namespace}/{name}");
    if let Some((account, _)) = path.cached("", "serviceaccounts", &key) {
        return Ok(account);
    }
    let looks = if name == DEFAULT_ACCOUNT {
        LOOKS_MAX
    } else {
        1
    };
    for look in 0..looks {
        if look > 0 {
            path.io.pause(LOOK_PAUSE).await;
        }
        let found = path.read_internally("", "serviceaccounts", &key).await;
        if let Some((account, _)) = found {
            return Ok(account);
        }
    }
    let why = format!(
        "error looking up service account {namespace}/{name}: serviceaccount {name:?} not found"
    );
    Err(refused(attributes, pod, &why))
}

fn refused(attributes: &Attributes<'_>, pod: &Object, why: &str) -> ApiError {
    let resource = attributes.request.served.resource.group_resource();
    let name = match attributes.name {
        "" => pod.name(),
        name => name,
    };
    ApiError::forbidden(&resource, name, why)
}
