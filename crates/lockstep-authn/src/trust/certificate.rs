//! Properties of a certificate.

use std::net::IpAddr;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::ServingNames;

/// Properties of a certificate that decide on its renewal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Facts {
    pub(crate) names: ServingNames,
    pub(crate) not_before: Timestamp,
    pub(crate) not_after: Timestamp,
    subject: Vec<u8>,
    issuer: Vec<u8>,
    key_id: Option<Vec<u8>>,
    issuer_key_id: Option<Vec<u8>>,
}

impl Facts {
    /// Parses a certificate.
    pub(crate) fn read(der: &CertificateDer<'_>) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let mut facts = Self {
            names: ServingNames {
                dns: Vec::new(),
                addresses: Vec::new(),
            },
            not_before: Timestamp::from_second(certificate.validity().not_before.timestamp())
                .ok()?,
            not_after: Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()?,
            subject: certificate.subject().as_raw().to_vec(),
            issuer: certificate.issuer().as_raw().to_vec(),
            key_id: None,
            issuer_key_id: None,
        };
        for extension in certificate.extensions() {
            facts.note(extension.parsed_extension());
        }
        facts.names.dns.sort();
        facts.names.addresses.sort();
        Some(facts)
    }

    fn note(&mut self, extension: &ParsedExtension<'_>) {
        match extension {
            ParsedExtension::SubjectAlternativeName(names) => {
                for name in &names.general_names {
                    match name {
                        GeneralName::DNSName(name) => self.names.dns.push((*name).to_owned()),
                        GeneralName::IPAddress(bytes) => {
                            self.names.addresses.extend(address(bytes));
                        }
                        _ => {}
                    }
                }
            }
            ParsedExtension::SubjectKeyIdentifier(id) => self.key_id = Some(id.0.to_vec()),
            ParsedExtension::AuthorityKeyIdentifier(id) => {
                self.issuer_key_id = id.key_identifier.as_ref().map(|id| id.0.to_vec());
            }
            _ => {}
        }
    }

    /// True if `authority` is named as its issuer.
    pub(crate) fn is_issued_by(&self, authority: &Facts) -> bool {
        self.issuer == authority.subject
            && authority.key_id.is_some()
            && self.issuer_key_id == authority.key_id
    }

    /// True if it covers all of these names.
    pub(crate) fn covers(&self, names: &ServingNames) -> bool {
        let dns = names.dns.iter().all(|name| self.names.dns.contains(name));
        let mut addresses = names.addresses.iter();
        dns && addresses.all(|address| self.names.addresses.contains(address))
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
        .ok()
}
