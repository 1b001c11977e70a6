//! IP addresses and CIDR blocks of the Kubernetes network libraries.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::print::quote;

/// An address without zone, and never an IPv4 address in IPv6 clothes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip(IpAddr);

/// Why an address was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IpError {
    /// Not an address.
    #[error(
        "IP Address {quoted} parse error during conversion from string: ParseAddr({quoted}): unable to parse IP",
        quoted = quote(.0)
    )]
    Malformed(String),
    /// An address with `%zone`.
    #[error("IP address {} with zone value is not allowed", quote(.0))]
    Zone(String),
    /// An IPv4-mapped IPv6 address.
    #[error("IPv4-mapped IPv6 address {} is not allowed", quote(.0))]
    Mapped(String),
}

impl Ip {
    /// Reads an address; leading zeros, zones and IPv4-mapped addresses are refused.
    pub fn parse(text: &str) -> Result<Self, IpError> {
        if let Some((address, zone)) = text.split_once('%') {
            let is_zoned = !zone.is_empty() && address.parse::<Ipv6Addr>().is_ok();
            return Err(if is_zoned {
                IpError::Zone(text.to_owned())
            } else {
                IpError::Malformed(text.to_owned())
            });
        }
        match text.parse() {
            Ok(address) if is_mapped(address) => Err(IpError::Mapped(text.to_owned())),
            Ok(address) => Ok(Self(address)),
            Err(_) => Err(IpError::Malformed(text.to_owned())),
        }
    }

    /// 4 or 6.
    pub fn family(self) -> i64 {
        if self.0.is_ipv4() { 4 } else { 6 }
    }

    /// `0.0.0.0` or `::`.
    pub fn is_unspecified(self) -> bool {
        self.0.is_unspecified()
    }

    /// `127.0.0.0/8` or `::1`.
    pub fn is_loopback(self) -> bool {
        self.0.is_loopback()
    }

    /// `224.0.0.0/24`, or any multicast address of link-local scope.
    pub fn is_link_local_multicast(self) -> bool {
        match self.0 {
            IpAddr::V4(address) => address.octets().starts_with(&[224, 0, 0]),
            IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
        }
    }

    /// `169.254.0.0/16` or `fe80::/10`.
    pub fn is_link_local_unicast(self) -> bool {
        match self.0 {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        }
    }

    /// Any unicast address that is not unspecified, loopback or link-local. Private ranges count.
    pub fn is_global_unicast(self) -> bool {
        let is_broadcast = matches!(self.0, IpAddr::V4(address) if address.is_broadcast());
        !(is_broadcast
            || self.is_unspecified()
            || self.is_loopback()
            || self.0.is_multicast()
            || self.is_link_local_unicast())
    }
}

impl fmt::Display for Ip {
    /// Canonical: lower case, longest run of zeros shortened.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// `ip.isCanonical`: whether the text is what the address prints as. Fails if it is no address.
pub fn is_canonical(text: &str) -> Result<bool, IpError> {
    Ip::parse(text).map(|address| address.to_string() == text)
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// An address block; host bits are kept, and count for equality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    prefix_length: u8,
}

/// Why a block was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("network address parse error during conversion from string: {fault}")]
pub struct CidrError {
    fault: CidrFault,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum CidrFault {
    #[error("network address parse error during conversion from string: netip.ParsePrefix({}): {reason}", quote(.text))]
    Malformed { text: String, reason: String },
    #[error("IPv4-mapped IPv6 address {} is not allowed", quote(.0))]
    Mapped(String),
}

impl Cidr {
    /// Reads `address/length`; zones, IPv4-mapped addresses, and lengths with a sign or leading zero are refused.
    pub fn parse(text: &str) -> Result<Self, CidrError> {
        let malformed = |reason: &str| CidrError {
            fault: CidrFault::Malformed {
                text: text.to_owned(),
                reason: reason.to_owned(),
            },
        };
        let (address_text, length_text) =
            text.rsplit_once('/').ok_or_else(|| malformed("no '/'"))?;
        let address = parse_block_address(address_text).map_err(|reason| malformed(&reason))?;
        let is_number = length_text.bytes().all(|byte| byte.is_ascii_digit());
        let has_zero = length_text.len() > 1 && length_text.starts_with('0');
        if length_text.is_empty() || !is_number || has_zero {
            let length = quote(length_text);
            return Err(malformed(&format!("bad bits after slash: {length}")));
        }
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix_length = length_text
            .parse()
            .ok()
            .filter(|&length: &u8| length <= longest)
            .ok_or_else(|| malformed("prefix length out of range"))?;
        if is_mapped(address) {
            let fault = CidrFault::Mapped(text.to_owned());
            return Err(CidrError { fault });
        }
        Ok(Self {
            address,
            prefix_length,
        })
    }

    /// The address as written, host bits included.
    pub fn ip(self) -> Ip {
        Ip(self.address)
    }

    /// The number of network bits.
    pub fn prefix_length(self) -> i64 {
        i64::from(self.prefix_length)
    }

    /// Clears the host bits.
    #[must_use]
    pub fn masked(self) -> Self {
        let address = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix_length));
                IpAddr::V4((address.to_bits() & mask.unwrap_or(0)).into())
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix_length));
                IpAddr::V6((address.to_bits() & mask.unwrap_or(0)).into())
            }
        };
        Self { address, ..self }
    }

    /// True if the block contains the address. An address of the other family is never contained.
    pub fn contains_ip(self, ip: Ip) -> bool {
        let single = Self {
            address: ip.0,
            prefix_length: self.prefix_length,
        };
        self.address.is_ipv4() == ip.0.is_ipv4() && self.masked() == single.masked()
    }

    /// True if the block contains every address of `other`.
    pub fn contains_cidr(self, other: Self) -> bool {
        self.prefix_length <= other.prefix_length && self.contains_ip(other.ip())
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.prefix_length)
    }
}

/// The address in front of the slash, or what Go says about it.
fn parse_block_address(text: &str) -> Result<IpAddr, String> {
    match Ip::parse(text) {
        Ok(ip) => Ok(ip.0),
        Err(IpError::Zone(_)) => Err("IPv6 zones cannot be present in a prefix".to_owned()),
        Err(IpError::Mapped(text)) => text.parse().map_err(|_| text),
        Err(IpError::Malformed(text)) => {
            let address = quote(&text);
            Err(format!("ParseAddr({address}): unable to parse IP"))
        }
    }
}
