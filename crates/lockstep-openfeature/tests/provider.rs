//! The `OpenFeature` bridge (feature-gates.md §7/openfeature), asked through the
//! official client.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

use lockstep_featuregate::{BinaryVersion, Builder, Component, Registry, Started, features, v};
use lockstep_openfeature::GatesProvider;
use open_feature::{Client, EvaluationContext, OpenFeature, StructValue};

features! {
    kube {
        Plain { "1.36": Alpha },
        Chosen { "1.36": Beta },
        Grouped { "1.36": Alpha },
        Finished { "1.36": GA on locked },
        Preset { "1.36": Beta on },
    }
    store {
        Compact { "1.36": Beta, scope: cluster },
        Plain2 { "1.36": Beta on },
    }
}

fn start(flag: &str) -> Started {
    let declared = |group| Component::declared(BinaryVersion::of(v(1, 36)), &[group]);
    let components = [&KUBE, &STORE].map(|group| declared(group).expect("declared gates fit"));
    let builder = Builder::new(Registry::new(components).expect("two components"));
    let builder = builder.flag(flag).override_default("kube", "Preset", false);
    builder.try_finish().expect("it starts")
}

/// Nothing here waits for anything, so one poll is enough.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a provider of gates never waits"),
    }
}

fn client(started: &Started) -> Client {
    let mut api = OpenFeature::default();
    now(api.set_provider(GatesProvider::new(started.gates.clone())));
    api.create_client()
}

/// `value variant REASON`, or `CODE: message`.
fn ask(client: &Client, flag: &str, context: Option<&EvaluationContext>) -> String {
    match now(client.get_bool_details(flag, context, None)) {
        Ok(details) => format!(
            "{} {} {}",
            details.value,
            details.variant.expect("a variant"),
            details.reason.expect("a reason")
        ),
        Err(error) => format!("{}: {}", error.code, error.message.expect("a message")),
    }
}

#[test]
fn a_gate_is_a_boolean_flag_with_variant_and_reason() {
    let started = start("Chosen=true,AllAlpha=true,Plain=false");
    let client = client(&started);
    for (flag, answer) in [
        ("Chosen", "true on STATIC"),
        ("Plain", "false off STATIC"),
        ("Grouped", "true on STATIC"),
        ("Finished", "true on STATIC"),
        ("Preset", "false off DEFAULT"),
        ("Plain2", "true on DEFAULT"),
        ("store:Plain2", "true on DEFAULT"),
        ("AllAlpha", "true on STATIC"),
        ("AllBeta", "false off DEFAULT"),
        (
            "Nothing",
            "FLAG_NOT_FOUND: unrecognized feature gate: Nothing",
        ),
        (
            "chosen",
            "FLAG_NOT_FOUND: unrecognized feature gate: chosen",
        ),
        (
            "kube:Plain2",
            "FLAG_NOT_FOUND: unrecognized feature gate: kube:Plain2",
        ),
        ("", "FLAG_NOT_FOUND: unrecognized feature gate: "),
    ] {
        assert_eq!(ask(&client, flag, None), answer, "{flag}");
    }
}

#[test]
fn a_gate_is_nothing_but_a_boolean() {
    let client = client(&start(""));
    let told = |error: open_feature::EvaluationError| {
        (error.code.to_string(), error.message.expect("a message"))
    };
    let int = now(client.get_int_value("Plain", None, None)).map_err(told);
    let float = now(client.get_float_value("Plain", None, None)).map_err(told);
    let string = now(client.get_string_value("Plain", None, None)).map_err(told);
    let structure = now(client.get_struct_value::<Anything>("Plain", None, None)).map_err(told);
    let refused = |asked: &str| {
        let message = format!("feature gate Plain is a boolean, not {asked}");
        ("TYPE_MISMATCH".to_owned(), message)
    };
    assert_eq!(int, Err(refused("an integer")));
    assert_eq!(float, Err(refused("a number")));
    assert_eq!(string, Err(refused("a string")));
    assert_eq!(structure, Err(refused("a structure")));
    let unknown = now(client.get_int_value("Nothing", None, None)).map_err(told);
    let message = "unrecognized feature gate: Nothing".to_owned();
    assert_eq!(unknown, Err(("FLAG_NOT_FOUND".to_owned(), message)));
}

#[derive(PartialEq, Debug)]
struct Anything;

impl TryFrom<StructValue> for Anything {
    type Error = String;

    fn try_from(_: StructValue) -> Result<Self, Self::Error> {
        Ok(Self)
    }
}

#[test]
fn everybody_gets_the_same_answer() {
    let client = client(&start("Plain=true"));
    let context = EvaluationContext::default()
        .with_targeting_key("user-1")
        .with_custom_field("Plain", false);
    let answers = [None, Some(&context)].map(|context| ask(&client, "Plain", context));
    assert_eq!(answers, ["true on STATIC"; 2]);
}

#[test]
fn a_gate_of_the_cluster_is_followed() {
    let mut started = start("");
    let client = client(&started);
    assert_eq!(ask(&client, "Compact", None), "false off STATIC");
    assert!(started.cluster_switch.set("store", "Compact", true));
    assert_eq!(ask(&client, "Compact", None), "true on STATIC");
}

#[test]
fn the_provider_is_ready_and_has_a_name() {
    use open_feature::provider::{FeatureProvider, ProviderStatus};
    let provider = GatesProvider::new(start("").gates);
    assert_eq!(provider.status(), ProviderStatus::Ready);
    assert_eq!(provider.metadata().name, "lockstep");
}
