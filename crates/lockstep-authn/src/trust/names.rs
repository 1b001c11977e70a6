//! Names in the serving certificate.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Names of the API server inside every cluster.
const SERVICE_NAMES: [&str; 4] = [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// The names and addresses that the serving certificate is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServingNames {
    /// DNS names, sorted.
    pub dns: Vec<String>,
    /// Addresses, sorted.
    pub addresses: Vec<IpAddr>,
}

impl ServingNames {
    /// Names of a server on `host` that listens on `bind`; the unspecified address is none.
    pub fn new(host: Option<&str>, bind: IpAddr) -> Self {
        let mut dns: Vec<String> = SERVICE_NAMES.map(str::to_owned).to_vec();
        dns.push("localhost".to_owned());
        dns.extend(host.filter(|name| is_dns_name(name)).map(str::to_lowercase));
        let mut addresses = vec![
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ];
        if !bind.is_unspecified() {
            addresses.push(bind);
        }
        dns.sort();
        dns.dedup();
        addresses.sort();
        addresses.dedup();
        Self { dns, addresses }
    }
}

fn is_dns_name(name: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_for_loopback_the_service_the_host_and_the_bound_address() {
        let names = ServingNames::new(Some("Host-1.example"), IpAddr::from([10, 0, 0, 7]));
        assert_eq!(
            names.dns,
            [
                "host-1.example",
                "kubernetes",
                "kubernetes.default",
                "kubernetes.default.svc",
                "kubernetes.default.svc.cluster.local",
                "localhost"
            ]
        );
        let addresses: Vec<String> = names.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.0.0.7", "127.0.0.1", "::1"]);
    }

    #[test]
    fn all_interfaces_and_strange_host_names_are_no_names() {
        let unspecified = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let plain = ServingNames::new(None, unspecified);
        assert_eq!(plain.dns.len(), 5);
        assert_eq!(plain.addresses.len(), 2);
        for host in ["", "a b", "-a", "a..b", "ümlaut", &"x".repeat(64)] {
            assert_eq!(ServingNames::new(Some(host), unspecified), plain, "{host}");
        }
    }
}
