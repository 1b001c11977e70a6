//! Resolution of Services through `EndpointSlices`, Endpoints or the cluster IP.

use std::sync::Arc;

use lockstep_callout::{Place, Unresolved};
use lockstep_object::{Value, json};

use crate::cache::{BucketKey, Cache, Scope};

/// Label of an `EndpointSlice` that names its Service.
const SLICE_OF: &str = "kubernetes.io/service-name";

/// Service resolution from the watch cache.
#[derive(Clone)]
pub struct Services {
    cache: Cache,
    all: BucketKey,
    endpoints: BucketKey,
    slices: BucketKey,
}

impl Services {
    /// Reads Services, Endpoints and `EndpointSlices` from these buckets.
    pub(crate) fn new(
        cache: Cache,
        all: BucketKey,
        endpoints: BucketKey,
        slices: BucketKey,
    ) -> Self {
        Self {
            cache,
            all,
            endpoints,
            slices,
        }
    }

    /// Places to connect to for a port of a Service, in order.
    pub(super) fn find(
        &self,
        namespace: &str,
        name: &str,
        port: u16,
    ) -> Result<Vec<Place>, Unresolved> {
        let unknown = || Unresolved::Service(name.to_owned());
        let key = format!("{namespace}/{name}");
        let one = |bucket: &BucketKey| {
            let snapshot = self.cache.bucket(bucket).snapshot();
            let found = snapshot.get(key.as_bytes()).map(Arc::clone)?;
            json::read(&found.value)
        };
        let service = one(&self.all).ok_or_else(unknown)?;
        let snapshot = self.cache.bucket(&self.slices).snapshot();
        let scope = Scope::Namespace(namespace.into());
        let slices = snapshot.objects(&scope, None);
        let slices = slices.filter_map(|stored| json::read(&stored.value));
        let slices: Vec<Value> = slices
            .filter(|slice| slice["metadata"]["labels"][SLICE_OF] == name)
            .collect();
        places(&service, &slices, one(&self.endpoints).as_ref(), port)
    }
}

/// Ready endpoints of a port, else the cluster IP.
fn places(
    service: &Value,
    slices: &[Value],
    endpoints: Option<&Value>,
    port: u16,
) -> Result<Vec<Place>, Unresolved> {
    let name = text(&service["metadata"]["name"]);
    let spec = &service["spec"];
    let mut ports = items(&spec["ports"]);
    let Some(own) = ports.find(|own| own["port"] == port) else {
        return Err(Unresolved::Port { name, port });
    };
    if spec["type"] == "ExternalName" {
        return Ok(vec![(text(&spec["externalName"]), port)]);
    }
    let port_name = text(&own["name"]);
    let mut found: Vec<Place> = slices
        .iter()
        .flat_map(|slice| {
            let ready = items(&slice["endpoints"]).filter(|e| e["conditions"]["ready"] != false);
            let addresses = ready.flat_map(|endpoint| items(&endpoint["addresses"]));
            meet(addresses.map(text), &slice["ports"], &port_name)
        })
        .collect();
    if found.is_empty() {
        let subsets = endpoints.map(|endpoints| items(&endpoints["subsets"]));
        found = subsets
            .into_iter()
            .flatten()
            .flat_map(|subset| {
                let addresses = items(&subset["addresses"]).map(|address| text(&address["ip"]));
                meet(addresses, &subset["ports"], &port_name)
            })
            .collect();
    }
    let address = text(&spec["clusterIP"]);
    match (found.is_empty(), address.as_str()) {
        (false, _) => Ok(found),
        (true, "" | "None") => Err(Unresolved::Endpoints(name)),
        (true, _) => Ok(vec![(address, port)]),
    }
}

/// Pairs each address with the named port.
fn meet(addresses: impl Iterator<Item = String>, ports: &Value, name: &str) -> Vec<Place> {
    let mut ports = items(ports);
    let port = ports.find(|port| text(&port["name"]) == name);
    let port = port.and_then(|port| port["port"].as_u64());
    let Some(port) = port.and_then(|port| u16::try_from(port).ok()) else {
        return Vec::new();
    };
    addresses.map(|address| (address, port)).collect()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(spec: &Value) -> Value {
        json!({ "metadata": { "name": "s" }, "spec": spec })
    }

    /// api-machinery.md §12/webhook-places: a service is resolved through its endpoints.
    #[test]
    fn a_service_resolves_to_its_endpoints_or_to_its_cluster_ip() {
        let plain = service(&json!({ "clusterIP": "10.0.0.9", "ports": [{ "port": 443 }] }));
        let named = service(&json!({
            "clusterIP": "None",
            "ports": [{ "port": 80, "name": "web" }, { "port": 443, "name": "hook" }],
        }));
        let outside = service(&json!({
            "type": "ExternalName", "externalName": "ex.io", "ports": [{ "port": 443 }],
        }));
        let slice = json!({
            "ports": [{ "name": "hook", "port": 9443 }],
            "endpoints": [
                { "addresses": ["127.0.0.1"] },
                { "addresses": ["127.0.0.2"], "conditions": { "ready": false } },
                { "addresses": ["127.0.0.3"], "conditions": { "ready": true } },
            ],
        });
        let subsets = json!({ "subsets": [{
            "addresses": [{ "ip": "127.0.0.4" }],
            "ports": [{ "port": 8443 }],
        }]});
        let place = |host: &str, port: u16| (host.to_owned(), port);
        let at = |service: &Value, slices: &[Value], endpoints: Option<&Value>| {
            places(service, slices, endpoints, 443)
        };
        let ready = vec![place("127.0.0.1", 9443), place("127.0.0.3", 9443)];
        assert_eq!(at(&named, std::slice::from_ref(&slice), None), Ok(ready));
        let of_old = vec![place("127.0.0.4", 8443)];
        assert_eq!(at(&plain, &[slice], Some(&subsets)), Ok(of_old));
        assert_eq!(at(&plain, &[], None), Ok(vec![place("10.0.0.9", 443)]));
        assert_eq!(at(&outside, &[], None), Ok(vec![place("ex.io", 443)]));
        assert_eq!(
            at(&named, &[], None),
            Err(Unresolved::Endpoints("s".to_owned()))
        );
        let error = places(&plain, &[], None, 80).unwrap_err().to_string();
        assert_eq!(error, "no service port 80 found for service \"s\"");
    }
}
