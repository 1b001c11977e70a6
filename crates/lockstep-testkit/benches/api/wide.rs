//! CRDs with hundreds of fields: memory, time until they are served, and cost for other requests.

use serde_json::{Map, Value, json};

use crate::client::{Call, Client};
use crate::load::Clients;
use crate::parts::{SETTLE, Settings, measure, milliseconds, until_served};
use crate::server::{Program, Server, now};
use crate::table::{Bar, Measure};

const FIELDS: usize = 200;
/// They are spread over so many groups.
const GROUPS: usize = 20;
/// Writes that are measured without the CRDs and with them.
const WRITES: usize = 3_000;

const USABLE: Measure = measure(
    "last of 300 CRDs of 200 fields usable after its write",
    "ms",
    52_000.0,
    Bar::NoMoreThan(1_000.0),
);
const EACH: Measure = measure(
    "memory of a CRD of 200 fields",
    "KB",
    3_400.0,
    Bar::NoMoreThan(150.0),
);
const OPENAPI: Measure = Measure {
    name: "OpenAPI v3 of `apps/v1`, first answer",
    unit: "ms",
    reference: None,
    bar: Bar::NoMoreThan(5.0),
};
const OPENAPI_WIDE: Measure = Measure {
    name: "OpenAPI v3 of 15 of them, first answer",
    unit: "ms",
    reference: None,
    bar: Bar::None,
};
const SLOWER: Measure = Measure {
    name: "create of a config map beside them, CPU against that before",
    unit: "×",
    reference: None,
    bar: Bar::NoMoreThan(1.1),
};

fn group(number: usize) -> String {
    format!("g{}.wide.io", number % GROUPS)
}

fn collection(number: usize) -> String {
    format!(
        "/apis/{}/v1/namespaces/default/things{number}",
        group(number)
    )
}

fn crd(number: usize) -> String {
    let description =
        "Says something about the object that somebody may want to know, in one sentence.";
    let field = |at: usize| {
        (
            format!("field{at}"),
            json!({"type": "string", "description": description}),
        )
    };
    let fields: Map<String, Value> = (0..FIELDS).map(field).collect();
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": fields},
    }});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things{number}.{}", group(number))},
        "spec": {
            "group": group(number),
            "scope": "Namespaced",
            "names": {"plural": format!("things{number}"), "kind": format!("Thing{number}")},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
    .to_string()
}

fn thing(number: usize) -> String {
    json!({
        "apiVersion": format!("{}/v1", group(number)),
        "kind": format!("Thing{number}"),
        "metadata": {"name": "first"},
        "spec": {"field1": "x"},
    })
    .to_string()
}

/// Makes config maps and says what one cost, in seconds of processor time.
async fn writes(server: &Server, clients: &Clients) -> anyhow::Result<f64> {
    let body = json!({
        "metadata": {"generateName": "wide-"},
        "data": {"text": "x".repeat(1_000)},
    });
    let body = body.to_string();
    let made = |_| Call::post("/api/v1/namespaces/default/configmaps", body.clone());
    Ok(clients.cost(server, WRITES, made).await?.as_secs_f64())
}

pub(crate) async fn run(
    program: &Program,
    settings: Settings,
    add: &mut impl FnMut(Measure, f64),
) -> anyhow::Result<()> {
    let server = Server::start(program).await?;
    let clients = Clients::connect(&server, settings.clients).await?;
    // Once for what the first requests cost alone.
    writes(&server, &clients).await?;
    let cost_before = writes(&server, &clients).await?;
    tokio::time::sleep(SETTLE).await;
    let memory_before = server.megabytes()?;
    let client = Client::connect(server.port).await?;
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for number in 0..settings.wide {
        client.send(&Call::post(crds, crd(number))).await?;
    }
    let last = settings.wide - 1;
    let begun = now();
    until_served(&client, &Call::post(collection(last), thing(last))).await?;
    add(USABLE, milliseconds(begun.elapsed()));
    tokio::time::sleep(SETTLE).await;
    let held = server.megabytes()? - memory_before;
    add(EACH, held * 1e3 / f64::from(u32::try_from(settings.wide)?));
    for (measure, group) in [(OPENAPI, "apps"), (OPENAPI_WIDE, &group(last))] {
        let begun = now();
        let document = Call::get(format!("/openapi/v3/apis/{group}/v1"));
        until_served(&client, &document).await?;
        add(measure, milliseconds(begun.elapsed()));
    }
    add(SLOWER, writes(&server, &clients).await? / cost_before);
    Ok(())
}
