//! `/flagz` and `/statusz`: text by default, structured only under a versioned media type.

use http::StatusCode;
use jiff::Timestamp;
use lockstep_object::ApiError;
use serde_json::{Value, json};

use crate::clock;
use crate::failure::respond;
use crate::request::Request;
use crate::response::{self, Response};
use crate::state::Server;
use crate::version;
use crate::views::accept;

const GROUP: &str = "config.k8s.io";
const VERSION: &str = "v1beta1";
const OLD_VERSION: &str = "v1alpha1";
/// Component name in the output, as upstream's.
const COMPONENT: &str = "kube-apiserver";
const NOTICE: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting \
                      compatibility guarantees and is for debugging purposes only.";

/// The two pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Page {
    Flagz,
    Statusz,
}

impl Page {
    fn kind(self) -> &'static str {
        match self {
            Page::Flagz => "Flagz",
            Page::Statusz => "Statusz",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Page::Flagz => "flagz",
            Page::Statusz => "statusz",
        }
    }
}

/// Output format of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Text,
    Document { yaml: bool, version: &'static str },
}

pub(super) fn answer(server: &Server, request: &Request, page: Page) -> Response {
    let Some(form) = negotiate(request, page) else {
        let wanted = |media| format!("{media};as={};v={VERSION};g={GROUP}", page.kind());
        let (json, yaml) = (wanted("application/json"), wanted("application/yaml"));
        return respond(&ApiError::not_acceptable(&["text/plain", &json, &yaml]));
    };
    let now = clock::now().wall;
    match form {
        Form::Text => {
            let body = match page {
                Page::Flagz => flags_text(server),
                Page::Statusz => status_text(server, now),
            };
            let text = format!("\n{COMPONENT} {}\n{NOTICE}\n\n{body}", page.name());
            response::text(StatusCode::OK, text)
        }
        Form::Document { yaml, version } => {
            if version == OLD_VERSION {
                let kind = page.kind();
                request.notes.warn(format!(
                    "{GROUP}/{OLD_VERSION} {kind} is deprecated; use {GROUP}/{VERSION} {kind}"
                ));
            }
            let mut document = match page {
                Page::Flagz => flags_document(server),
                Page::Statusz => status_document(server, now),
            };
            document["kind"] = page.kind().into();
            document["apiVersion"] = format!("{GROUP}/{version}").into();
            document["metadata"] = json!({ "name": COMPONENT });
            write(&document, yaml, page, version)
        }
    }
}

fn negotiate(request: &Request, page: Page) -> Option<Form> {
    accept::ranges(&request.headers).iter().find_map(|range| {
        let yaml = match range.media_type.as_str() {
            "*/*" | "text/*" | "text/plain" => return Some(Form::Text),
            "application/json" => false,
            "application/yaml" => true,
            _ => return None,
        };
        let named = range.parameter("as") == page.kind() && range.parameter("g") == GROUP;
        let version = match range.parameter("v") {
            VERSION => VERSION,
            OLD_VERSION => OLD_VERSION,
            _ => return None,
        };
        named.then_some(Form::Document { yaml, version })
    })
}

fn write(document: &Value, yaml: bool, page: Page, version: &str) -> Response {
    let (media, body) = if yaml {
        let body = serde_saphyr::to_string(document).expect("a value made of texts is YAML");
        ("application/yaml", body)
    } else {
        ("application/json", document.to_string())
    };
    let media = format!("{media};as={};v={version};g={GROUP}", page.kind());
    response::bytes(StatusCode::OK, &media, body)
}

fn flags_text(server: &Server) -> String {
    let lines = server
        .flags
        .iter()
        .map(|(name, value)| format!("{name}={value}\n"));
    lines.collect()
}

fn flags_document(server: &Server) -> Value {
    let flags = server
        .flags
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().into()));
    json!({ "flags": flags.collect::<serde_json::Map<_, _>>() })
}

fn status_text(server: &Server, now: Timestamp) -> String {
    let seconds = uptime_seconds(server, now);
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!(
        "Started: {:.0}\nUp: {hours} hr {minutes:02} min {rest:02} sec\nRust version: {}\n\
         Binary version: {}\nEmulation version: {}\nMinimum compatibility version: {}\nPaths: {}\n",
        server.started.wall,
        env!("LOCKSTEP_RUSTC_VERSION"),
        lockstep_gates::KUBE_VERSION,
        server.gates.emulation(),
        server.gates.min_compatibility(),
        super::paths(server).collect::<Vec<_>>().join(" "),
    )
}

fn status_document(server: &Server, now: Timestamp) -> Value {
    json!({
        "startTime": format!("{:.0}", server.started.wall),
        "uptimeSeconds": uptime_seconds(server, now),
        "goVersion": "",
        "rustVersion": env!("LOCKSTEP_RUSTC_VERSION"),
        "binaryVersion": version::git_version(),
        "emulationVersion": server.gates.emulation().to_string(),
        "minCompatibilityVersion": server.gates.min_compatibility().to_string(),
        "paths": super::paths(server).collect::<Vec<_>>(),
    })
}

fn uptime_seconds(server: &Server, now: Timestamp) -> i64 {
    (now.as_second() - server.started.wall.as_second()).max(0)
}
