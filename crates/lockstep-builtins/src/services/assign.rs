//! Allocation of cluster IPs and node ports.

use std::net::IpAddr;

use lockstep_object::field::{FieldError, Path};
use lockstep_object::{Map, Object, Value};
use serde_json::json;

use super::{HEADLESS, ServiceRange, allocations, has_address, has_health_port, has_node_ports};
use crate::look::{map_in, maps_in, text};

/// The ports of nodes that lead to services.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;
/// Number of random attempts before a linear search.
const GUESSES_MAX: usize = 16;

/// Allocatable addresses and ports.
pub struct Pool<'a> {
    /// The addresses.
    pub range: ServiceRange,
    /// True if another service has the address.
    pub is_address_taken: &'a dyn Fn(&str) -> bool,
    /// True if another service has the port.
    pub is_port_taken: &'a dyn Fn(i64) -> bool,
    /// Injected randomness.
    pub random: &'a mut dyn FnMut() -> u128,
}

/// Allocates missing addresses and ports of a service, and rejects requested ones that are unavailable. `old` is the
/// stored service.
pub fn assign(
    service: &mut Object,
    old: Option<&Object>,
    pool: &mut Pool<'_>,
) -> Result<(), FieldError> {
    let old = old
        .map(|old| allocations(old.as_value()))
        .unwrap_or_default();
    let spec = map_in(service.fields_mut(), "spec");
    let value = Value::Object(spec.clone());
    if has_address(&value) && text(&value, "clusterIP") != HEADLESS {
        address(spec, &old.addresses, pool)?;
    }
    let mut own = old.node_ports;
    if has_node_ports(&value) {
        ports(spec, &mut own, pool)?;
    }
    if has_health_port(&value) {
        let is_set = spec.get("healthCheckNodePort").and_then(Value::as_i64);
        if is_set.unwrap_or_default() == 0 {
            let port = free_port(&own, pool)?;
            spec.insert("healthCheckNodePort".to_owned(), port.into());
        }
    }
    Ok(())
}

fn address(
    spec: &mut Map<String, Value>,
    own: &std::collections::BTreeSet<String>,
    pool: &mut Pool<'_>,
) -> Result<(), FieldError> {
    let spec_path = Path::ROOT.field("spec");
    let path = spec_path.field("clusterIPs");
    let asked = spec
        .get("clusterIP")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if asked.is_empty() {
        let Some(found) = free_address(pool) else {
            let why = "failed to allocate IP: range is full";
            return Err(FieldError::invalid(&path, &Value::Null, why));
        };
        spec.insert("clusterIP".to_owned(), found.as_str().into());
        spec.insert("clusterIPs".to_owned(), json!([found]));
        return Ok(());
    }
    // Invalid addresses are left to validation.
    let Ok(parsed) = asked.parse::<IpAddr>() else {
        return Ok(());
    };
    if own.contains(&asked) {
        return Ok(());
    }
    let refused = |why: String| {
        let why = format!("failed to allocate IP {asked}: {why}");
        Err(FieldError::invalid(&path, &json!([asked]), why))
    };
    if !pool.range.contains(parsed) {
        let range = pool.range;
        return refused(format!(
            "the provided IP ({asked}) is not in the valid range. The range of valid IPs is {range}"
        ));
    }
    if (pool.is_address_taken)(&asked) {
        return refused("provided IP is already allocated".to_owned());
    }
    Ok(())
}

fn free_address(pool: &mut Pool<'_>) -> Option<String> {
    let size = pool.range.size();
    let mut start = 0;
    for _ in 0..GUESSES_MAX {
        // The first is the server's own.
        start = (pool.random)() % size.max(2).saturating_sub(1) + 1;
        let address = pool.range.address(start).to_string();
        if !(pool.is_address_taken)(&address) {
            return Some(address);
        }
    }
    let all = (0..size).map(|step| 1 + (start + step) % size.saturating_sub(1).max(1));
    let mut addresses = all.map(|at| pool.range.address(at).to_string());
    addresses.find(|address| !(pool.is_address_taken)(address))
}

fn ports(
    spec: &mut Map<String, Value>,
    own: &mut std::collections::BTreeSet<i64>,
    pool: &mut Pool<'_>,
) -> Result<(), FieldError> {
    let mut used: Vec<(i64, String)> = Vec::new();
    for (index, port) in maps_in(spec, "ports").enumerate() {
        let asked = port
            .get("nodePort")
            .and_then(Value::as_i64)
            .unwrap_or_default();
        let protocol = port
            .get("protocol")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let protocol = protocol.to_owned();
        if asked == 0 {
            continue;
        }
        if !own.contains(&asked) {
            let spec_path = Path::ROOT.field("spec");
            let ports_path = spec_path.field("ports");
            let port_path = ports_path.index(index);
            let path = port_path.field("nodePort");
            if !NODE_PORTS.contains(&asked) {
                let (first, last) = (NODE_PORTS.start(), NODE_PORTS.end());
                let why = format!(
                    "provided port is not in the valid range. The range of valid ports is {first}-{last}"
                );
                return Err(FieldError::invalid(&path, asked, why));
            }
            let is_shared = used
                .iter()
                .any(|(port, other)| *port == asked && *other != protocol);
            if !is_shared && (pool.is_port_taken)(asked) {
                let why = "provided port is already allocated";
                return Err(FieldError::invalid(&path, asked, why));
            }
        }
        used.push((asked, protocol));
    }
    own.extend(used.iter().map(|(port, _)| *port));
    let mut given: Vec<(i64, Value)> = Vec::new();
    let needy: Vec<usize> = maps_in(spec, "ports")
        .enumerate()
        .filter(|(_, port)| {
            port.get("nodePort")
                .and_then(Value::as_i64)
                .unwrap_or_default()
                == 0
        })
        .map(|(index, _)| index)
        .collect();
    for index in needy {
        // Ports with equal numbers and different protocols share a node port.
        let list = spec.get("ports").and_then(Value::as_array);
        let number = list
            .and_then(|list| list.get(index))
            .map(|port| port["port"].clone());
        let number = number.unwrap_or_default();
        let same = given.iter().find(|(_, other)| *other == number);
        let port = match same {
            Some((port, _)) => *port,
            None => free_port(own, pool)?,
        };
        own.insert(port);
        given.push((port, number));
        if let Some(row) = maps_in(spec, "ports").nth(index) {
            row.insert("nodePort".to_owned(), port.into());
        }
    }
    Ok(())
}

fn free_port(
    own: &std::collections::BTreeSet<i64>,
    pool: &mut Pool<'_>,
) -> Result<i64, FieldError> {
    let (first, last) = (*NODE_PORTS.start(), *NODE_PORTS.end());
    let count = last - first + 1;
    let start = i64::try_from((pool.random)() % 2768).unwrap_or(0);
    let mut all = (0..count).map(|step| first + (start + step) % count);
    let found = all.find(|port| !own.contains(port) && !(pool.is_port_taken)(*port));
    found.ok_or_else(|| {
        let spec = Path::ROOT.field("spec");
        FieldError::internal(
            &spec.field("ports"),
            "failed to allocate a nodePort: range is full",
        )
    })
}
