//! The administrator's kubeconfig.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use super::OwnFiles;

/// The administrator's certificate and key, as in their files.
pub(crate) struct Admin {
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

/// Kubeconfig for the administrator of the server at `address`, with `authority` as its trust anchor. It is written as
/// JSON, which is valid YAML.
pub(crate) fn admin_kubeconfig(own: &OwnFiles, address: SocketAddr, authority: &[u8]) -> String {
    let data = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "lockstep",
            "cluster": {
                "server": server_url(address),
                "certificate-authority-data": data(authority),
            },
        }],
        "users": [{
            "name": "admin",
            "user": {
                "client-certificate-data": data(&own.admin.certificate),
                "client-key-data": data(&own.admin.key),
            },
        }],
        "contexts": [{ "name": "lockstep", "context": { "cluster": "lockstep", "user": "admin" } }],
        "current-context": "lockstep",
    });
    format!("{config:#}\n")
}

/// The address a client on this machine uses.
pub fn server_url(address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("https://{}", SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_all_interfaces_is_reached_over_loopback() {
        let url = |text: &str| server_url(text.parse().unwrap());
        assert_eq!(url("0.0.0.0:6443"), "https://127.0.0.1:6443");
        assert_eq!(url("[::]:1"), "https://[::1]:1");
        assert_eq!(url("10.1.2.3:443"), "https://10.1.2.3:443");
    }
}
