//! Service CIDR ranges.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Maximum number of host bits; of a larger range only the first addresses are used.
const HOST_BITS_MAX: u32 = 20;

/// A network of addresses for services: `10.0.0.0/24`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServiceRange {
    network: IpAddr,
    prefix: u32,
}

/// The text is not a valid CIDR range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRange(String);

impl fmt::Display for BadRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no network with room for services, such as `10.0.0.0/24`",
            self.0
        )
    }
}

impl std::error::Error for BadRange {}

impl Default for ServiceRange {
    fn default() -> Self {
        Self {
            network: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)),
            prefix: 24,
        }
    }
}

impl FromStr for ServiceRange {
    type Err = BadRange;

    fn from_str(text: &str) -> Result<Self, BadRange> {
        let bad = || BadRange(text.to_owned());
        let (network, prefix) = text.split_once('/').ok_or_else(bad)?;
        let network: IpAddr = network.parse().map_err(|_| bad())?;
        let prefix: u32 = prefix.parse().map_err(|_| bad())?;
        let bits = if network.is_ipv4() { 32 } else { 128 };
        // The server needs an address, and one service at least another.
        if prefix + 2 > bits {
            return Err(bad());
        }
        let host = (1_u128 << (bits - prefix)) - 1;
        let network = shifted(network, 0, !host);
        Ok(Self { network, prefix })
    }
}

impl fmt::Display for ServiceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

/// An address masked to some bits, plus an offset.
fn shifted(address: IpAddr, by: u128, kept: u128) -> IpAddr {
    match address {
        IpAddr::V4(four) => {
            let bits = u128::from(four.to_bits()) & kept;
            let bits = u32::try_from(bits.wrapping_add(by) & u128::from(u32::MAX));
            IpAddr::V4(Ipv4Addr::from_bits(bits.unwrap_or(0)))
        }
        IpAddr::V6(six) => {
            let bits = (six.to_bits() & kept).wrapping_add(by);
            IpAddr::V6(Ipv6Addr::from_bits(bits))
        }
    }
}

impl ServiceRange {
    /// Number of allocatable addresses: all but the first, and but the last of an IPv4 network.
    pub fn size(self) -> u128 {
        let bits = if self.network.is_ipv4() { 32 } else { 128 };
        let host_bits = (bits - self.prefix).min(HOST_BITS_MAX);
        let all = 1_u128 << host_bits;
        if self.network.is_ipv4() {
            all - 2
        } else {
            all - 1
        }
    }

    /// The address at a place from 0 on; the first one is the server's own service.
    pub fn address(self, at: u128) -> IpAddr {
        shifted(self.network, at % self.size() + 1, u128::MAX)
    }

    /// True if an address is allocatable to services.
    pub fn contains(self, address: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(four) => u128::from(four.to_bits()),
            IpAddr::V6(six) => six.to_bits(),
        };
        let offset = bits(address).wrapping_sub(bits(self.network));
        address.is_ipv4() == self.network.is_ipv4() && (1..=self.size()).contains(&offset)
    }

    /// `IPv4` or `IPv6`.
    pub fn family(self) -> &'static str {
        if self.network.is_ipv4() {
            "IPv4"
        } else {
            "IPv6"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_all_addresses_but_its_ends() {
        let range: ServiceRange = "10.0.0.17/28".parse().unwrap();
        assert_eq!(range.to_string(), "10.0.0.16/28");
        assert_eq!(range.size(), 14);
        assert_eq!(range.address(0).to_string(), "10.0.0.17");
        assert_eq!(range.address(13).to_string(), "10.0.0.30");
        assert_eq!(range.address(14).to_string(), "10.0.0.17");
        let inside = |text: &str| range.contains(text.parse().unwrap());
        assert_eq!(
            [
                "10.0.0.16",
                "10.0.0.17",
                "10.0.0.30",
                "10.0.0.31",
                "fd00::1"
            ]
            .map(inside),
            [false, true, true, false, false]
        );
    }

    #[test]
    fn a_range_without_room_or_meaning_is_refused() {
        for text in [
            "",
            "10.0.0.0",
            "10.0.0.0/31",
            "10.0.0.0/x",
            "a/24",
            "10.0.0.0/24,fd00::/108",
        ] {
            assert_eq!(text.parse::<ServiceRange>(), Err(BadRange(text.to_owned())));
        }
        let six: ServiceRange = "fd00::/64".parse().unwrap();
        assert_eq!((six.size(), six.family()), ((1 << 20) - 1, "IPv6"));
        assert_eq!(six.address(0).to_string(), "fd00::1");
    }
}
