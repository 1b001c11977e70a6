//! Kubernetes IP and CIDR libraries.

use super::{Row, row};
use crate::cost::Cost::{
    ContainsCidr, ContainsCidrText, ContainsIp, ContainsIpText, Fifth, One, Tenth,
};
use crate::dialect::Profile;
use crate::scope::Scope;
use crate::value::{Eval, Fault, Opaque, Value};
use lockstep_gotext::ip::{self, Cidr, Ip};
use std::net::Ipv6Addr;

pub(super) const ROWS: &[Row] = &[
    row("string_to_ip", "ip(string) -> IP", Tenth, parse_ip),
    row("is_ip", "isIP(string) -> bool", Tenth, is_ip),
    row(
        "ip_is_canonical",
        "ip.isCanonical(string) -> bool",
        Fifth,
        is_canonical,
    ),
    row("ip_family", "<IP>.family() -> int", One, family),
    row(
        "ip_is_unspecified",
        "<IP>.isUnspecified() -> bool",
        One,
        is_unspecified,
    ),
    row(
        "ip_is_loopback",
        "<IP>.isLoopback() -> bool",
        One,
        is_loopback,
    ),
    row(
        "ip_is_link_local_multicast",
        "<IP>.isLinkLocalMulticast() -> bool",
        One,
        is_link_local_multicast,
    ),
    row(
        "ip_is_link_local_unicast",
        "<IP>.isLinkLocalUnicast() -> bool",
        One,
        is_link_local_unicast,
    ),
    row(
        "ip_is_global_unicast",
        "<IP>.isGlobalUnicast() -> bool",
        One,
        is_global_unicast,
    ),
    row("string_to_cidr", "cidr(string) -> CIDR", Tenth, parse_cidr),
    row("is_cidr", "isCIDR(string) -> bool", Tenth, is_cidr),
    row(
        "cidr_contains_ip_string",
        "<CIDR>.containsIP(string) -> bool",
        ContainsIpText,
        contains_ip,
    ),
    row(
        "cidr_contains_ip_ip",
        "<CIDR>.containsIP(IP) -> bool",
        ContainsIp,
        contains_ip,
    ),
    row(
        "cidr_contains_cidr_string",
        "<CIDR>.containsCIDR(string) -> bool",
        ContainsCidrText,
        contains_cidr,
    ),
    row(
        "cidr_contains_cidr",
        "<CIDR>.containsCIDR(CIDR) -> bool",
        ContainsCidr,
        contains_cidr,
    ),
    row("cidr_ip", "<CIDR>.ip() -> IP", One, address),
    row(
        "cidr_prefix_length",
        "<CIDR>.prefixLength() -> int",
        One,
        prefix_length,
    ),
    row("cidr_masked", "<CIDR>.masked() -> CIDR", One, masked),
];

fn of_ip<'a>(value: &Value<'a>) -> Result<Ip, Fault<'a>> {
    match value {
        Value::Opaque(Opaque::Ip(ip)) => Ok(*ip),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn of_cidr<'a>(value: &Value<'a>) -> Result<Cidr, Fault<'a>> {
    match value {
        Value::Opaque(Opaque::Cidr(cidr)) => Ok(*cidr),
        _ => Err(Fault::NoSuchOverload),
    }
}

/// Kubernetes refuses IPv4 addresses in IPv6 clothes, the specification reads them as IPv4.
fn to_ip<'a>(scope: &Scope<'a>, text: &str) -> Result<Ip, Fault<'a>> {
    let error = match Ip::parse(text) {
        Ok(ip) => return Ok(ip),
        Err(error) => error,
    };
    let readable = scope.profile == Profile::Spec && !text.contains('.');
    let address: Option<Ipv6Addr> = text.parse().ok().filter(|_| readable);
    let plain = address.and_then(|address| address.to_ipv4_mapped());
    match plain.map(|plain| Ip::parse(&plain.to_string())) {
        Some(Ok(ip)) => Ok(ip),
        _ => Err(scope.fault(error)),
    }
}

fn to_cidr<'a>(scope: &Scope<'a>, text: &str) -> Result<Cidr, Fault<'a>> {
    Cidr::parse(text).map_err(|error| scope.fault(error))
}

fn parse_ip<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(scope
        .arena
        .opaque(Opaque::Ip(to_ip(scope, args[0].as_text()?)?)))
}

fn is_ip<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(Ip::parse(args[0].as_text()?).is_ok()))
}

fn is_canonical<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    ip::is_canonical(args[0].as_text()?)
        .map(Value::Bool)
        .map_err(|error| scope.fault(error))
}

fn family<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Int(of_ip(&args[0])?.family()))
}

fn is_unspecified<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(of_ip(&args[0])?.is_unspecified()))
}

fn is_loopback<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(of_ip(&args[0])?.is_loopback()))
}

fn is_link_local_multicast<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(of_ip(&args[0])?.is_link_local_multicast()))
}

fn is_link_local_unicast<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(of_ip(&args[0])?.is_link_local_unicast()))
}

fn is_global_unicast<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(of_ip(&args[0])?.is_global_unicast()))
}

fn parse_cidr<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(scope
        .arena
        .opaque(Opaque::Cidr(to_cidr(scope, args[0].as_text()?)?)))
}

fn is_cidr<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(Cidr::parse(args[0].as_text()?).is_ok()))
}

fn contains_ip<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let cidr = of_cidr(&args[0])?;
    let ip = match args[1] {
        // An invalid address text gives the error of an unsupported type, as upstream does.
        Value::String(text) => to_ip(scope, text).map_err(|_| Fault::Fixed("no such overload"))?,
        ref other => of_ip(other)?,
    };
    Ok(Value::Bool(cidr.contains_ip(ip)))
}

fn contains_cidr<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let cidr = of_cidr(&args[0])?;
    let other = match args[1] {
        Value::String(text) => to_cidr(scope, text)?,
        ref other => of_cidr(other)?,
    };
    Ok(Value::Bool(cidr.contains_cidr(other)))
}

fn address<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(scope.arena.opaque(Opaque::Ip(of_cidr(&args[0])?.ip())))
}

fn prefix_length<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Int(of_cidr(&args[0])?.prefix_length()))
}

fn masked<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(scope
        .arena
        .opaque(Opaque::Cidr(of_cidr(&args[0])?.masked())))
}
