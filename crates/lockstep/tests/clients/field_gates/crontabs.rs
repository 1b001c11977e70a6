//! The resource of the edge rows, through requests that kube-rs makes: its typed calls keep headers to themselves.

use http_body_util::BodyExt as _;
use hyper::Request;
use kube::Client;
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use serde_json::Value;

pub(super) const CRD: &str = "crontabs.stable.example.com";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const OBJECTS: &str = "/apis/stable.example.com/v1/namespaces/default/crontabs";

/// HTTP response to a request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: u16,
    /// The texts of its warnings.
    pub(super) warnings: Vec<String>,
    pub(super) body: Value,
}

/// The resource on one server.
#[derive(Clone)]
pub(super) struct Crontabs(Client);

fn requests(path: &str) -> kube::core::Request {
    kube::core::Request::new(path)
}

impl Crontabs {
    pub(super) fn on(client: Client) -> Self {
        Self(client)
    }

    async fn send<E: std::fmt::Debug>(&self, request: Result<Request<Vec<u8>>, E>) -> Answer {
        let request = request.unwrap().map(Body::from);
        let answer = self.0.send(request).await.unwrap();
        let warnings = answer.headers().get_all("warning").iter().map(|value| {
            let text = value.to_str().unwrap().strip_prefix("299 - \"").unwrap();
            text.strip_suffix('"').unwrap().replace("\\\"", "\"")
        });
        let (code, warnings) = (answer.status().as_u16(), warnings.collect());
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        Answer {
            code,
            warnings,
            // The 404 of a resource that is not served yet is not JSON.
            body: serde_json::from_slice(&body).unwrap_or_default(),
        }
    }

    /// Makes the CRD, or gives it another spec.
    pub(super) async fn define(&self, crd: &Value) -> Answer {
        let crds = requests(CRDS);
        loop {
            let found = self.send(crds.get(CRD, &GetParams::default())).await;
            let post = PostParams::default();
            if found.code == 404 {
                return self.send(crds.create(&post, bytes(crd))).await;
            }
            let mut next = found.body;
            next["spec"] = crd["spec"].clone();
            let answer = self.send(crds.replace(CRD, &post, bytes(&next))).await;
            // The server writes the status of a CRD after others wrote its spec.
            if answer.code != 409 {
                return answer;
            }
        }
    }

    pub(super) async fn patch_crd(&self, patch: &Patch<Value>) -> Answer {
        let request = requests(CRDS).patch(CRD, &PatchParams::default(), patch);
        self.send(request).await
    }

    pub(super) async fn get(&self, name: &str) -> Answer {
        let request = requests(OBJECTS).get(name, &GetParams::default());
        self.send(request).await
    }

    pub(super) async fn create(&self, object: &Value) -> Answer {
        let request = requests(OBJECTS).create(&PostParams::default(), bytes(object));
        self.send(request).await
    }

    /// Writes an object over the one that is there now.
    pub(super) async fn replace(&self, object: &Value) -> Answer {
        let name = object["metadata"]["name"].as_str().unwrap();
        let present = self.get(name).await.body;
        let mut next = object.clone();
        next["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"].clone();
        let request = requests(OBJECTS).replace(name, &PostParams::default(), bytes(&next));
        self.send(request).await
    }

    pub(super) async fn patch(&self, name: &str, patch: &Patch<Value>) -> Answer {
        let params = match patch {
            Patch::Apply(_) => PatchParams::apply("kube-rs"),
            _ => PatchParams::default(),
        };
        let request = requests(OBJECTS).patch(name, &params, patch);
        self.send(request).await
    }

    pub(super) async fn delete(&self, name: &str) -> Answer {
        let request = requests(OBJECTS).delete(name, &DeleteParams::default());
        self.send(request).await
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}
