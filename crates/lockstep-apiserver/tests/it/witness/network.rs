//! Services, endpoint slices, ingresses and network policies.

use k8s_pb::api::core::v1::{
    EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Service, ServicePort, ServiceSpec,
};
use k8s_pb::api::discovery::v1 as discovery;
use k8s_pb::api::networking::v1::{
    HttpIngressPath, HttpIngressRuleValue, Ingress, IngressBackend, IngressClass, IngressClassSpec,
    IngressRule, IngressRuleValue, IngressServiceBackend, IngressSpec, IngressTls, IpBlock,
    NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec, ServiceBackendPort,
};
use k8s_pb::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::json;

use super::{Row, labels, message, named, number, row, text, word};

pub(super) fn rows() -> Vec<Row> {
    [services(), ways()].into_iter().flatten().collect()
}

fn services() -> Vec<Row> {
    let service = message!(Service {
        metadata: named("s"),
        spec: message!(ServiceSpec {
            r#type: text("NodePort"),
            cluster_ip: text("10.0.0.77"),
            selector: labels([("app", "a")]),
            publish_not_ready_addresses: false,
            ports: [
                message!(ServicePort {
                    name: text("web"),
                    port: 80,
                    target_port: word("http"),
                    node_port: 30077
                }),
                message!(ServicePort {
                    name: text("dns"),
                    protocol: text("UDP"),
                    port: 53,
                    target_port: number(5353),
                    node_port: 30078,
                }),
            ],
        }),
    });
    let endpoints = message!(Endpoints {
        metadata: named("e"),
        subsets: [message!(EndpointSubset {
            addresses: [message!(EndpointAddress {
                ip: text("10.1.2.3"),
                node_name: text("n")
            })],
            ports: [message!(EndpointPort { port: 80 })],
        })],
    });
    vec![
        row(
            "/api/v1/namespaces/default/services",
            "v1",
            "Service",
            &service,
            json!({
                "metadata": {"name": "s"},
                "spec": {
                    "type": "NodePort", "clusterIP": "10.0.0.77", "selector": {"app": "a"},
                    "publishNotReadyAddresses": false,
                    "ports": [
                        {"name": "web", "port": 80, "targetPort": "http", "nodePort": 30077},
                        {"name": "dns", "protocol": "UDP", "port": 53, "targetPort": 5353, "nodePort": 30078},
                    ],
                },
            }),
        ),
        row(
            "/api/v1/namespaces/default/endpoints",
            "v1",
            "Endpoints",
            &endpoints,
            json!({
                "metadata": {"name": "e"},
                "subsets": [{"addresses": [{"ip": "10.1.2.3", "nodeName": "n"}], "ports": [{"port": 80}]}],
            }),
        ),
        row(
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            "discovery.k8s.io/v1",
            "EndpointSlice",
            &slice(),
            json!({
                "metadata": {"name": "es"}, "addressType": "IPv6",
                "endpoints": [{"addresses": ["fd00::1"], "conditions": {"ready": false}, "zone": "z"}],
                "ports": [{"port": 80}],
            }),
        ),
    ]
}

fn slice() -> discovery::EndpointSlice {
    use discovery::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
    message!(EndpointSlice {
        metadata: named("es"),
        address_type: text("IPv6"),
        endpoints: [message!(Endpoint {
            addresses: [text("fd00::1")],
            conditions: message!(EndpointConditions { ready: false }),
            zone: text("z"),
        })],
        ports: [message!(EndpointPort { port: 80 })],
    })
}

fn ways() -> Vec<Row> {
    let backend = |port: ServiceBackendPort| {
        message!(IngressBackend {
            service: message!(IngressServiceBackend {
                name: text("s"),
                port: port
            }),
        })
    };
    let by_number = message!(ServiceBackendPort { number: 80 });
    let by_name = message!(ServiceBackendPort { name: text("web") });
    let path = message!(HttpIngressPath {
        path: text("/a"),
        path_type: text("Prefix"),
        backend: backend(by_name),
    });
    let rule = message!(IngressRule {
        host: text("*.ex.io"),
        ingress_rule_value: message!(IngressRuleValue {
            http: message!(HttpIngressRuleValue { paths: [path] }),
        }),
    });
    let ingress = message!(Ingress {
        metadata: named("i"),
        spec: message!(IngressSpec {
            ingress_class_name: text("c"),
            default_backend: backend(by_number),
            tls: [message!(IngressTls {
                hosts: [text("a.ex.io")],
                secret_name: text("t")
            })],
            rules: [rule],
        }),
    });
    let class = message!(IngressClass {
        metadata: named("c"),
        spec: message!(IngressClassSpec {
            controller: text("ex.io/c")
        }),
    });
    let from = message!(NetworkPolicyPeer {
        ip_block: message!(IpBlock {
            cidr: text("10.0.0.0/8"),
            except: [text("10.1.0.0/16")]
        }),
    });
    let policy = message!(NetworkPolicy {
        metadata: named("p"),
        spec: message!(NetworkPolicySpec {
            pod_selector: LabelSelector::default(),
            ingress: [message!(NetworkPolicyIngressRule {
                from: [from],
                ports: [message!(NetworkPolicyPort {
                    port: number(80),
                    end_port: 90
                })],
            })],
        }),
    });
    vec![
        row(
            "/apis/networking.k8s.io/v1/ingressclasses",
            "networking.k8s.io/v1",
            "IngressClass",
            &class,
            json!({
                "metadata": {"name": "c"}, "spec": {"controller": "ex.io/c"},
            }),
        ),
        row(
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            "networking.k8s.io/v1",
            "Ingress",
            &ingress,
            json!({
                "metadata": {"name": "i"},
                "spec": {
                    "ingressClassName": "c",
                    "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}},
                    "tls": [{"hosts": ["a.ex.io"], "secretName": "t"}],
                    "rules": [{"host": "*.ex.io", "http": {"paths": [{
                        "path": "/a", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"name": "web"}}},
                    }]}}],
                },
            }),
        ),
        row(
            "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
            "networking.k8s.io/v1",
            "NetworkPolicy",
            &policy,
            json!({
                "metadata": {"name": "p"},
                "spec": {
                    "podSelector": {},
                    "ingress": [{
                        "from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}],
                        "ports": [{"port": 80, "endPort": 90}],
                    }],
                },
            }),
        ),
    ]
}
