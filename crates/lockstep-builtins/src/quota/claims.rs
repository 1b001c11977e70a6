//! Quota usage of persistent volume claims.

use lockstep_gotext::quantity::Quantity;
use lockstep_object::Value;

use super::scopes;
use crate::amounts::{self, Amounts, amount};
use crate::look::text;

const CLAIMS: &str = "persistentvolumeclaims";
const STORAGE: &str = "requests.storage";
/// Suffix after a storage class name.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";

pub(super) fn use_some(name: &str) -> bool {
    let name = name.split_once(OF_CLASS).map_or(name, |(_, rest)| rest);
    [CLAIMS, STORAGE].contains(&name)
}

pub(super) fn uses(claim: &Value) -> Amounts {
    let annotations = &claim["metadata"]["annotations"];
    let named = text(annotations, "volume.beta.kubernetes.io/storage-class");
    let class = match named {
        "" => text(&claim["spec"], "storageClassName"),
        named => named,
    };
    let mut uses = Amounts::new();
    let mut charge = |name: &str, amount: &Quantity| {
        uses.insert(name.to_owned(), amount.clone());
        if !class.is_empty() {
            uses.insert(format!("{class}{OF_CLASS}{name}"), amount.clone());
        }
    };
    charge(CLAIMS, &amounts::whole(1));
    if let Some(storage) = storage(claim) {
        charge(STORAGE, &storage);
    }
    uses
}

/// The requested storage, or the allocated storage if larger, in whole bytes.
fn storage(claim: &Value) -> Option<Quantity> {
    let asked = amount(claim["spec"]["resources"]["requests"].get("storage")?);
    let given = allocated(claim).map(amount);
    let larger = given.filter(|given| *given > asked);
    Some(larger.unwrap_or(asked).rounded_up())
}

fn allocated(claim: &Value) -> Option<&Value> {
    claim["status"]["allocatedResources"].get("storage")
}

/// True if a status update may increase usage.
pub(super) fn is_other(new: &Value, old: &Value) -> bool {
    allocated(new) != allocated(old) || scopes::of_claim(new) != scopes::of_claim(old)
}
